//! Sign-ins through identity providers, and the domains that lead to them.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::event;

const PROVIDER: &str = "sso_01jz000000000000000000000001jz5555555555555555555555";
const ADMINISTRATOR: (&str, &str) = ("usr_01jz2222222222222222222222", "USER");
const BY_PROVIDER: (&str, &str) = (PROVIDER, "SAML");
const SYSTEM: (&str, &str) = ("saml", "SYSTEM");

/// Defines an event of this area: its type, code, description, resource, who acts in the example, fields with examples.
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
    SamlProviderCreated "ACCOUNT_SAML_PROVIDER_CREATED" "An identity provider was set up." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// Its entity id.
        entity_id: String = "https://idp.example.com/saml".into(),
        /// Whose addresses it may speak for.
        email_domains: Vec<String> = vec!["example.com".into()],
        /// SHA-256 of its signing certificates.
        certificates: Vec<String> = vec!["6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into()],
    }
    SamlProviderUpdated "ACCOUNT_SAML_PROVIDER_UPDATED" "An identity provider was changed: by an administrator, or by its metadata." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["certificates".into()],
        /// SHA-256 of its signing certificates from now on.
        certificates: Vec<String> = vec!["6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into()],
    }
    SamlProviderDeleted "ACCOUNT_SAML_PROVIDER_DELETED" "An identity provider was removed. Sessions that it began go on." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// Its entity id.
        entity_id: String = "https://idp.example.com/saml".into(),
    }
    SamlProviderKeyRotated "ACCOUNT_SAML_PROVIDER_KEY_ROTATED" "This service's key for an identity provider is being replaced, or was." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// `STARTED`: the next certificate stands in the metadata. `COMPLETED`: it signs, and the one before is gone.
        phase: String = "STARTED".into(),
        /// SHA-256 of the next certificate.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    SamlProviderTested "ACCOUNT_SAML_PROVIDER_TESTED" "Somebody tested the connection to an identity provider; nobody was signed in." ("saml_provider", PROVIDER, ADMINISTRATOR) {
        /// `try_…`
        test: String = "try_01jz6666666666666666666666".into(),
    }
    SamlProviderCertificateExpiring "ACCOUNT_SAML_PROVIDER_CERTIFICATE_EXPIRING" "The last signing certificate of an identity provider ends soon: from then on nobody can sign in through it. Told 30, 7 and 1 days before." ("saml_provider", PROVIDER, SYSTEM) {
        /// When the certificate expires.
        expires_at: String = "2026-03-01T00:00:00.000Z".into(),
        /// Days before that at which this is told.
        days: i64 = 30,
        /// SHA-256 of the certificate.
        certificate: String = "6b1c0e6a0d5b6f5c6c55a4a1d6dfd6b8f2f3e9c1d1a1b1c1d1e1f1a1b1c1d1e1".into(),
    }
    SamlSignInRefused "ACCOUNT_SAML_SIGN_IN_REFUSED" "A response of an identity provider was not believed, or led to nobody who may sign in." ("saml_provider", PROVIDER, BY_PROVIDER) {
        /// Which check failed: `ENCODING`, `XML`, `STRUCTURE`, `SIGNATURE`, `DECRYPTION`, `STATUS`, `ADDRESSING`, `CONDITIONS`, `SUBJECT`, `REQUEST`, `REPLAY`, `EMAIL` or `ACCOUNT`.
        step: String = "SIGNATURE".into(),
        /// Reason code of the failure.
        reason: String = "SIGNATURE_INVALID".into(),
        /// What was found, and what was expected.
        detail: String = "the signature of Assertion was made by none of the pinned certificates".into(),
        /// The person it is about, where that is known.
        user: Option<String> = None,
        /// In a closing entry alone: how many more like this were refused, and left out, in the 10 seconds before.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    SamlSubjectPinned "ACCOUNT_SAML_SUBJECT_PINNED" "A user signed in with a persistent NameID for the first time: other NameIDs are refused from now on." ("user", ADMINISTRATOR.0, BY_PROVIDER) {
        /// `sso_…`
        provider: String = PROVIDER.into(),
        /// The beginning of the NameID's SHA-256.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    SamlSubjectUnpinned "ACCOUNT_SAML_SUBJECT_UNPINNED" "An administrator removed the NameID that was pinned to a user: the next sign-in pins another." ("user", ADMINISTRATOR.0, ADMINISTRATOR) {
        /// `sso_…`
        provider: String = PROVIDER.into(),
        /// The beginning of the NameID's SHA-256.
        subject: String = "sha256:9f86d081884c7d65".into(),
    }
    DomainProofLost "ACCOUNT_DOMAIN_PROOF_LOST" "The DNS record of a verified domain is missing. If it is still missing after 7 days, the domain is unverified." ("domain", "example.com", SYSTEM) {
        /// The record that is missing.
        record: String = "_gatehouse.example.com".into(),
    }
    DomainUnverified "ACCOUNT_DOMAIN_UNVERIFIED" "A domain is not verified any more: its DNS record was missing for 7 days." ("domain", "example.com", SYSTEM) {
        /// Since when the record was missing.
        missing_since: String = "2026-03-01T00:00:00.000Z".into(),
    }
    DomainVerified "ACCOUNT_DOMAIN_VERIFIED" "A domain was proved to be the tenant's." ("domain", "example.com", ADMINISTRATOR) {
        /// `DNS` or `OPERATOR`.
        method: String = "DNS".into(),
    }
    DomainRemoved "ACCOUNT_DOMAIN_REMOVED" "The tenant gave up a domain that it had proved to be its own." ("domain", "example.com", ADMINISTRATOR) {}
}
