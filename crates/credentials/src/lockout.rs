//! Detects sign-in policies that would lock everybody out.

use crate::{FactorKind, SignInMode, SignInPolicy};

/// The credentials that a user could sign in with.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are independent facts")]
pub struct SignInMeans {
    /// A password and a sign-in address.
    pub has_password: bool,
    /// A verified passkey.
    pub has_passkey: bool,
    /// Whether the user may use a password or passkey even if the tenant requires single sign-on.
    pub break_glass: bool,
    /// Whether a working SSO connection covers the user.
    pub has_sso: bool,
}

/// The availability of passkeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PasskeyUse {
    /// Whether passkeys can be used and enrolled at all.
    pub work: bool,
    /// Whether any authenticator may be enrolled. If a policy restricts the models, the server cannot know who owns a
    /// permitted one.
    pub any_may_be_enrolled: bool,
}

impl SignInPolicy {
    /// Whether a user with these credentials could sign in.
    ///
    /// A missing second factor locks nobody out who can enrol one while signing in.
    pub fn admits(&self, means: &SignInMeans, passkeys: PasskeyUse) -> bool {
        let has_passkey = passkeys.work && means.has_passkey;
        let may_enrol = passkeys.work && passkeys.any_may_be_enrolled;
        let factor_is_possible = !self.takes_passkeys_alone() || has_passkey || may_enrol;
        let has_credentials = means.has_password || has_passkey;
        let by_credentials = has_credentials && factor_is_possible && !self.requires_sso(means.break_glass);
        let by_sso = means.has_sso && self.sign_in_mode != SignInMode::CredentialsOnly;
        by_credentials || (by_sso && (factor_is_possible || self.mfa.trust_sso_mfa))
    }

    fn takes_passkeys_alone(&self) -> bool {
        self.mfa.required && self.mfa.accepted_factors == [FactorKind::Webauthn]
    }

    /// Explains what prevents signing in, and what to do about it.
    pub fn what_is_missing(&self, passkeys: PasskeyUse) -> &'static str {
        if self.takes_passkeys_alone() && !passkeys.work {
            return "the policy accepts only passkeys, which do not work under this base_url: accept TOTP too, or set a base_url \
                    with a host name";
        }
        if self.takes_passkeys_alone() && !passkeys.any_may_be_enrolled {
            return "only passkeys are accepted, the attestation policy limits the models that may be enrolled, \
                and no active administrator who could sign in has a passkey: enrol one first, accept TOTP too, \
                or set the attestation policy to OFF";
        }
        match self.sign_in_mode {
            SignInMode::SsoRequired => {
                "no SSO connection has both a currently valid certificate and the email domain of an active \
                 administrator, and no active administrator with a password or passkey is marked break-glass: \
                 add such a connection, or have the operator run gatehouse user break-glass"
            }
            SignInMode::CredentialsOnly => {
                "no active administrator has a password or a passkey: have one of them set a password through a \
                 link from reset-password first"
            }
            SignInMode::SsoAllowed => {
                "no active administrator has a password or a passkey, and no SSO connection has both a currently \
                 valid certificate and the email domain of an active administrator: add one of them first"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FactorKind;

    const OPEN: PasskeyUse = PasskeyUse { work: true, any_may_be_enrolled: true };
    const NONE: PasskeyUse = PasskeyUse { work: false, any_may_be_enrolled: true };
    const NAMED: PasskeyUse = PasskeyUse { work: true, any_may_be_enrolled: false };

    fn policy(sign_in_mode: SignInMode) -> SignInPolicy {
        SignInPolicy { sign_in_mode, ..SignInPolicy::default() }
    }

    #[test]
    fn each_sign_in_mode_admits_its_own_credentials() {
        let password = SignInMeans { has_password: true, ..SignInMeans::default() };
        let passkey = SignInMeans { has_passkey: true, ..SignInMeans::default() };
        let glass = SignInMeans { break_glass: true, ..password };
        let glass_alone = SignInMeans { break_glass: true, ..SignInMeans::default() };
        let sso = SignInMeans { has_sso: true, ..SignInMeans::default() };
        let admitted = |mode| {
            [SignInMeans::default(), password, passkey, glass, glass_alone, sso]
                .map(|means| policy(mode).admits(&means, OPEN))
        };
        assert_eq!(admitted(SignInMode::SsoAllowed), [false, true, true, true, false, true]);
        assert_eq!(admitted(SignInMode::SsoRequired), [false, false, false, true, false, true]);
        assert_eq!(admitted(SignInMode::CredentialsOnly), [false, true, true, true, false, false]);
        assert!(
            !policy(SignInMode::SsoAllowed).admits(&passkey, NONE),
            "passkeys do not work under this base_url"
        );
    }

    #[test]
    fn a_required_factor_locks_out_only_where_it_cannot_be_enrolled() {
        let password = SignInMeans { has_password: true, ..SignInMeans::default() };
        let sso = SignInMeans { has_sso: true, ..SignInMeans::default() };
        let mut policy = policy(SignInMode::SsoAllowed);
        policy.mfa.required = true;
        assert!(policy.admits(&password, NONE), "an authenticator app can be enrolled during the sign-in");
        policy.mfa.accepted_factors = vec![FactorKind::Webauthn];
        assert!(policy.admits(&password, OPEN) && !policy.admits(&password, NONE));
        let both = SignInMeans { has_passkey: true, ..password };
        assert!(!policy.admits(&password, NAMED), "the administrator might own no allowed authenticator");
        assert!(policy.admits(&both, NAMED) && !policy.admits(&both, NONE));
        assert!(!policy.admits(&sso, NONE));
        policy.mfa.trust_sso_mfa = true;
        assert!(policy.admits(&sso, NONE));
    }

    #[test]
    fn explanation_names_what_prevents_signing_in() {
        let begins = |policy: &SignInPolicy, passkeys, text: &str| {
            let explanation = policy.what_is_missing(passkeys);
            assert!(explanation.starts_with(text), "{explanation}");
        };
        let mut mfa = SignInPolicy::default().mfa;
        (mfa.required, mfa.accepted_factors) = (true, vec![FactorKind::Webauthn]);
        let passkeys_only = SignInPolicy { mfa, ..SignInPolicy::default() };
        begins(
            &passkeys_only,
            NONE,
            "the policy accepts only passkeys, which do not work under this base_url",
        );
        begins(&passkeys_only, NAMED, "only passkeys are accepted, the attestation policy limits the models");
        begins(&passkeys_only, OPEN, "no active administrator has a password or a passkey, and no SSO");
        for passkeys in [OPEN, NONE, NAMED] {
            begins(&policy(SignInMode::SsoRequired), passkeys, "no SSO connection has both");
            begins(
                &policy(SignInMode::CredentialsOnly),
                passkeys,
                "no active administrator has a password or a passkey: have",
            );
            begins(
                &policy(SignInMode::SsoAllowed),
                passkeys,
                "no active administrator has a password or a passkey, and",
            );
        }
    }
}
