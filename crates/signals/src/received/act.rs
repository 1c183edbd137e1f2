//! The events that a host acts upon (CAEP 1.0, RISC 1.0, SSF 1.0).

use serde_json::{Map, Value};

use super::{
    members::{Reader, present},
    refusal::{Reason, Refusal},
    text::printable,
};
use crate::{EventType, STREAM_UPDATED, Status, VERIFICATION};

/// RISC: all sessions of an account were revoked. CAEP's `session-revoked` has replaced it.
const SESSIONS_REVOKED: &str = "https://schemas.openid.net/secevent/risc/event-type/sessions-revoked";
/// RISC: a credential of an account was found to be compromised.
const CREDENTIAL_COMPROMISE: &str =
    "https://schemas.openid.net/secevent/risc/event-type/credential-compromise";
/// CAEP: whether a device complies with the rules of its organization changed.
const DEVICE_COMPLIANCE_CHANGE: &str =
    "https://schemas.openid.net/secevent/caep/event-type/device-compliance-change";
/// CAEP: the risk level of a user, device or session changed.
const RISK_LEVEL_CHANGE: &str = "https://schemas.openid.net/secevent/caep/event-type/risk-level-change";

/// What happened, as far as a host acts upon it. Everything else is in the payload of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// CAEP: the sessions that match the subject were revoked.
    SessionRevoked,
    /// CAEP: a credential of the user changed.
    CredentialChange {
        /// `password`, `fido2-roaming`, `app` and others.
        credential_type: String,
        /// What happened to it.
        change: CredentialChangeType,
    },
    /// CAEP: the assurance level of the user or session changed.
    AssuranceLevelChange {
        /// Where the levels are defined, such as `NIST-AAL`.
        namespace: String,
        /// The level now.
        current_level: String,
        /// The level before. `None`: unknown.
        previous_level: Option<String>,
        /// Whether the level rose or fell, if the transmitter says so.
        direction: Option<LevelDirection>,
    },
    /// RISC: the account was disabled.
    AccountDisabled {
        /// `hijacking`, `bulk-account` or another reason, at most 500 characters.
        reason: Option<String>,
    },
    /// RISC: the account was enabled.
    AccountEnabled,
    /// RISC: the account was deleted for good.
    AccountPurged,
    /// RISC: the identifier of the account, which is the subject, changed.
    IdentifierChanged {
        /// The identifier now, if the transmitter discloses it.
        new_value: Option<String>,
    },
    /// RISC, obsolete: all sessions of the account were revoked.
    SessionsRevoked,
    /// RISC: a credential of the account was found to be compromised.
    CredentialCompromise {
        /// The same names as in [`CredentialChange`](Self::CredentialChange).
        credential_type: String,
    },
    /// CAEP: whether a device of the user complies with the rules of its organization changed.
    DeviceComplianceChange {
        /// Whether it complies now.
        is_compliant: bool,
    },
    /// CAEP: the risk level of the user, device or session changed.
    RiskLevelChange {
        /// `USER`, `DEVICE`, `SESSION` or another principal whose risk it is.
        principal: String,
        /// The level now.
        current_level: RiskLevel,
    },
    /// SSF: the stream works.
    Verification {
        /// The state of the receiver's request. `None`: the transmitter verifies the stream on its own initiative.
        state: Option<String>,
    },
    /// SSF: the transmitter changed the status of the stream.
    StreamUpdated {
        /// The status now.
        status: Status,
        /// Why, at most 500 characters.
        reason: Option<String>,
    },
    /// Any other event.
    Other,
}

/// What happened to a credential (CAEP 1.0, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialChangeType {
    /// It was added.
    Create,
    /// It was revoked.
    Revoke,
    /// It was replaced or changed.
    Update,
    /// It was removed.
    Delete,
}

/// How an assurance level changed (CAEP 1.0, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LevelDirection {
    /// It rose.
    Increase,
    /// It fell.
    Decrease,
}

/// A risk level (CAEP 1.0, section 3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RiskLevel {
    /// `LOW`
    Low,
    /// `MEDIUM`
    Medium,
    /// `HIGH`
    High,
}

