//! SSO connections, SAML sign-ins and verified domains.

use super::define::{Actor, BY_USER, Resource, USER, events};

const PROVIDER: &str = "sso_01jz000000000000000000000001jz4444444444444444444444";
const SAML_PROVIDER: Resource = ("saml_provider", PROVIDER);
const DOMAIN: Resource = ("domain", "example.com");
const BY_PROVIDER: Actor = (PROVIDER, "SAML");
const BY_SYSTEM: Actor = ("saml", "SYSTEM");

events! {
    /// An SSO connection was added.
    SamlProviderCreated = "ACCOUNT_SAML_PROVIDER_CREATED" (SAML_PROVIDER, BY_USER) {
        /// Entity ID of the identity provider.
        entity_id: String = "https://idp.example.com/saml".into(),
        /// Email domains of the connection.
        email_domains: Vec<String> = vec!["example.com".into()],
        /// SHA-256 of its signing certificates.
        certificates: Vec<String> = vec!["6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into()],
    }
    /// An SSO connection was changed by an administrator or by its metadata.
    SamlProviderUpdated = "ACCOUNT_SAML_PROVIDER_UPDATED" (SAML_PROVIDER, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["certificates".into()],
        /// SHA-256 of the new signing certificates.
        certificates: Vec<String> = vec!["6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into()],
    }
    /// An SSO connection was removed. Its sessions continue.
    SamlProviderDeleted = "ACCOUNT_SAML_PROVIDER_DELETED" (SAML_PROVIDER, BY_USER) {
        /// Entity ID of the identity provider.
        entity_id: String = "https://idp.example.com/saml".into(),
    }
    /// A rotation of the service provider's key was started or completed.
    SamlProviderKeyRotated = "ACCOUNT_SAML_PROVIDER_KEY_ROTATED" (SAML_PROVIDER, BY_USER) {
        /// `STARTED`: the metadata lists the next certificate. `COMPLETED`: the next certificate signs and the previous one is removed.
        phase: String = "STARTED".into(),
        /// SHA-256 of the next certificate.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    /// An SSO connection was tested.
    SamlProviderTested = "ACCOUNT_SAML_PROVIDER_TESTED" (SAML_PROVIDER, BY_USER) {
        /// `try_…`
        test: String = "try_01jz6666666666666666666666".into(),
    }
    /// The last signing certificate of an SSO connection expires soon. Sent 30, 7 and 1 days before; afterwards nobody can sign in through it.
    SamlProviderCertificateExpiring = "ACCOUNT_SAML_PROVIDER_CERTIFICATE_EXPIRING" (SAML_PROVIDER, BY_SYSTEM) {
        /// When the certificate expires.
        expires_at: String = "2026-03-01T00:00:00.000Z".into(),
        /// Days before the expiry.
        days: i64 = 30,
        /// SHA-256 of the certificate.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    /// A SAML response was refused, or its user may not sign in.
    SamlSignInRefused = "ACCOUNT_SAML_SIGN_IN_REFUSED" (SAML_PROVIDER, BY_PROVIDER) {
        /// Which check failed: `ENCODING`, `XML`, `STRUCTURE`, `SIGNATURE`, `DECRYPTION`, `STATUS`, `ADDRESSING`, `CONDITIONS`, `SUBJECT`, `REQUEST`, `REPLAY`, `EMAIL` or `ACCOUNT`.
        step: String = "SIGNATURE".into(),
        /// Reason code of the failure.
        reason: String = "SIGNATURE_INVALID".into(),
        /// Actual and expected value.
        detail: String = "no pinned certificate verifies the signature of Assertion".into(),
        /// ID of the user, if known.
        user: Option<String> = None,
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    /// A SAML logout message was refused. No session was revoked.
    SamlLogoutRefused = "ACCOUNT_SAML_LOGOUT_REFUSED" (SAML_PROVIDER, BY_PROVIDER) {
        /// Which check failed: `ENCODING`, `XML`, `STRUCTURE`, `SIGNATURE`, `DECRYPTION`, `ADDRESSING`, `CONDITIONS` or `REPLAY`.
        step: String = "SIGNATURE".into(),
        /// Reason code of the failure.
        reason: String = "UNSIGNED".into(),
        /// Actual and expected value.
        detail: String = "the LogoutRequest is not signed".into(),
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    /// A user signed in with a persistent NameID for the first time. Other NameIDs of the user are refused from now on.
    SamlSubjectPinned = "ACCOUNT_SAML_SUBJECT_PINNED" (USER, BY_PROVIDER) {
        /// `sso_…`
        provider: String = PROVIDER.into(),
        /// First characters of the SHA-256 of the NameID.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    /// An administrator removed the pinned NameID of a user. The next sign-in pins a new one.
    SamlSubjectUnpinned = "ACCOUNT_SAML_SUBJECT_UNPINNED" (USER, BY_USER) {
        /// `sso_…`
        provider: String = PROVIDER.into(),
        /// First characters of the SHA-256 of the NameID.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    /// The DNS record of a verified domain is missing. If it is still missing after 7 days, the domain is unverified.
    DomainProofLost = "ACCOUNT_DOMAIN_PROOF_LOST" (DOMAIN, BY_SYSTEM) {
        /// Name of the missing DNS record.
        record: String = "_gatehouse.example.com".into(),
    }
    /// A domain is no longer verified, because its DNS record was missing for 7 days.
    DomainUnverified = "ACCOUNT_DOMAIN_UNVERIFIED" (DOMAIN, BY_SYSTEM) {
        /// Time since which the record was missing.
        missing_since: String = "2026-03-01T00:00:00.000Z".into(),
    }
    /// A domain was verified.
    DomainVerified = "ACCOUNT_DOMAIN_VERIFIED" (DOMAIN, BY_USER) {
        /// `DNS` or `OPERATOR`.
        method: String = "DNS".into(),
    }
    /// A verified domain was released.
    DomainRemoved = "ACCOUNT_DOMAIN_REMOVED" (DOMAIN, BY_USER) {}
}
