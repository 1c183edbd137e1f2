//! SSO connections, SAML sign-ins and verified domains.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::event;

const PROVIDER: &str = "sso_01jz000000000000000000000001jz4444444444444444444444";
const ADMINISTRATOR: (&str, &str) = ("usr_01jz2222222222222222222222", "USER");
const BY_PROVIDER: (&str, &str) = (PROVIDER, "SAML");
const SYSTEM: (&str, &str) = ("saml", "SYSTEM");

/// Defines an event: type, code, description, resource, actor of the example, fields with examples.
macro_rules! about_saml {
    ($($name:ident $code:literal $description:literal ($resource:literal, $id:expr, $actor:expr) {
        $($(#[$doc:meta])+ $field:ident: $kind:ty = $example:expr,)*
    })+) => { $(
        #[doc = $description]
        #[derive(Debug, Clone, Serialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($(#[$doc])+ pub $field: $kind,)* }

        event! { $name = $code, about ($resource, $id), by $actor; $description; Self { $($field: $example,)* } }
    )+ };
}

about_saml! {
    SamlProviderCreated "ACCOUNT_SAML_PROVIDER_CREATED" "An SSO connection was added." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// Entity ID of the identity provider.
        entity_id: String = "https://idp.example.com/saml".into(),
        /// Email domains of the connection.
        email_domains: Vec<String> = vec!["example.com".into()],
        /// SHA-256 of its signing certificates.
        certificates: Vec<String> = vec!["6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into()],
    }
    SamlProviderUpdated "ACCOUNT_SAML_PROVIDER_UPDATED" "An SSO connection was changed by an administrator or by its metadata." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["certificates".into()],
        /// SHA-256 of the new signing certificates.
        certificates: Vec<String> = vec!["6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into()],
    }
    SamlProviderDeleted "ACCOUNT_SAML_PROVIDER_DELETED" "An SSO connection was removed. Its sessions continue." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// Entity ID of the identity provider.
        entity_id: String = "https://idp.example.com/saml".into(),
    }
    SamlProviderKeyRotated "ACCOUNT_SAML_PROVIDER_KEY_ROTATED" "A rotation of the service provider's key was started or completed." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// `STARTED`: the metadata lists the next certificate. `COMPLETED`: the next certificate signs and the previous one is removed.
        phase: String = "STARTED".into(),
        /// SHA-256 of the next certificate.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    SamlProviderTested "ACCOUNT_SAML_PROVIDER_TESTED" "An SSO connection was tested." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// `try_…`
        test: String = "try_01jz6666666666666666666666".into(),
    }
    SamlProviderCertificateExpiring "ACCOUNT_SAML_PROVIDER_CERTIFICATE_EXPIRING" "The last signing certificate of an SSO connection expires soon. Sent 30, 7 and 1 days before; afterwards nobody can sign in through it." ("saml_provider", PROVIDER, SYSTEM) {
        /// When the certificate expires.
        expires_at: String = "2026-03-01T00:00:00.000Z".into(),
        /// Days before the expiry.
        days: i64 = 30,
        /// SHA-256 of the certificate.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    SamlSignInRefused "ACCOUNT_SAML_SIGN_IN_REFUSED" "A SAML response was refused, or its user may not sign in." ("saml_provider", PROVIDER, BY_PROVIDER) {
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
    SamlSubjectPinned "ACCOUNT_SAML_SUBJECT_PINNED" "A user signed in with a persistent NameID for the first time. Other NameIDs of the user are refused from now on." ("user", ADMINISTRATOR.0, BY_PROVIDER) {
        /// `sso_…`
        provider: String = PROVIDER.into(),
        /// First characters of the SHA-256 of the NameID.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    SamlSubjectUnpinned "ACCOUNT_SAML_SUBJECT_UNPINNED" "An administrator removed the pinned NameID of a user. The next sign-in pins a new one." ("user", ADMINISTRATOR.0, ADMINISTRATOR) {
        /// `sso_…`
        provider: String = PROVIDER.into(),
        /// First characters of the SHA-256 of the NameID.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    DomainProofLost "ACCOUNT_DOMAIN_PROOF_LOST" "The DNS record of a verified domain is missing. If it is still missing after 7 days, the domain is unverified." ("domain", "example.com", SYSTEM) {
        /// Name of the missing DNS record.
        record: String = "_gatehouse.example.com".into(),
    }
    DomainUnverified "ACCOUNT_DOMAIN_UNVERIFIED" "A domain is no longer verified, because its DNS record was missing for 7 days." ("domain", "example.com", SYSTEM) {
        /// Time since which the record was missing.
        missing_since: String = "2026-03-01T00:00:00.000Z".into(),
    }
    DomainVerified "ACCOUNT_DOMAIN_VERIFIED" "A domain was verified." ("domain", "example.com", ADMINISTRATOR) {
        /// `DNS` or `OPERATOR`.
        method: String = "DNS".into(),
    }
    DomainRemoved "ACCOUNT_DOMAIN_REMOVED" "A verified domain was released." ("domain", "example.com", ADMINISTRATOR) {}
}
