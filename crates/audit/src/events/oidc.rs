//! SSO connections with OpenID Connect, and sign-ins through them.

use super::define::{Actor, BY_USER, Resource, USER, events};

const PROVIDER: &str = "oidc_01jz000000000000000000000001jz4444444444444444444444";
const OIDC_PROVIDER: Resource = ("oidc_provider", PROVIDER);
const BY_PROVIDER: Actor = (PROVIDER, "OIDC");

events! {
    /// An SSO connection with OpenID Connect was added.
    OidcProviderCreated = "ACCOUNT_OIDC_PROVIDER_CREATED" (OIDC_PROVIDER, BY_USER) {
        /// Issuer of the OpenID provider.
        issuer: String = "https://login.example.com".into(),
        /// Client ID at the provider.
        client_id: String = "gatehouse".into(),
        /// Email domains of the connection.
        email_domains: Vec<String> = vec!["example.com".into()],
    }
    /// An SSO connection with OpenID Connect was changed by an administrator, or by the provider's metadata or keys.
    OidcProviderUpdated = "ACCOUNT_OIDC_PROVIDER_UPDATED" (OIDC_PROVIDER, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["scopes".into()],
        /// Issuer after the change.
        issuer: String = "https://login.example.com".into(),
    }
    /// An SSO connection with OpenID Connect was removed. Its sessions continue.
    OidcProviderDeleted = "ACCOUNT_OIDC_PROVIDER_DELETED" (OIDC_PROVIDER, BY_USER) {
        /// Issuer of the OpenID provider.
        issuer: String = "https://login.example.com".into(),
    }
    /// A rotation of the key for `private_key_jwt` was started or completed.
    OidcProviderKeyRotated = "ACCOUNT_OIDC_PROVIDER_KEY_ROTATED" (OIDC_PROVIDER, BY_USER) {
        /// `STARTED`: the key set lists the next key. `COMPLETED`: the next key signs and the previous one is removed.
        phase: String = "STARTED".into(),
        /// SHA-256 of the certificate of the next key.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    /// An SSO connection with OpenID Connect was tested.
    OidcProviderTested = "ACCOUNT_OIDC_PROVIDER_TESTED" (OIDC_PROVIDER, BY_USER) {
        /// `try_…`
        test: String = "try_01jz6666666666666666666666".into(),
    }
    /// The response of an OpenID provider was refused, or its user may not sign in.
    OidcSignInRefused = "ACCOUNT_OIDC_SIGN_IN_REFUSED" (OIDC_PROVIDER, BY_PROVIDER) {
        /// Which check failed: `CALLBACK`, `REQUEST`, `TOKEN_REQUEST`, `STRUCTURE`, `SIGNATURE`, `CLAIMS`, `ADDRESSING`, `VALIDITY`, `BINDING`, `AUTHENTICATION`, `USER_INFO`, `EMAIL` or `ACCOUNT`.
        step: String = "ADDRESSING".into(),
        /// Reason code of the failure.
        reason: String = "WRONG_AUDIENCE".into(),
        /// Actual and expected value.
        detail: String = "aud is [\"other\"], not \"gatehouse\" alone".into(),
        /// ID of the user, if known.
        user: Option<String> = None,
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    /// A logout token of an OpenID provider was refused. No session was revoked.
    OidcLogoutRefused = "ACCOUNT_OIDC_LOGOUT_REFUSED" (OIDC_PROVIDER, BY_PROVIDER) {
        /// Which check failed: `STRUCTURE`, `SIGNATURE`, `CLAIMS`, `ADDRESSING` or `VALIDITY`.
        step: String = "SIGNATURE".into(),
        /// Reason code of the failure.
        reason: String = "KEY_UNKNOWN".into(),
        /// Actual and expected value.
        detail: String = "the key set has no key \"second\"".into(),
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    /// A user signed in through an OpenID provider for the first time. Other subjects of the user are refused from now on.
    OidcSubjectPinned = "ACCOUNT_OIDC_SUBJECT_PINNED" (USER, BY_PROVIDER) {
        /// `oidc_…`
        provider: String = PROVIDER.into(),
        /// First characters of the SHA-256 of issuer and subject.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    /// An administrator removed the pinned subject of a user. The next sign-in pins a new one.
    OidcSubjectUnpinned = "ACCOUNT_OIDC_SUBJECT_UNPINNED" (USER, BY_USER) {
        /// `oidc_…`
        provider: String = PROVIDER.into(),
        /// First characters of the SHA-256 of issuer and subject.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
}
