//! Previews which users a change of the sign-in policy affects.

use kernel::UserId;
use serde::Serialize;

use crate::{FactorKind, PasskeyUse, SignInMeans, SignInPolicy};

/// Maximum number of users that an impact lists for each effect.
const MAX_LISTED: usize = 1_000;

/// The effect of a policy on a user who signs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = SignInPolicyEffect))]
pub enum PolicyEffect {
    /// The user cannot sign in.
    LockedOut,
    /// The user can sign in only through single sign-on.
    MustUseSso,
    /// The user has to enrol a second factor before the next request.
    MustEnrol,
}

/// A user whom a draft affects differently than the current policy.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignInPolicyAffected))]
pub struct AffectedUser {
    /// `usr_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub user_id: UserId,
    /// The display name, or else the address or user name.
    pub name: String,
    /// What the draft does to the user.
    pub effect: PolicyEffect,
}

/// The impact of a sign-in policy. Counts only users on whom its effect differs from that of the current policy.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignInPolicyImpact))]
pub struct SignInImpact {
    /// Number of active users.
    pub users: usize,
    /// Number of users who could no longer sign in.
    pub locked_out: usize,
    /// Number of users whose password or passkey would no longer be accepted, and who can use single sign-on.
    pub must_use_sso: usize,
    /// Number of users who would have to enrol a second factor.
    pub must_enrol: usize,
    /// These users, oldest first, at most 1,000 for each effect.
    pub affected: Vec<AffectedUser>,
    /// The effect on the caller, if it changes.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub own: Option<PolicyEffect>,
    /// Why the policy would be refused; `null` if it would be saved.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub refusal: Option<&'static str>,
}

/// A user and the credentials.
#[derive(Debug, Clone)]
pub struct UserMeans {
    /// ID of the user.
    pub user: UserId,
    /// The name to show.
    pub name: String,
    /// What the user can sign in with.
    pub means: SignInMeans,
    /// The kinds of the user's verified factors.
    pub factors: Vec<FactorKind>,
}

impl SignInPolicy {
    /// Returns what this policy does to the user. A user who can choose between a password and single sign-on counts
    /// as one with a password.
    pub fn effect_on(&self, user: &UserMeans, passkeys: PasskeyUse) -> Option<PolicyEffect> {
        if !self.admits(&user.means, passkeys) {
            return Some(PolicyEffect::LockedOut);
        }
        let has_credentials = user.means.has_password || (passkeys.work && user.means.has_passkey);
        let by_credentials = has_credentials && !self.requires_sso(user.means.break_glass);
        let has_factor = user.factors.iter().any(|kind| self.mfa.accepts(*kind));
        if self.mfa.required && !has_factor && (by_credentials || !self.mfa.trust_sso_mfa) {
            return Some(PolicyEffect::MustEnrol);
        }
        (has_credentials && !by_credentials).then_some(PolicyEffect::MustUseSso)
    }
}

/// Counts users one by one, so that a tenant's users can be read in batches.
#[derive(Debug)]
pub struct SignInImpactCounter {
    /// The policy in force.
    pub current: SignInPolicy,
    /// The policy to preview.
    pub draft: SignInPolicy,
    /// The availability of passkeys.
    pub passkeys: PasskeyUse,
    /// The user who asks.
    pub caller: UserId,
    /// The impact so far.
    pub impact: SignInImpact,
}

