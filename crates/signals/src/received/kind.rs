//! The kinds of events that a transmitter may be permitted to act with, and which events replace others.

use kernel::Timestamp;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::{
    ReceivedEvent,
    act::{Act, CredentialChangeType, LevelDirection, RiskLevel},
};

/// A kind of event with a consequence. Other events are only recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SignalKind {
    /// Sessions were revoked (CAEP `session-revoked`, RISC `sessions-revoked`).
    SessionRevoked,
    /// A credential was changed, revoked or deleted (CAEP `credential-change`).
    CredentialChange,
    /// A credential is compromised (RISC `credential-compromise`).
    CredentialCompromise,
    /// The assurance level changed, and did not rise (CAEP `assurance-level-change`).
    AssuranceLevelChange,
    /// A device does not comply any more (CAEP `device-compliance-change`).
    DeviceComplianceChange,
    /// The risk level is high (CAEP `risk-level-change`).
    RiskLevelChange,
    /// The account was disabled (RISC `account-disabled`).
    AccountDisabled,
    /// The account was deleted (RISC `account-purged`).
    AccountPurged,
}

/// States of a subject that events are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    /// Whether the account exists and is enabled.
    Account,
    /// The assurance level.
    Assurance,
    /// The compliance of a device.
    Compliance,
    /// The risk level.
    Risk,
}

impl Family {
    fn of(act: &Act) -> Option<Self> {
        match act {
            Act::AccountDisabled { .. } | Act::AccountEnabled | Act::AccountPurged => Some(Self::Account),
            Act::AssuranceLevelChange { .. } => Some(Self::Assurance),
            Act::DeviceComplianceChange { .. } => Some(Self::Compliance),
            Act::RiskLevelChange { .. } => Some(Self::Risk),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Assurance => "assurance",
            Self::Compliance => "compliance",
            Self::Risk => "risk",
        }
    }
}

impl ReceivedEvent {
    /// Returns the kind of an event that has a consequence. `None`: it is only recorded.
    pub fn kind(&self) -> Option<SignalKind> {
        match &self.act {
            Act::SessionRevoked | Act::SessionsRevoked => Some(SignalKind::SessionRevoked),
            Act::CredentialChange { change, .. } => {
                (*change != CredentialChangeType::Create).then_some(SignalKind::CredentialChange)
            }
            Act::CredentialCompromise { .. } => Some(SignalKind::CredentialCompromise),
            Act::AssuranceLevelChange { direction, .. } => {
                (*direction != Some(LevelDirection::Increase)).then_some(SignalKind::AssuranceLevelChange)
            }
            Act::DeviceComplianceChange { is_compliant } => {
                (!is_compliant).then_some(SignalKind::DeviceComplianceChange)
            }
            Act::RiskLevelChange { current_level } => {
                (*current_level == RiskLevel::High).then_some(SignalKind::RiskLevelChange)
            }
            Act::AccountDisabled { .. } => Some(SignalKind::AccountDisabled),
            Act::AccountPurged => Some(SignalKind::AccountPurged),
            Act::AccountEnabled
            | Act::IdentifierChanged { .. }
            | Act::Verification { .. }
            | Act::StreamUpdated { .. }
            | Act::Other => None,
        }
    }

    /// Returns the SHA-256 of the state and subject that the event is about. Of events with the same value, an older one has no
    /// consequence after a newer one: tokens may arrive in another order than they were issued in. `None` if no
    /// event replaces another.
    pub fn state_key(&self) -> Option<[u8; 32]> {
        let family = Family::of(&self.act)?;
        let subject = serde_json::to_string(&self.subject).ok()?;
        Some(sha256(&format!("{}\0{subject}", family.as_str())))
    }

    /// Returns the SHA-256 of the token's ID, under which a host remembers it.
    pub fn id_hash(&self) -> [u8; 32] {
        sha256(&self.jti)
    }

    /// Returns when the event happened: as the event says, otherwise when its token was issued. At most now.
    pub fn occurred_at(&self, now: Timestamp) -> Timestamp {
        self.happened_at.unwrap_or(self.issued_at).min(now)
    }
}

fn sha256(text: &str) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    hash
}
