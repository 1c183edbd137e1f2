//! Second factors of users, and the rules for removing them.

use crate::RemovalError;
use kernel::{Id, Kind, Timestamp, UserId};

use crate::{FactorKind, MfaPolicy, Passkey};

/// Maximum number of factors per user.
pub const MAX_FACTORS: usize = 20;
/// Maximum number of characters of a factor's name.
pub const NAME_MAX: usize = 64;

/// The kind of [`FactorId`].
#[derive(Debug, Clone, Copy)]
pub enum FactorIdKind {}
impl Kind for FactorIdKind {
    const PREFIX: &'static str = "fac";
}
/// `fac_…`
pub type FactorId = Id<FactorIdKind>;

/// The data that a factor is verified with.
#[derive(Debug, Clone, PartialEq)]
pub enum FactorData {
    /// An authenticator app.
    Totp {
        /// The encrypted secret.
        sealed: Vec<u8>,
        /// The last time step that was used. Each works once.
        last_step: i64,
    },
    /// A passkey or security key.
    Passkey(Box<Passkey>),
}

/// A second factor of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// `fac_…`
    pub id: FactorId,
    /// User who enrolled the factor.
    pub user: UserId,
    /// The name the user has given it.
    pub name: String,
    /// When the enrolment began.
    pub created_at: Timestamp,
    /// When the user first proved it. An unverified factor does not count.
    pub verified_at: Option<Timestamp>,
    /// When it was last used.
    pub last_used_at: Option<Timestamp>,
    /// The data that it is verified with.
    pub data: FactorData,
}

impl Factor {
    /// Returns the kind of factor.
    pub fn kind(&self) -> FactorKind {
        match self.data {
            FactorData::Totp { .. } => FactorKind::Totp,
            FactorData::Passkey(_) => FactorKind::Webauthn,
        }
    }

    /// Returns the passkey, if it is one.
    pub fn passkey(&self) -> Option<&Passkey> {
        match &self.data {
            FactorData::Passkey(passkey) => Some(passkey),
            FactorData::Totp { .. } => None,
        }
    }

    /// Whether the enrolment is finished, so that the factor counts.
    pub fn is_verified(&self) -> bool {
        self.verified_at.is_some()
    }
}

/// Validates and trims a name: 1 to [`NAME_MAX`] printable characters.
pub fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let length = text.chars().count();
    ((1..=NAME_MAX).contains(&length) && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

/// Returns the name of a factor until the user gives it one.
pub fn default_name(kind: FactorKind) -> &'static str {
    match kind {
        FactorKind::Totp => "Authenticator app",
        FactorKind::Webauthn => "Passkey",
    }
}

/// Checks whether the policy permits removing all of a user's factors.
pub fn may_remove_all(policy: &MfaPolicy) -> Result<(), RemovalError> {
    if policy.required { Err(RemovalError::PolicyRequiresMfa) } else { Ok(()) }
}

/// Checks whether the policy permits removing `target`. An unverified factor can always be removed.
pub fn may_remove(
    policy: &MfaPolicy,
    factors: &[Factor],
    unused_codes: usize,
    target: &Factor,
) -> Result<(), RemovalError> {
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
        return Err(RemovalError::PolicyRequiresWebauthn);
    }
    if verified(None) <= 1 && policy.required && unused_codes == 0 {
        return Err(RemovalError::LastFactor);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    #[test]
    fn factors_have_names() {
        let names = [FactorKind::Totp, FactorKind::Webauthn].map(default_name);
        assert_eq!(names, ["Authenticator app", "Passkey"]);
    }

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
    fn removal_is_refused_by_the_first_rule_that_applies() {
        let both = [FactorKind::Webauthn, FactorKind::Totp];
        let (one, pending) = (totp(true), totp(false));
        let may = |policy: &MfaPolicy, factors: &[Factor], codes| may_remove(policy, factors, codes, &one);
        assert_eq!(may(&policy(false, &both), std::slice::from_ref(&one), 0), Ok(()));
        assert_eq!(may(&policy(true, &both), std::slice::from_ref(&one), 0), Err(RemovalError::LastFactor));
        assert_eq!(
            may(&policy(true, &both), &[one.clone(), pending.clone()], 0),
            Err(RemovalError::LastFactor)
        );
        assert_eq!(may(&policy(true, &both), &[one.clone(), totp(true)], 0), Ok(()));
        assert_eq!(may(&policy(true, &both), std::slice::from_ref(&one), 1), Ok(()));
        let passkeys = policy(true, &both[..1]);
        assert_eq!(may(&passkeys, std::slice::from_ref(&one), 10), Err(RemovalError::PolicyRequiresWebauthn));
        assert_eq!(may_remove(&passkeys, &[one.clone(), pending.clone()], 0, &pending), Ok(()));
        assert_eq!(may_remove_all(&passkeys), Err(RemovalError::PolicyRequiresMfa));
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
