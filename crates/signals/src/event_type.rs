//! The event types that can be sent, and the audit events that they come from.

use std::fmt;

use serde::{Serialize, Serializer};

/// An event type: a URI from CAEP 1.0, RISC 1.0 or RFC 9967.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// CAEP: sessions of a user were revoked.
    SessionRevoked,
    /// CAEP: a password, passkey or authenticator app was created, changed or removed.
    CredentialChange,
    /// CAEP: a session reached a higher assurance level, by a second factor after its start.
    AssuranceLevelChange,
    /// RISC: an account was disabled.
    AccountDisabled,
    /// RISC: an account was enabled.
    AccountEnabled,
    /// RISC: an account was deleted.
    AccountPurged,
    /// RISC: the email address of an account changed.
    IdentifierChanged,
    /// RFC 9967: a user or group was created. Contains the names of its attributes.
    ScimCreated,
    /// RFC 9967: attributes of a user or group changed. Contains their names.
    ScimPatched,
    /// RFC 9967: a user or group was deleted.
    ScimDeleted,
    /// RFC 9967: a user was activated.
    ScimActivated,
    /// RFC 9967: a user was deactivated.
    ScimDeactivated,
}

/// The type of events that confirm that a stream works (SSF 1.0, section 8.1.4).
pub const VERIFICATION: &str = "https://schemas.openid.net/secevent/ssf/event-type/verification";
/// The type of events about the status of a stream itself (SSF 1.0, section 8.1.5).
pub const STREAM_UPDATED: &str = "https://schemas.openid.net/secevent/ssf/event-type/stream-updated";

/// Audit codes, and the events that each causes.
const SOURCES: [(&str, &[EventType]); 14] = [
    ("ACCOUNT_SESSION_REVOKED", &[EventType::SessionRevoked]),
    ("ACCOUNT_SESSIONS_REVOKED", &[EventType::SessionRevoked]),
    ("ACCOUNT_PASSWORD_CHANGED", &[EventType::CredentialChange]),
    ("ACCOUNT_FACTOR_ENROLLED", &[EventType::CredentialChange]),
    ("ACCOUNT_FACTOR_REMOVED", &[EventType::CredentialChange]),
    ("ACCOUNT_SESSION_RENEWED", &[EventType::AssuranceLevelChange]),
    ("ACCOUNT_USER_CREATED", &[EventType::ScimCreated]),
    ("ACCOUNT_USER_UPDATED", &[EventType::IdentifierChanged, EventType::ScimPatched]),
    (
        "ACCOUNT_USER_DEACTIVATED",
        &[EventType::SessionRevoked, EventType::AccountDisabled, EventType::ScimDeactivated],
    ),
    ("ACCOUNT_USER_REACTIVATED", &[EventType::AccountEnabled, EventType::ScimActivated]),
    ("ACCOUNT_USER_DELETED", &[EventType::SessionRevoked, EventType::AccountPurged, EventType::ScimDeleted]),
    ("ACCOUNT_GROUP_CREATED", &[EventType::ScimCreated]),
    ("ACCOUNT_GROUP_UPDATED", &[EventType::ScimPatched]),
    ("ACCOUNT_GROUP_DELETED", &[EventType::ScimDeleted]),
];

impl EventType {
    /// All event types.
    pub const ALL: [Self; 12] = [
        Self::SessionRevoked,
        Self::CredentialChange,
        Self::AssuranceLevelChange,
        Self::AccountDisabled,
        Self::AccountEnabled,
        Self::AccountPurged,
        Self::IdentifierChanged,
        Self::ScimCreated,
        Self::ScimPatched,
        Self::ScimDeleted,
        Self::ScimActivated,
        Self::ScimDeactivated,
    ];

    /// Returns the URI.
    pub fn uri(self) -> &'static str {
        match self {
            Self::SessionRevoked => "https://schemas.openid.net/secevent/caep/event-type/session-revoked",
            Self::CredentialChange => "https://schemas.openid.net/secevent/caep/event-type/credential-change",
            Self::AssuranceLevelChange => {
                "https://schemas.openid.net/secevent/caep/event-type/assurance-level-change"
            }
            Self::AccountDisabled => "https://schemas.openid.net/secevent/risc/event-type/account-disabled",
            Self::AccountEnabled => "https://schemas.openid.net/secevent/risc/event-type/account-enabled",
            Self::AccountPurged => "https://schemas.openid.net/secevent/risc/event-type/account-purged",
            Self::IdentifierChanged => {
                "https://schemas.openid.net/secevent/risc/event-type/identifier-changed"
            }
            Self::ScimCreated => "urn:ietf:params:scim:event:prov:create:notice",
            Self::ScimPatched => "urn:ietf:params:scim:event:prov:patch:notice",
            Self::ScimDeleted => "urn:ietf:params:scim:event:prov:delete",
            Self::ScimActivated => "urn:ietf:params:scim:event:prov:activate",
            Self::ScimDeactivated => "urn:ietf:params:scim:event:prov:deactivate",
        }
    }

    /// Returns the display name.
    pub fn title(self) -> &'static str {
        match self {
            Self::SessionRevoked => "Sessions revoked",
            Self::CredentialChange => "Password or second factor changed",
            Self::AssuranceLevelChange => "Second factor added to a session",
            Self::AccountDisabled => "Account disabled",
            Self::AccountEnabled => "Account enabled",
            Self::AccountPurged => "Account deleted",
            Self::IdentifierChanged => "Email address changed",
            Self::ScimCreated => "User or group created",
            Self::ScimPatched => "User or group changed",
            Self::ScimDeleted => "User or group deleted",
            Self::ScimActivated => "User activated",
            Self::ScimDeactivated => "User deactivated",
        }
    }

    /// Returns the event type with this URI.
    pub fn from_uri(uri: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.uri() == uri)
    }

    /// Whether its subject is a resource of the SCIM API instead of an account.
    pub fn is_scim(self) -> bool {
        self.uri().starts_with("urn:ietf:params:scim:event:")
    }

    /// Returns the audit codes that cause events of this type.
    pub fn audit_codes(self) -> impl Iterator<Item = &'static str> {
        SOURCES.into_iter().filter(move |(_, types)| types.contains(&self)).map(|(code, _)| code)
    }
}

/// Returns whether audit events with this code cause any event.
pub fn is_source(audit_code: &str) -> bool {
    SOURCES.iter().any(|(code, _)| *code == audit_code)
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.uri())
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for EventType {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        let uris = Self::ALL.map(Self::uri);
        let text = utoipa::openapi::schema::Type::String;
        let schema = utoipa::openapi::ObjectBuilder::new().schema_type(text).enum_values(Some(uris));
        schema.description(Some("URI of an event type: CAEP 1.0, RISC 1.0 or RFC 9967.")).into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for EventType {
    fn name() -> std::borrow::Cow<'static, str> {
        "SignalEventType".into()
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.uri())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_an_audit_event() {
        for (code, _) in &SOURCES {
            assert!(audit::events::catalog().specs().iter().any(|spec| spec.code == *code), "{code}");
        }
    }

    #[test]
    fn every_type_has_a_source_and_is_found_by_its_uri() {
        for one in EventType::ALL {
            assert!(one.audit_codes().all(is_source) && one.audit_codes().count() > 0, "{one}");
            assert_eq!(EventType::from_uri(one.uri()), Some(one));
        }
        assert_eq!(EventType::from_uri(VERIFICATION), None);
        assert!(!is_source("ACCOUNT_WEBHOOK_CREATED"));
    }
}
