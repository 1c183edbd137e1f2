//! API shapes of SSO connections.

use crate::api::openapi::values;
use kernel::Timestamp;
use saml_sp::{
    AttributeMapping, Certificate, CertificateStatus, OurKeys, Provider, ServiceProvider, Source, TenantSetup,
};
use serde::Serialize;
use utoipa::ToSchema;

/// A certificate of the identity provider or the service provider.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlCertificate)]
pub(crate) struct CertificateView {
    /// SHA-256 of its DER form, in lower-case hexadecimal.
    fingerprint: String,
    /// Subject of the certificate.
    subject: String,
    #[schema(value_type = String, format = "date-time")]
    not_before: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    not_after: Timestamp,
    status: CertificateStatus,
    /// For certificates of the service provider: `ACTIVE` signs; `NEXT` signs once the rotation is completed. Both decrypt.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::SamlKeyUse>)]
    used: Option<&'static str>,
    pem: String,
}

impl CertificateView {
    /// Returns the certificates of our keys of a connection, the active one first.
    pub(crate) fn ours(keys: &OurKeys, now: Timestamp) -> Vec<Self> {
        let active = Self::of(&keys.active.certificate, now, Some("ACTIVE"));
        let next = keys.next.as_ref().map(|key| Self::of(&key.certificate, now, Some("NEXT")));
        std::iter::once(active).chain(next).collect()
    }

    fn of(certificate: &Certificate, now: Timestamp, used: Option<&'static str>) -> Self {
        Self {
            fingerprint: certificate.fingerprint(),
            subject: certificate.subject().to_owned(),
            not_before: certificate.not_before(),
            not_after: certificate.not_after(),
            status: CertificateStatus::of(certificate, now),
            used,
            pem: certificate.pem(),
        }
    }
}

/// State of the metadata.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlMetadataState)]
pub(crate) struct MetadataView {
    /// When it was last fetched.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    read_at: Option<Timestamp>,
    /// When fetching last failed, if that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    failed_at: Option<Timestamp>,
    /// Why the last refresh failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// When it is fetched next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    next_at: Option<Timestamp>,
    /// `validUntil` of the metadata.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    valid_until: Option<Timestamp>,
}

impl MetadataView {
    fn of(provider: &Provider) -> Option<Self> {
        let refresh = &provider.refresh;
        let shown = Self {
            read_at: refresh.read_at,
            failed_at: refresh.failed.as_ref().map(|(at, _)| *at),
            error: refresh.failed.as_ref().map(|(_, problem)| problem.clone()),
            next_at: refresh.next_at,
            valid_until: provider.valid_until,
        };
        (provider.source != Source::Fields).then_some(shown)
    }
}

/// Which attributes contain claims.
#[derive(Serialize, serde::Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SamlAttributeMapping)]
pub(crate) struct Mapping {
    /// Attribute with the email address. Default: the NameID if its format is emailAddress, else commonly used attribute names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::TrimmedWord>)]
    email: Option<String>,
}

impl From<Mapping> for AttributeMapping {
    fn from(mapping: Mapping) -> Self {
        Self { email: mapping.email }
    }
}

/// Values to enter at the identity provider.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlServiceProvider)]
pub(crate) struct ServiceView {
    /// Also called audience or identifier.
    entity_id: String,
    /// Assertion consumer service (HTTP-POST). Also called reply URL or single sign-on URL.
    #[schema(format = "uri")]
    acs_url: String,
    /// Single logout service (HTTP-POST and HTTP-Redirect).
    #[schema(format = "uri")]
    slo_url: String,
    /// Service provider metadata.
    #[schema(format = "uri")]
    metadata_url: String,
    /// URL that starts a sign-in through this connection.
    #[schema(format = "uri")]
    login_url: String,
    /// Certificates of all keys in use; two during a rotation.
    certificates: Vec<CertificateView>,
}

/// Returns the URL that starts a sign-in through an SSO connection.
pub(crate) fn login_url(base_url: &str, provider: &Provider) -> String {
    format!("{base_url}/api/saml/{}/login", provider.id)
}

impl ServiceView {
    fn of(base_url: &str, provider: &Provider, now: Timestamp) -> Self {
        let service = ServiceProvider::of(base_url, &provider.id);
        Self {
            metadata_url: service.entity_id.clone(),
            entity_id: service.entity_id,
            acs_url: service.acs_url,
            slo_url: service.slo_url,
            login_url: login_url(base_url, provider),
            certificates: CertificateView::ours(&provider.keys, now),
        }
    }
}

/// An SSO connection.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlProvider)]
pub(crate) struct ProviderView {
    /// `sso_…`
    id: String,
    name: String,
    /// Domains whose users it may sign in.
    email_domains: Vec<String>,
    /// Those of them that are verified: the sign-in page sends their users to this identity provider.
    verified_domains: Vec<String>,
    /// The issuer of its assertions.
    entity_id: String,
    /// Single sign-on URL.
    #[schema(format = "uri")]
    sso_url: String,
    /// `HTTP-POST` or `HTTP-Redirect`.
    #[schema(value_type = values::SamlBinding)]
    sso_binding: &'static str,
    /// Single logout URL, if the metadata has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    slo_url: Option<String>,
    /// Pinned signing certificates. Only signatures of their keys are accepted.
    certificates: Vec<CertificateView>,
    /// `METADATA_XML`, `METADATA_URL` or `FIELDS`.
    #[schema(value_type = values::SamlSource)]
    source: &'static str,
    /// Fetched every six hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    metadata_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    metadata: Option<MetadataView>,
    attribute_mapping: Mapping,
    sign_requests: bool,
    force_authn: bool,
    sign_out_at_provider: bool,
    authn_contexts: Vec<String>,
    service_provider: ServiceView,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    updated_at: Timestamp,
    /// Problems that the configuration has or will have soon.
    warnings: Vec<String>,
}

impl ProviderView {
    pub(crate) fn of(base_url: &str, provider: &Provider, tenant: &TenantSetup, now: Timestamp) -> Self {
        let (source, metadata_url) = match &provider.source {
            Source::MetadataXml => ("METADATA_XML", None),
            Source::MetadataUrl(url) => ("METADATA_URL", Some(url.clone())),
            Source::Fields => ("FIELDS", None),
        };
        let verified = provider.email_domains.iter().filter(|domain| tenant.verified.contains(*domain));
        let certificates = provider.idp.certificates.iter();
        Self {
            id: provider.id.to_string(),
            name: provider.name.clone(),
            email_domains: provider.email_domains.iter().map(ToString::to_string).collect(),
            verified_domains: verified.map(ToString::to_string).collect(),
            entity_id: provider.idp.entity_id.clone(),
            sso_url: provider.idp.sso_url.clone(),
            sso_binding: provider.idp.sso_binding.as_str(),
            slo_url: provider.idp.logout.as_ref().map(|service| service.location.clone()),
            certificates: certificates.map(|one| CertificateView::of(one, now, None)).collect(),
            source,
            metadata_url,
            metadata: MetadataView::of(provider),
            attribute_mapping: Mapping { email: provider.mapping.email.clone() },
            sign_requests: provider.sign_requests,
            force_authn: provider.force_authn,
            sign_out_at_provider: provider.sign_out_at_provider,
            authn_contexts: provider.authn_contexts.clone(),
            service_provider: ServiceView::of(base_url, provider, now),
            created_at: provider.created_at,
            updated_at: provider.updated_at,
            warnings: provider.warnings(tenant, now),
        }
    }
}