impl SignInImpactCounter {
    /// Adds an active user.
    pub fn add(&mut self, user: UserMeans) {
        self.impact.users += 1;
        let effect = self.draft.effect_on(&user, self.passkeys);
        if effect == self.current.effect_on(&user, self.passkeys) {
            return;
        }
        let Some(effect) = effect else { return };
        let number = match effect {
            PolicyEffect::LockedOut => &mut self.impact.locked_out,
            PolicyEffect::MustUseSso => &mut self.impact.must_use_sso,
            PolicyEffect::MustEnrol => &mut self.impact.must_enrol,
        };
        *number += 1;
        let is_listed = *number <= MAX_LISTED;
        if user.user == self.caller {
            self.impact.own = Some(effect);
        }
        if is_listed {
            self.impact.affected.push(AffectedUser { user_id: user.user, name: user.name, effect });
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::SystemEnv;

    use super::*;
    use crate::SignInMode;

    const OPEN: PasskeyUse = PasskeyUse { work: true, any_may_be_enrolled: true };

    fn user(means: SignInMeans, factors: &[FactorKind]) -> UserMeans {
        UserMeans {
            user: UserId::new(&SystemEnv::default()),
            name: "Ada".into(),
            means,
            factors: factors.to_vec(),
        }
    }

    fn with_password() -> SignInMeans {
        SignInMeans { has_password: true, ..SignInMeans::default() }
    }

    #[test]
    fn required_factor_must_be_an_accepted_one() {
        let mut policy = SignInPolicy::default();
        let [none, app] = [user(with_password(), &[]), user(with_password(), &[FactorKind::Totp])];
        let sso = user(SignInMeans { has_sso: true, ..SignInMeans::default() }, &[]);
        assert_eq!(policy.effect_on(&none, OPEN), None);
        policy.mfa.required = true;
        let enrol = Some(PolicyEffect::MustEnrol);
        assert_eq!([&none, &app, &sso].map(|user| policy.effect_on(user, OPEN)), [enrol, None, enrol]);
        policy.mfa.trust_sso_mfa = true;
        policy.mfa.accepted_factors = vec![FactorKind::Webauthn];
        assert_eq!([&none, &app, &sso].map(|user| policy.effect_on(user, OPEN)), [enrol, enrol, None]);
        policy.sign_in_mode = SignInMode::SsoRequired;
        let out = Some(PolicyEffect::LockedOut);
        assert_eq!([&none, &app, &sso].map(|user| policy.effect_on(user, OPEN)), [out, out, None]);
        let both = user(SignInMeans { has_sso: true, ..with_password() }, &[]);
        assert_eq!(policy.effect_on(&both, OPEN), Some(PolicyEffect::MustUseSso));
        policy.sign_in_mode = SignInMode::SsoAllowed;
        assert_eq!(policy.effect_on(&both, OPEN), enrol, "a sign-in with the password needs a factor");
    }

    #[test]
    fn impact_counts_only_what_changes() {
        let (me, never) = (user(with_password(), &[]), user(SignInMeans::default(), &[]));
        let mut draft = SignInPolicy::default();
        draft.mfa.required = true;
        let mut counter = SignInImpactCounter {
            current: SignInPolicy::default(),
            draft,
            passkeys: OPEN,
            caller: me.user.clone(),
            impact: SignInImpact::default(),
        };
        counter.add(me.clone());
        counter.add(never);
        let SignInImpact { users, locked_out, must_enrol, affected, own, .. } = counter.impact;
        assert_eq!((users, locked_out, must_enrol, own), (2, 0, 1, Some(PolicyEffect::MustEnrol)));
        assert_eq!(affected.iter().map(|affected| &affected.user_id).collect::<Vec<_>>(), [&me.user]);
    }

    #[test]
    fn passkeys_count_as_credentials_only_where_they_work() {
        let mut policy = SignInPolicy { sign_in_mode: SignInMode::SsoRequired, ..SignInPolicy::default() };
        let both = user(SignInMeans { has_sso: true, has_passkey: true, ..SignInMeans::default() }, &[]);
        assert_eq!(policy.effect_on(&both, OPEN), Some(PolicyEffect::MustUseSso));
        let closed = PasskeyUse { work: false, ..OPEN };
        assert_eq!(policy.effect_on(&both, closed), None, "single sign-on is the only way already");
        let emergency = user(SignInMeans { break_glass: true, ..with_password() }, &[]);
        assert_eq!(policy.effect_on(&emergency, OPEN), None);
        policy.sign_in_mode = SignInMode::SsoAllowed;
        assert_eq!(policy.effect_on(&both, OPEN), None);
    }

    #[test]
    fn impact_lists_a_thousand_users_of_each_effect_and_counts_all() {
        let draft = SignInPolicy { sign_in_mode: SignInMode::SsoRequired, ..SignInPolicy::default() };
        let mut counter = SignInImpactCounter {
            current: SignInPolicy::default(),
            draft,
            passkeys: OPEN,
            caller: UserId::new(&SystemEnv::default()),
            impact: SignInImpact::default(),
        };
        let (out, sso) =
            (user(with_password(), &[]), user(SignInMeans { has_sso: true, ..with_password() }, &[]));
        for _ in 0..=MAX_LISTED {
            counter.add(out.clone());
            counter.add(sso.clone());
        }
        let SignInImpact { locked_out, must_use_sso, must_enrol, affected, own, .. } = counter.impact;
        assert_eq!((locked_out, must_use_sso, must_enrol, own), (1_001, 1_001, 0, None));
        let listed = |effect| affected.iter().filter(|affected| affected.effect == effect).count();
        assert_eq!([PolicyEffect::LockedOut, PolicyEffect::MustUseSso].map(listed), [1_000, 1_000]);
    }
}
