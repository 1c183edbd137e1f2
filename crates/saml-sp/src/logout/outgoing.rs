//! Writes our logout messages.

use data_encoding::BASE64;
use kernel::Env;

use super::IdpSession;
use crate::{
    binding::{Binding, LogoutService, Outgoing},
    keys::{KeyError, KeyPair},
    redirect,
    request::RequestId,
    service::ServiceProvider,
    write::{self, Message},
};

/// The status of a message that was carried out.
pub(crate) const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";
/// The status of a message that the sender has to correct.
const REQUESTER: &str = "urn:oasis:names:tc:SAML:2.0:status:Requester";

/// A started logout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedLogout {
    /// The ID of the request, which the response refers to.
    pub id: RequestId,
    /// What to send.
    pub outgoing: Outgoing,
}

/// The result of a logout that an identity provider has requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogoutStatus {
    /// The sessions have ended, or there were none.
    Success,
    /// The request was refused.
    Refused,
}

/// Creates a request to end a session at the identity provider, signed with `key`.
pub fn start_logout(
    env: &dyn Env,
    service: &ServiceProvider,
    at: &LogoutService,
    session: &IdpSession,
    key: &KeyPair,
) -> Result<StartedLogout, KeyError> {
    let id = RequestId::new(env);
    let message = Message { id: id.as_str(), issued_at: env.now(), destination: &at.location, service };
    let key_inside = (at.binding == Binding::Post).then_some(key);
    let xml = write::logout_request(&message, session, key_inside)?;
    let outgoing = send(at.binding, &at.location, ("SAMLRequest", &xml), None, key)?;
    Ok(StartedLogout { id, outgoing })
}

/// Creates the response to a request with this ID, signed with `key`. `relay_state` is that of the request.
pub fn respond_to_logout(
    env: &dyn Env,
    service: &ServiceProvider,
    at: &LogoutService,
    (in_response_to, relay_state): (&str, Option<&str>),
    status: LogoutStatus,
    key: &KeyPair,
) -> Result<Outgoing, KeyError> {
    let (id, destination) = (RequestId::new(env), at.response_url());
    let message = Message { id: id.as_str(), issued_at: env.now(), destination, service };
    let status = match status {
        LogoutStatus::Success => SUCCESS,
        LogoutStatus::Refused => REQUESTER,
    };
    let key_inside = (at.binding == Binding::Post).then_some(key);
    let xml = write::logout_response(&message, in_response_to, status, key_inside)?;
    send(at.binding, destination, ("SAMLResponse", &xml), relay_state, key)
}

fn send(
    binding: Binding,
    location: &str,
    (field, xml): (&'static str, &str),
    relay_state: Option<&str>,
    key: &KeyPair,
) -> Result<Outgoing, KeyError> {
    match binding {
        Binding::Redirect => redirect::url(location, (field, xml), relay_state, Some(key)).map(Outgoing::Url),
        Binding::Post => {
            let message = (field, BASE64.encode(xml.as_bytes()));
            let relay_state = relay_state.map(|state| ("RelayState", state.to_owned()));
            let fields = std::iter::once(message).chain(relay_state).collect();
            Ok(Outgoing::Form { action: location.to_owned(), fields })
        }
    }
}
