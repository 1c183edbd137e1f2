//! Shared Signals: what happens to accounts and sessions, as signed security event tokens for other services.
//!
//! A tenant is a transmitter of the OpenID Shared Signals Framework (SSF 1.0). An administrator adds a [`Receiver`],
//! which gets an access token. With it, the receiver creates a [`Stream`] and manages it ([`Manager`]). Events of the
//! types that both sides agree on are queued in the transaction of the change that they are about, and delivered as
//! tokens (RFC 8417) that the tenant's key signs: pushed by a [`Worker`] (RFC 8935), or polled by the receiver (RFC 8936).
//!
//! The other way round, an administrator trusts a transmitter ([`TrustedTransmitter`]) and decides what its events do
//! ([`Consequence`]). Its tokens are checked by [`TrustedTransmitter::verify`], without I/O; the host acts.
//!
//! The events are those of CAEP 1.0 and RISC 1.0 for accounts and sessions, and those of RFC 9967 for the resources of
//! the SCIM API. The host implements [`SignalStore`] and [`SignalQueue`] over its database.

mod delivery;
mod error;
mod event_type;
mod key;
mod manage;
mod news;
mod problem;
mod received;
mod receiver;
mod set;
mod store;
mod stream;
mod trusted;
mod view;
mod worker;

pub use self::{
    delivery::{
        MAX_POLLED, Pending, Poll, Polled, Prepared, acknowledge, current_key, pending, prepare, sign,
    },
    error::Error,
    event_type::{EventType, STREAM_UPDATED, VERIFICATION, is_source},
    key::{Jwk, KEPT, KeyError, SealSecret, SigningKey, StoredKey},
    manage::Manager,
    news::{News, WaitingPoll},
    problem::{Problem, TokenError},
    received::{
        Act, CredentialChangeType, Expected, LevelDirection, Reason, ReceivedEvent, ReceivedSubject, Refusal,
        RiskLevel, SignalKind, verify,
    },
    receiver::{
        Change, MAX_RECEIVERS, New, Receiver, ReceiverId, ReceiverKind, ReceiverWithStream, SubjectFormat,
        change, create, find, remove, replace_token,
    },
    set::{ControlEvent, Envelope, SourceEvent},
    store::{
        Done, EventContent, EventStore, Key, KeyStore, Lease, MAX_COUNTED, QueuedEvent, ReceiverStore,
        SignalQueue, SignalStore, StreamStore, SubjectStore, Taken,
    },
    stream::{
        Delivery, DeliveryBody, MAX_REMOVED_SUBJECTS, MIN_VERIFICATION_INTERVAL, POLL, PUSH, Status, Stream,
        StreamBody, StreamId, StreamKind, StreamState, Subject,
    },
    trusted::{
        CheckedTransmitter, Consequence, Consequences, KeysRead, MAX_TRANSMITTERS, NewTransmitter,
        ReceivedStore, ReceivedToken, StreamStatusView, TransmitterChange, TransmitterId, TransmitterKind,
        TransmitterState, TransmitterStore, TransmitterView, TrustedTransmitter, add_transmitter,
        change_transmitter, configuration_url_of, consequence_names, find_transmitter, jwks_uri_of,
        remove_transmitter, replace_push_token,
    },
    view::{
        AuthorizationScheme, DeliveryView, ReceiverView, StatusView, StreamSummary, StreamView, Transmitter,
    },
    worker::{SignalObserver, Worker, WorkerLimits},
};
