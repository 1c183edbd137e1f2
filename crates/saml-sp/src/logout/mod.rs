//! Single logout (SAML core, section 3.7; profiles, section 4.4): validates the messages of identity providers and writes
//! ours. Every message is signed.

mod incoming;
mod outgoing;
mod read;
#[cfg(test)]
mod tests;

use kernel::Timestamp;
use serde::{Deserialize, Serialize};

pub use self::{
    incoming::{examine_logout_request, examine_logout_response},
    outgoing::{LogoutStatus, StartedLogout, respond_to_logout, start_logout},
};

/// A user's session at the identity provider, as its assertion names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdpSession {
    /// The text of the NameID.
    pub name_id: String,
    /// The attribute `Format` of the NameID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// The attribute `NameQualifier` of the NameID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name_qualifier: Option<String>,
    /// The attribute `SPNameQualifier` of the NameID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sp_name_qualifier: Option<String>,
    /// The SessionIndex of the AuthnStatement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_index: Option<String>,
}

/// A valid LogoutRequest. Remember its ID, so that it is consumed once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoutRequest {
    /// The ID, which the response refers to.
    pub id: String,
    /// Until when the ID must be remembered: longer than the request is accepted.
    pub remember_until: Timestamp,
    /// The text of the NameID of the user.
    pub name_id: String,
    /// The sessions that end: at most 10. If there is none, all sessions of the user end.
    pub session_indexes: Vec<String>,
    /// The RelayState of a query, which its signature covers.
    pub relay_state: Option<String>,
}

/// A valid LogoutResponse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogoutResponse {
    /// The ID of our request.
    pub in_response_to: Option<String>,
    /// Whether the identity provider has ended its session and all others.
    pub is_success: bool,
}
