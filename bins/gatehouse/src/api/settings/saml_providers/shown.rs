//! Identity providers as administrators are shown them.

use crate::api::openapi::values;
use kernel::Timestamp;
use saml_sp::{AttributeMapping, Certificate, Provider, ServiceProvider, Source};
use serde::Serialize;
use utoipa::ToSchema;

use super::findings::{ProviderContext, Status, warnings};

/// A certificate, of either side.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlCertificate)]
pub(crate) struct ShownCertificate {
    /// SHA-256 of its DER form, in lower-case hexadecimal.
    fingerprint: String,
    /// Whose it says it is.
    subject: String,
    #[schema(value_type = String, format = "date-time")]
    not_before: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    not_after: Timestamp,
    status: Status,
    /// Of this service's own: `ACTIVE` signs, `NEXT` will once a rotation is completed. Both decrypt.
    #[serde(rename = "use", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::SamlKeyUse>)]
    used: Option<&'static str>,
    pem: String,
}

impl ShownCertificate {
    fn of(certificate: &Certificate, now: Timestamp, used: Option<&'static str>) -> Self {
        Self {
            fingerprint: certificate.fingerprint(),
            subject: certificate.subject().to_owned(),
            not_before: certificate.not_before(),
            not_after: certificate.not_after(),
            status: Status::of(certificate, now),
            used,
            pem: certificate.pem(),
        }
    }
}

/// How metadata is doing.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlMetadataState)]
pub(crate) struct ShownMetadata {
    /// When it was last read.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    read_at: Option<Timestamp>,
    /// When it was last looked at in vain, if that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    failed_at: Option<Timestamp>,
    /// Why the last refresh failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// When it is looked at next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    next_at: Option<Timestamp>,
    /// Until when it says it is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    valid_until: Option<Timestamp>,
}

impl ShownMetadata {
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

/// Where claims are found.
#[derive(Serialize, serde::Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SamlAttributeMapping)]
pub(crate) struct Mapping {
    /// Name of the attribute that holds the e-mail address. Without it: the NameID where its format is that of addresses, else the
    /// attributes that are usually called so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::TrimmedWord>)]
    email: Option<String>,
}

impl From<Mapping> for AttributeMapping {
    fn from(mapping: Mapping) -> Self {
        Self { email: mapping.email }
    }
}

/// What an identity provider has to know of this side.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlServiceProvider)]
pub(crate) struct ShownService {
    /// Also called audience, or identifier.
    entity_id: String,
    /// The assertion consumer service (HTTP-POST): also called reply address, or single sign-on address.
    #[schema(format = "uri")]
    acs_url: String,
    /// All of this as metadata.
    #[schema(format = "uri")]
    metadata_url: String,
    /// Where a sign-in through this provider begins.
    #[schema(format = "uri")]
    login_url: String,
    /// Those of all keys in use: two during a rotation.
    certificates: Vec<ShownCertificate>,
}

/// Where a sign-in through a provider begins.
pub(crate) fn login_url(base_url: &str, provider: &Provider) -> String {
    format!("{base_url}/api/saml/{}/login", provider.id)
}

impl ShownService {
    fn of(base_url: &str, provider: &Provider, now: Timestamp) -> Self {
        let service = ServiceProvider::of(base_url, &provider.id);
        let (active, next) = (&provider.keys.active, &provider.keys.next);
        let active = ShownCertificate::of(&active.certificate, now, Some("ACTIVE"));
        let next = next.as_ref().map(|key| ShownCertificate::of(&key.certificate, now, Some("NEXT")));
        Self {
            metadata_url: service.entity_id.clone(),
            entity_id: service.entity_id,
            acs_url: service.acs_url,
            login_url: login_url(base_url, provider),
            certificates: std::iter::once(active).chain(next).collect(),
        }
    }
}

/// An identity provider.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SamlProvider)]
pub(crate) struct ShownProvider {
    /// `sso_…`
    id: String,
    name: String,
    /// Addresses of these domains it may speak for.
    email_domains: Vec<String>,
    /// Those of them that the tenant has proved: people of them are led here from the e-mail field.
    verified_domains: Vec<String>,
    /// The issuer of its assertions.
    entity_id: String,
    /// Its single sign-on service with the HTTP-POST binding.
    #[schema(format = "uri")]
    sso_url: String,
    /// Its signing certificates, pinned: what one of them has signed is believed, and nothing else.
    certificates: Vec<ShownCertificate>,
    /// `METADATA_XML`, `METADATA_URL` or `FIELDS`.
    #[schema(value_type = values::SamlSource)]
    source: &'static str,
    /// Read again every six hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    metadata_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    metadata: Option<ShownMetadata>,
    attribute_mapping: Mapping,
    sign_requests: bool,
    force_authn: bool,
    authn_contexts: Vec<String>,
    service_provider: ShownService,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    updated_at: Timestamp,
    /// What may not be meant, or not for long.
    warnings: Vec<String>,
}

impl ShownProvider {
    pub(crate) fn of(base_url: &str, provider: &Provider, around: &ProviderContext, now: Timestamp) -> Self {
        let (source, metadata_url) = match &provider.source {
            Source::MetadataXml => ("METADATA_XML", None),
            Source::MetadataUrl(url) => ("METADATA_URL", Some(url.clone())),
            Source::Fields => ("FIELDS", None),
        };
        let verified = provider.email_domains.iter().filter(|domain| around.verified.contains(*domain));
        let certificates = provider.idp.certificates.iter();
        Self {
            id: provider.id.to_string(),
            name: provider.name.clone(),
            email_domains: provider.email_domains.iter().map(ToString::to_string).collect(),
            verified_domains: verified.map(ToString::to_string).collect(),
            entity_id: provider.idp.entity_id.clone(),
            sso_url: provider.idp.sso_url.clone(),
            certificates: certificates.map(|one| ShownCertificate::of(one, now, None)).collect(),
            source,
            metadata_url,
            metadata: ShownMetadata::of(provider),
            attribute_mapping: Mapping { email: provider.mapping.email.clone() },
            sign_requests: provider.sign_requests,
            force_authn: provider.force_authn,
            authn_contexts: provider.authn_contexts.clone(),
            service_provider: ShownService::of(base_url, provider, now),
            created_at: provider.created_at,
            updated_at: provider.updated_at,
            warnings: warnings(provider, around, now),
        }
    }
}