impl Act {
    /// Reads an event of this type.
    pub(super) fn read(event_type: &str, payload: &Map<String, Value>) -> Result<Self, Refusal> {
        let reader = Reader { members: payload, reason: Reason::PayloadMalformed, place: "the event" };
        match event_type {
            SESSIONS_REVOKED => return Ok(Self::SessionsRevoked),
            CREDENTIAL_COMPROMISE => {
                return Ok(Self::CredentialCompromise { credential_type: reader.text("credential_type")? });
            }
            DEVICE_COMPLIANCE_CHANGE => {
                let is_compliant = match reader.text("current_status")?.as_str() {
                    "compliant" => true,
                    "not-compliant" => false,
                    _ => return Err(reader.malformed("current_status", "compliant or not-compliant")),
                };
                return Ok(Self::DeviceComplianceChange { is_compliant });
            }
            RISK_LEVEL_CHANGE => {
                return Ok(Self::RiskLevelChange {
                    principal: reader.text("principal")?,
                    current_level: RiskLevel::read(&reader)?,
                });
            }
            VERIFICATION => return Ok(Self::Verification { state: reader.optional_text("state")? }),
            STREAM_UPDATED => {
                let status = Status::from_name(&reader.text("status")?);
                let status = status.ok_or_else(|| reader.malformed("status", "enabled, paused or disabled"));
                return Ok(Self::StreamUpdated { status: status?, reason: explanation(&reader)? });
            }
            _ => {}
        }
        Ok(match EventType::from_uri(event_type) {
            Some(EventType::SessionRevoked) => Self::SessionRevoked,
            Some(EventType::CredentialChange) => Self::CredentialChange {
                credential_type: reader.text("credential_type")?,
                change: CredentialChangeType::read(&reader)?,
            },
            Some(EventType::AssuranceLevelChange) => Self::AssuranceLevelChange {
                namespace: reader.text("namespace")?,
                current_level: reader.text("current_level")?,
                previous_level: reader.optional_text("previous_level")?,
                direction: LevelDirection::read(&reader)?,
            },
            Some(EventType::AccountDisabled) => Self::AccountDisabled { reason: explanation(&reader)? },
            Some(EventType::AccountEnabled) => Self::AccountEnabled,
            Some(EventType::AccountPurged) => Self::AccountPurged,
            Some(EventType::IdentifierChanged) => {
                Self::IdentifierChanged { new_value: reader.optional_text("new-value")? }
            }
            Some(
                EventType::ScimCreated
                | EventType::ScimPatched
                | EventType::ScimDeleted
                | EventType::ScimActivated
                | EventType::ScimDeactivated,
            )
            | None => Self::Other,
        })
    }
}

impl CredentialChangeType {
    fn read(reader: &Reader<'_>) -> Result<Self, Refusal> {
        match reader.text("change_type")?.as_str() {
            "create" => Ok(Self::Create),
            "revoke" => Ok(Self::Revoke),
            "update" => Ok(Self::Update),
            "delete" => Ok(Self::Delete),
            _ => Err(reader.malformed("change_type", "create, revoke, update or delete")),
        }
    }
}

impl LevelDirection {
    fn read(reader: &Reader<'_>) -> Result<Option<Self>, Refusal> {
        match reader.optional_text("change_direction")?.as_deref() {
            None => Ok(None),
            Some("increase") => Ok(Some(Self::Increase)),
            Some("decrease") => Ok(Some(Self::Decrease)),
            Some(_) => Err(reader.malformed("change_direction", "increase or decrease")),
        }
    }
}

impl RiskLevel {
    fn read(reader: &Reader<'_>) -> Result<Self, Refusal> {
        match reader.text("current_level")?.as_str() {
            "LOW" => Ok(Self::Low),
            "MEDIUM" => Ok(Self::Medium),
            "HIGH" => Ok(Self::High),
            _ => Err(reader.malformed("current_level", "LOW, MEDIUM or HIGH")),
        }
    }
}

/// Reads a text that is only displayed: any string, made printable.
fn explanation(reader: &Reader<'_>) -> Result<Option<String>, Refusal> {
    match present(reader.members, "reason") {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(printable(text))),
        Some(_) => Err(reader.malformed("reason", "a string")),
    }
}
