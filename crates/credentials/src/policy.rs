//! The sign-in policy of a tenant.

use crate::PolicyError;
use serde::{Deserialize, Serialize};

/// How users of the tenant may sign in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SignInMode {
    /// Users sign in with email and password, or a passkey. Identity providers are not accepted.
    CredentialsOnly,
    /// Passwords and identity providers are accepted.
    SsoAllowed,
    /// Users sign in through an identity provider. Only break-glass accounts may use passwords and passkeys.
    SsoRequired,
}

/// The type of a second factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "UPPERCASE")]
#[cfg_attr(feature = "openapi", schema(as = FactorType))]
pub enum FactorKind {
    /// A passkey or security key: resistant to phishing.
    Webauthn,
    /// Codes of an authenticator app.
    Totp,
}

impl FactorKind {
    /// Returns the name in the database, the API and the audit log.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webauthn => "WEBAUTHN",
            Self::Totp => "TOTP",
        }
    }

    /// Parses a stored name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Webauthn, Self::Totp].into_iter().find(|kind| kind.as_str() == text)
    }
}

/// Second factors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MfaPolicy {
    /// Whether all users need a second factor.
    pub required: bool,
    /// Accepted factors, at least one. Only `WEBAUTHN` requires a phishing-resistant factor.
    #[cfg_attr(feature = "openapi", schema(min_items = 1))]
    pub accepted_factors: Vec<FactorKind>,
    /// Whether a sign-in through an identity provider counts as a second factor.
    pub trust_sso_mfa: bool,
}

/// How long sessions last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SessionPolicy {
    /// Minutes without use after which a session ends, 5 to 43,200.
    #[cfg_attr(feature = "openapi", schema(minimum = 5, maximum = 43200))]
    pub idle_minutes: i64,
    /// Days after the sign-in after which a session ends, 1 to 365.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 365))]
    pub absolute_days: i64,
}

/// The schema of scope names. The crate `tokens` describes each.
#[cfg(feature = "openapi")]
fn scopes() -> utoipa::openapi::schema::Array {
    use utoipa::openapi::{
        Ref,
        schema::{ArrayBuilder, SchemaType, Type},
    };
    ArrayBuilder::new()
        .schema_type(SchemaType::from_iter([Type::Array, Type::Null]))
        .items(Ref::from_schema_name("TokenScope"))
        .build()
}

/// Limits of personal access tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatPolicy {
    /// Maximum lifetime of a personal access token in days, 1 to 366; null: no limit. Also applies to existing tokens.
    #[cfg_attr(feature = "openapi", schema(minimum = 1, maximum = 366))]
    #[serde(default)]
    pub max_days: Option<i64>,
    /// The scopes that personal access tokens may use; null: all of them. Existing tokens lose the others.
    #[cfg_attr(feature = "openapi", schema(schema_with = scopes))]
    #[serde(default)]
    pub allowed_scopes: Option<Vec<String>>,
}

/// Requirements of a tenant for users who sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignInPolicy {
    /// `CREDENTIALS_ONLY`, `SSO_ALLOWED` or `SSO_REQUIRED`.
    pub sign_in_mode: SignInMode,
    /// Second factors.
    pub mfa: MfaPolicy,
    /// How long sessions last.
    pub session: SessionPolicy,
    /// Limits of personal access tokens; absent if none are set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pat: Option<PatPolicy>,
}

impl Default for SignInPolicy {
    fn default() -> Self {
        Self {
            sign_in_mode: SignInMode::SsoAllowed,
            mfa: MfaPolicy {
                required: false,
                accepted_factors: vec![FactorKind::Webauthn, FactorKind::Totp],
                trust_sso_mfa: false,
            },
            session: SessionPolicy { idle_minutes: 12 * 60, absolute_days: 30 },
            pat: None,
        }
    }
}

impl SignInPolicy {
    /// Checks the values that the types do not.
    pub fn check(&self) -> Result<(), PolicyError> {
        let mut factors = self.mfa.accepted_factors.clone();
        factors.sort_unstable();
        factors.dedup();
        if factors.is_empty() || factors.len() != self.mfa.accepted_factors.len() {
            return Err(PolicyError::AcceptedFactors);
        }
        if !(5..=43_200).contains(&self.session.idle_minutes) {
            return Err(PolicyError::IdleMinutes);
        }
        if !(1..=365).contains(&self.session.absolute_days) {
            return Err(PolicyError::AbsoluteDays);
        }
        let Some(pat) = &self.pat else { return Ok(()) };
        if pat.max_days.is_some_and(|days| !(1..=366).contains(&days)) {
            return Err(PolicyError::PatDays);
        }
        let mut scopes = pat.allowed_scopes.clone().unwrap_or_default();
        scopes.sort_unstable();
        let named = scopes.len();
        scopes.dedup();
        if scopes.len() != named {
            return Err(PolicyError::PatScopes);
        }
        Ok(())
    }

