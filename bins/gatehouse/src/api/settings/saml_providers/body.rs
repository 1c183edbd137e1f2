//! Reads the settings of an SSO connection from a request body, fetches its metadata, and generates its keys.

use credentials::attempts;
use saml_sp::{
    MetadataSource, OtherSide, ProviderChange, ProviderError, ProviderId, ResolvedMetadata, SealedKey,
    SuppliedMetadata,
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::views::Mapping;
use crate::api::{Call, settings::webhooks::some};
use crate::{
    api::{openapi::values, saml::service_of},
    metadata,
};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
};

/// Settings of an SSO connection. The identity provider is given by `metadataXml`, by `metadataUrl`, or by `entityId`, `ssoUrl` and
/// `certificates`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = SamlProviderBody)]
pub(crate) struct ProviderBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::TrimmedName)]
    name: String,
    /// 1 to 100 email domains. No other SSO connection of the tenant can have them.
    #[schema(value_type = Vec<values::EmailDomain>, min_items = 1, max_items = 100)]
    email_domains: Vec<String>,
    /// SAML metadata: an EntityDescriptor of at most 512 KiB.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false)]
    metadata_xml: Option<String>,
    /// URL of the metadata, fetched now and every six hours. `https`, at a public address.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, format = "uri")]
    metadata_url: Option<String>,
    /// The issuer of its assertions.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, min_length = 1, max_length = 1024)]
    entity_id: Option<String>,
    /// Single sign-on URL (HTTP-POST binding). `https`.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, format = "uri")]
    sso_url: Option<String>,
    /// 1 to 10 signing certificates: PEM, or base64 of the DER form. Keys are RSA of at least 2048 bits, or ECDSA.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, min_items = 1, max_items = 10)]
    certificates: Option<Vec<String>>,
    #[serde(default)]
    attribute_mapping: Mapping,
    /// Whether to sign requests.
    #[serde(default = "yes")]
    #[schema(default = true)]
    sign_requests: bool,
    /// Whether users must authenticate again at each sign-in (`ForceAuthn`).
    #[serde(default)]
    force_authn: bool,
    /// Whether a sign-out continues at the identity provider, if its metadata has a SingleLogoutService.
    #[serde(default)]
    sign_out_at_provider: bool,
    /// Requested authentication contexts (exact comparison): at most 10 URIs. Default: any.
    #[serde(default)]
    #[schema(max_items = 10)]
    authn_contexts: Vec<String>,
}

fn yes() -> bool {
    true
}

impl ProviderBody {
    /// Splits the body into settings and metadata source. Checks only that the metadata source is given in exactly
    /// one way.
    pub(crate) fn read(self) -> Result<(ProviderChange, Option<MetadataSource>), ProviderError> {
        let supplied = SuppliedMetadata {
            metadata_xml: self.metadata_xml,
            metadata_url: self.metadata_url,
            entity_id: self.entity_id,
            sso_url: self.sso_url,
            certificates: self.certificates,
        };
        let change = ProviderChange {
            name: self.name,
            email_domains: self.email_domains,
            mapping: self.attribute_mapping.into(),
            sign_requests: self.sign_requests,
            force_authn: self.force_authn,
            sign_out_at_provider: self.sign_out_at_provider,
            authn_contexts: self.authn_contexts,
        };
        Ok((change, supplied.source()?))
    }
}

/// Checks the identity provider's side. Fetches a metadata URL outside of any transaction.
pub(crate) async fn known(
    call: &Call<InPerson<ManageConnections>>,
    given: MetadataSource,
) -> Result<ResolvedMetadata, Problem> {
    let other = match given {
        MetadataSource::Here(other) => other,
        MetadataSource::At(url) => {
            let client = &call.site.webhooks.client;
            let problem = |problem: String| Problem::invalid_request(format!("metadataUrl: {problem}"));
            let target = metadata::target(client, &url).map_err(problem)?;
            call.attempt(attempts::look_up(call.tenant())).await?;
            let read = call.without_slot(metadata::read(client, target.as_str())).await?;
            OtherSide::MetadataUrl { url: target.as_str().to_owned(), text: read.map_err(problem)? }
        }
    };
    Ok(other.checked(call.ctx().now)?)
}

/// Generates a key for an SSO connection, outside of the request threads.
pub(crate) async fn new_key(
    call: &Call<InPerson<ManageConnections>>,
    id: &ProviderId,
) -> Result<SealedKey, Problem> {
    let (seal, entity_id) = (call.site.pipeline.keys.saml(), service_of(&call.site, id).entity_id);
    let (id, now) = (id.clone(), call.ctx().now);
    let work = move || SealedKey::generate(&seal, &id, &entity_id, now);
    call.without_slot(call.site.saml.compute(work)).await??.map_err(Problem::unexpected)
}
