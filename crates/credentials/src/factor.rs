//! Factors that people have enrolled, and which of them may go.

use async_trait::async_trait;
use kernel::{Id, Kind, StoreError, Timestamp, UserId};

use crate::{FactorKind, MfaPolicy, Passkey};

/// Factors that one person may have.
pub const MAX_FACTORS: usize = 20;
/// Characters of a factor's name.
pub const NAME_MAX: usize = 64;

/// Marks ids of factors.
#[derive(Debug, Clone, Copy)]
pub enum FactorIdKind {}
impl Kind for FactorIdKind {
    const PREFIX: &'static str = "fac";
}
/// `fac_…`
pub type FactorId = Id<FactorIdKind>;

/// What a factor is verified by.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorData {
    /// An authenticator app.
    Totp {
        /// The secret, sealed: what is kept opens nothing by itself.
        sealed: Vec<u8>,
        /// The last step that was used; each works once.
        last_step: i64,
    },
    /// A passkey or security key.
    Passkey(Box<Passkey>),
}

/// A second factor of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// `fac_…`
    pub id: FactorId,
    /// Whose.
    pub user: UserId,
    /// What the person calls it.
    pub name: String,
    /// When it was begun.
    pub created_at: Timestamp,
    /// When the person first proved to have it; until then it counts for nothing.
    pub verified_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// What it is verified by.
    pub data: FactorData,
}

impl Factor {
    /// What kind it is.
    pub fn kind(&self) -> FactorKind {
        match self.data {
            FactorData::Totp { .. } => FactorKind::Totp,
            FactorData::Passkey(_) => FactorKind::Webauthn,
        }
    }

    /// The passkey, if it is one.
    pub fn passkey(&self) -> Option<&Passkey> {
        match &self.data {
            FactorData::Passkey(passkey) => Some(passkey),
            FactorData::Totp { .. } => None,
        }
    }

    /// Whether it counts.
    pub fn is_verified(&self) -> bool {
        self.verified_at.is_some()
    }
}

/// A name as a person may give it: 1 to [`NAME_MAX`] printable characters.
pub fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let length = text.chars().count();
    ((1..=NAME_MAX).contains(&length) && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// What a factor is called until it is named.
pub fn default_name(kind: FactorKind) -> &'static str {
    match kind {
        FactorKind::Totp => "Authenticator app",
        FactorKind::Webauthn => "Passkey",
    }
}

/// Why a factor may not go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Removal {
    /// `POLICY_REQUIRES_MFA`
    #[error(
        "this tenant requires a second factor, so it cannot be turned off; an administrator can change that"
    )]
    PolicyRequiresMfa,
    /// `POLICY_REQUIRES_WEBAUTHN`
    #[error("this tenant accepts passkeys alone: enrol a passkey first, then remove the authenticator app")]
    PolicyRequiresWebauthn,
    /// `LAST_FACTOR_POLICY_BLOCKED`
    #[error(
        "this is the last factor and this tenant requires one: enrol another or generate recovery codes first"
    )]
    LastFactor,
}

/// Whether all factors may go.
pub fn may_remove_all(policy: &MfaPolicy) -> Result<(), Removal> {
    if policy.required { Err(Removal::PolicyRequiresMfa) } else { Ok(()) }
}

/// Whether one of a person's factors may go. An unverified one always may.
pub fn may_remove(
    policy: &MfaPolicy,
    factors: &[Factor],
    unused_codes: usize,
    target: &Factor,
) -> Result<(), Removal> {
    if !target.is_verified() {
        return Ok(());
    }
    let verified = |kind: Option<FactorKind>| {
        let of_kind = |factor: &&Factor| kind.is_none_or(|kind| factor.kind() == kind);
        factors.iter().filter(|factor| factor.is_verified()).filter(of_kind).count()
    };
    if target.kind() == FactorKind::Totp
        && policy.only_webauthn()
        && verified(Some(FactorKind::Webauthn)) == 0
    {
        return Err(Removal::PolicyRequiresWebauthn);
    }
    if verified(None) <= 1 && policy.required && unused_codes == 0 {
        return Err(Removal::LastFactor);
    }
    Ok(())
}