    /// Whether the user has to use single sign-on.
    pub fn requires_sso(&self, break_glass: bool) -> bool {
        self.sign_in_mode == SignInMode::SsoRequired && !break_glass
    }

    /// Returns the limits of personal access tokens.
    pub fn pats(&self) -> PatPolicy {
        self.pat.clone().unwrap_or_default()
    }

    /// Returns the names of the members that differ from another policy, as the audit log names them.
    pub fn changed_from(&self, before: &Self) -> Vec<String> {
        let differences = [
            ("signInMode", self.sign_in_mode != before.sign_in_mode),
            ("mfa.required", self.mfa.required != before.mfa.required),
            ("mfa.acceptedFactors", self.mfa.accepted_factors != before.mfa.accepted_factors),
            ("mfa.trustSsoMfa", self.mfa.trust_sso_mfa != before.mfa.trust_sso_mfa),
            ("session.idleMinutes", self.session.idle_minutes != before.session.idle_minutes),
            ("session.absoluteDays", self.session.absolute_days != before.session.absolute_days),
            ("pat.maxDays", self.pats().max_days != before.pats().max_days),
            ("pat.allowedScopes", self.pats().allowed_scopes != before.pats().allowed_scopes),
        ];
        differences.iter().filter(|(_, differs)| *differs).map(|(name, _)| (*name).to_owned()).collect()
    }
}

impl MfaPolicy {
    /// Whether a factor of this kind is accepted.
    pub fn accepts(&self, kind: FactorKind) -> bool {
        self.accepted_factors.contains(&kind)
    }

    /// Whether only passkeys are accepted.
    pub fn only_webauthn(&self) -> bool {
        self.accepted_factors == [FactorKind::Webauthn]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_policy_is_valid_and_invalid_ones_are_refused() {
        let policy = SignInPolicy::default();
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(
            text,
            r#"{"signInMode":"SSO_ALLOWED","mfa":{"required":false,"acceptedFactors":["WEBAUTHN","TOTP"],"trustSsoMfa":false},"session":{"idleMinutes":720,"absoluteDays":30}}"#
        );
        assert_eq!(policy.check(), Ok(()));
        let mut odd = policy.clone();
        odd.mfa.accepted_factors = vec![FactorKind::Totp, FactorKind::Totp];
        assert_eq!(odd.check(), Err(PolicyError::AcceptedFactors));
        odd.mfa.accepted_factors = Vec::new();
        assert_eq!(odd.check(), Err(PolicyError::AcceptedFactors));
        odd =
            SignInPolicy { session: SessionPolicy { idle_minutes: 5, absolute_days: 366 }, ..policy.clone() };
        assert_eq!(odd.check(), Err(PolicyError::AbsoluteDays));
        odd = SignInPolicy { session: SessionPolicy { idle_minutes: 4, absolute_days: 1 }, ..policy.clone() };
        assert_eq!(odd.check(), Err(PolicyError::IdleMinutes));
        assert_eq!(odd.changed_from(&policy), ["session.idleMinutes", "session.absoluteDays"]);
        assert!(serde_json::from_str::<SignInPolicy>(&text.replace("idleMinutes", "idle")).is_err());

        // A policy stored before token limits existed, and one with limits.
        assert_eq!(serde_json::from_str::<SignInPolicy>(&text).unwrap(), policy);
        let limited = text.replace("}}", r#"},"pat":{"maxDays":30,"allowedScopes":["read:profile"]}}"#);
        let limited: SignInPolicy = serde_json::from_str(&limited).unwrap();
        assert_eq!(limited.check(), Ok(()));
        assert_eq!(limited.changed_from(&policy), ["pat.maxDays", "pat.allowedScopes"]);
        let pat = |max_days, scopes: &[&str]| {
            let allowed_scopes = Some(scopes.iter().map(ToString::to_string).collect());
            SignInPolicy { pat: Some(PatPolicy { max_days, allowed_scopes }), ..policy.clone() }.check()
        };
        assert_eq!(pat(Some(0), &[]), Err(PolicyError::PatDays));
        assert_eq!(pat(None, &["read:hcm", "read:hcm"]), Err(PolicyError::PatScopes));
    }

    #[test]
    fn kinds_of_factors_have_their_stored_names() {
        for (kind, name) in [(FactorKind::Webauthn, "WEBAUTHN"), (FactorKind::Totp, "TOTP")] {
            assert_eq!((kind.as_str(), FactorKind::parse(name)), (name, Some(kind)));
        }
        assert_eq!(FactorKind::parse("totp"), None);
    }

    #[test]
    fn accepted_factors_decide_whether_only_passkeys_count() {
        let mut mfa = SignInPolicy::default().mfa;
        assert!(mfa.accepts(FactorKind::Totp) && !mfa.only_webauthn());
        mfa.accepted_factors = vec![FactorKind::Webauthn];
        assert!(mfa.only_webauthn() && mfa.accepts(FactorKind::Webauthn) && !mfa.accepts(FactorKind::Totp));
    }
}
