//! The kinds of events that a transmitter may be permitted to act with, and which events restore a state.

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
            Act::RiskLevelChange { current_level, .. } => {
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

    /// Returns the SHA-256 of the state and subject that the event is about: the account, an assurance level, the compliance of
    /// a device, or a risk. An older event about a state has no consequence after a newer one that
    /// [restores](Self::restores) it: tokens may arrive in another order than they were issued in. `None`: nothing restores
    /// what the event is about.
    pub fn state_key(&self) -> Option<[u8; 32]> {
        let (state, of) = match &self.act {
            Act::AccountDisabled { .. } | Act::AccountEnabled | Act::AccountPurged => ("account", ""),
            Act::AssuranceLevelChange { namespace, .. } => ("assurance", namespace.as_str()),
            Act::DeviceComplianceChange { .. } => ("compliance", ""),
            Act::RiskLevelChange { principal, .. } => ("risk", principal.as_str()),
            _ => return None,
        };
        let subject = serde_json::to_string(&self.subject).ok()?;
        Some(sha256(&format!("{state}\0{of}\0{subject}")))
    }

    /// Whether the event says that a state is good again, so that an older event about it has no consequence.
    pub fn restores(&self) -> bool {
        match &self.act {
            Act::AccountEnabled => true,
            Act::AssuranceLevelChange { direction, .. } => *direction == Some(LevelDirection::Increase),
            Act::DeviceComplianceChange { is_compliant } => *is_compliant,
            Act::RiskLevelChange { current_level, .. } => *current_level != RiskLevel::High,
            _ => false,
        }
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
