//! `/api/ssf`: the transmitter of shared signals (OpenID Shared Signals Framework 1.0), and the receiver of those of others.

mod connection;
mod issuer;
mod managing;
mod poll;
mod received;
mod status;
mod stream;
mod subjects;
mod transmitter;
mod verification;

pub(crate) use self::{
    connection::connection_of,
    issuer::{configuration_url, issuer, receiving_url},
    received::received_rate,
};
use crate::api::Registry;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(transmitter::ssf_configuration)
        .service(transmitter::ssf_jwks)
        .service(stream::create_ssf_stream)
        .service(stream::get_ssf_stream)
        .service(stream::update_ssf_stream)
        .service(stream::replace_ssf_stream)
        .service(stream::delete_ssf_stream)
        .service(status::get_ssf_status)
        .service(status::set_ssf_status)
        .service(subjects::add_ssf_subject)
        .service(subjects::remove_ssf_subject)
        .service(verification::verify_ssf_stream)
        .service(poll::poll_ssf_stream)
        .service(received::receive_ssf_event);
}