/// Where one tenant's factors and recovery codes are kept.
#[async_trait]
pub trait FactorStore: Send {
    /// A person's factors, verified or not, oldest first; held until the end of a unit of work that changes.
    async fn factors(&mut self, user: &UserId) -> Result<Vec<Factor>, StoreError>;
    /// The person's factor with this WebAuthn credential.
    async fn factor_of_credential(&mut self, credential: &[u8]) -> Result<Option<Factor>, StoreError>;
    /// Keeps a new factor; `false` when the tenant has one with the same credential.
    async fn insert_factor(&mut self, factor: &Factor) -> Result<bool, StoreError>;
    /// Writes the name, and when it was verified; with the data and the time of use, as [`Self::record_use`].
    async fn update_factor(&mut self, factor: &Factor) -> Result<(), StoreError>;
    /// Uses a step of an authenticator app: `false` when it, or a later one, was used before.
    async fn use_step(&mut self, factor: &Factor, step: i64, at: Timestamp) -> Result<bool, StoreError>;
    /// Writes the signature counter of a passkey and when it was used: no change that needs an audit entry, as what was proved
    /// with it gets one.
    async fn record_use(&mut self, factor: &Factor) -> Result<(), StoreError>;
    /// Forgets what was begun and not verified.
    async fn drop_pending(&mut self, user: &UserId) -> Result<(), StoreError>;
    /// Takes a factor away.
    async fn delete_factor(&mut self, user: &UserId, id: &FactorId) -> Result<bool, StoreError>;
    /// How many recovery codes are unused.
    async fn unused_codes(&mut self, user: &UserId) -> Result<usize, StoreError>;
    /// Puts these in the place of all there were; none takes them away.
    async fn replace_codes(&mut self, user: &UserId, hashes: &[[u8; 32]]) -> Result<(), StoreError>;
    /// Uses a code: `false` when it is not there or used. Of several who try at once one is told `true`.
    async fn use_code(&mut self, user: &UserId, hash: &[u8; 32], at: Timestamp) -> Result<bool, StoreError>;
    /// How many wrong codes of a user came in a row.
    async fn wrong_codes(&mut self, user: &UserId) -> Result<i64, StoreError>;
    /// Counts one more.
    async fn count_wrong_code(&mut self, user: &UserId) -> Result<(), StoreError>;
    /// Begins to count from none.
    async fn clear_wrong_codes(&mut self, user: &UserId) -> Result<(), StoreError>;
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    fn totp(verified: bool) -> Factor {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        Factor {
            id: FactorId::new(&env),
            user: UserId::new(&env),
            name: "app".into(),
            created_at: kernel::Env::now(&env),
            verified_at: verified.then(|| kernel::Env::now(&env)),
            last_used_at: None,
            data: FactorData::Totp { sealed: Vec::new(), last_step: -1 },
        }
    }

    fn policy(required: bool, accepted: &[FactorKind]) -> MfaPolicy {
        MfaPolicy { required, accepted_factors: accepted.to_vec(), trust_sso_mfa: false }
    }

    #[test]
    fn the_first_rule_that_applies_answers() {
        let both = [FactorKind::Webauthn, FactorKind::Totp];
        let (one, pending) = (totp(true), totp(false));
        let may = |policy: &MfaPolicy, factors: &[Factor], codes| may_remove(policy, factors, codes, &one);
        assert_eq!(may(&policy(false, &both), std::slice::from_ref(&one), 0), Ok(()));
        assert_eq!(may(&policy(true, &both), std::slice::from_ref(&one), 0), Err(Removal::LastFactor));
        assert_eq!(may(&policy(true, &both), &[one.clone(), pending.clone()], 0), Err(Removal::LastFactor));
        assert_eq!(may(&policy(true, &both), &[one.clone(), totp(true)], 0), Ok(()));
        assert_eq!(may(&policy(true, &both), std::slice::from_ref(&one), 1), Ok(()));
        let passkeys = policy(true, &both[..1]);
        assert_eq!(may(&passkeys, std::slice::from_ref(&one), 10), Err(Removal::PolicyRequiresWebauthn));
        assert_eq!(may_remove(&passkeys, &[one.clone(), pending.clone()], 0, &pending), Ok(()));
        assert_eq!(may_remove_all(&passkeys), Err(Removal::PolicyRequiresMfa));
        assert_eq!(may_remove_all(&policy(false, &both)), Ok(()));
    }

    #[test]
    fn names_are_short_and_printable() {
        assert_eq!(name("  my key "), Some("my key".into()));
        for odd in ["", "  ", "a\nb", &"x".repeat(65)] {
            assert_eq!(name(odd), None);
        }
    }
}
