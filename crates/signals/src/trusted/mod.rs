//! Transmitters that an administrator trusts: whose tokens are accepted, and what their events may do.

mod change;
mod configuration;
mod store;
mod transmitter;
mod view;

pub use self::{
    change::{
        CheckedTransmitter, NewTransmitter, TransmitterChange, add_transmitter, change_transmitter,
        find_transmitter, remove_transmitter, replace_push_token,
    },
    configuration::{configuration_url_of, jwks_uri_of},
    store::{ReceivedStore, ReceivedToken, TransmitterStore},
    transmitter::{
        Consequence, Consequences, KeysRead, MAX_TRANSMITTERS, TransmitterId, TransmitterKind,
        TransmitterState, TrustedTransmitter, consequence_names,
    },
    view::{StreamStatusView, TransmitterView},
};
