//! API shapes of SSO connections with OpenID Connect.

use std::collections::BTreeMap;

use kernel::Timestamp;
use oidc_rp::{Algorithm, ClientAuth, Prompt};
use saml_sp::TenantSetup;
use serde::Serialize;
use sign_in::sso::oidc::{OidcProvider, RelyingParty};
use utoipa::ToSchema;

use crate::api::{openapi::values, settings::saml_providers::views::CertificateView};

/// The OpenID provider, from its metadata.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OidcProviderMetadata)]
struct MetadataView {
    #[schema(format = "uri")]
    authorization_endpoint: String,
    #[schema(format = "uri")]
    token_endpoint: String,
    /// URL of its key set.
    #[schema(format = "uri")]
    jwks_uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    userinfo_endpoint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    end_session_endpoint: Option<String>,
    /// Number of its keys that can verify ID tokens.
    keys: usize,
}

/// State of metadata and keys.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OidcMetadataState)]
struct RefreshView {
    /// When they were last read.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    read_at: Option<Timestamp>,
    /// When reading last failed, if that is later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    failed_at: Option<Timestamp>,
    /// Why the last refresh failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    error: Option<String>,
    /// When they are read next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>, format = "date-time")]
    next_at: Option<Timestamp>,
}

/// Values to enter at the provider.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OidcRelyingParty)]
struct RelyingPartyView {
    /// Also called callback URL.
    #[schema(format = "uri")]
    redirect_uri: String,
    /// Key set for `private_key_jwt`.
    #[schema(format = "uri")]
    jwks_uri: String,
    /// URL that starts a sign-in through this connection.
    #[schema(format = "uri")]
    login_url: String,
    /// URL to which the provider posts logout tokens (Back-Channel Logout).
    #[schema(format = "uri")]
    backchannel_logout_uri: String,
    /// URL to which the provider redirects after a sign-out (RP-Initiated Logout).
    #[schema(format = "uri")]
    post_logout_redirect_uri: String,
    /// Certificates of the keys for `private_key_jwt`, for providers that take certificates; two during a rotation.
    certificates: Vec<CertificateView>,
}

/// An SSO connection with OpenID Connect.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OidcProvider)]
#[expect(clippy::struct_excessive_bools, reason = "settings that do not depend on each other")]
pub(crate) struct OidcProviderView {
    /// `oidc_…`
    id: String,
    name: String,
    /// Domains whose users it may sign in.
    email_domains: Vec<String>,
    /// Those of them that are verified: the sign-in page sends their users to this provider.
    verified_domains: Vec<String>,
    issuer: String,
    client_id: String,
    #[schema(value_type = values::OidcClientAuth)]
    token_endpoint_auth_method: ClientAuth,
    /// Whether a client secret is stored.
    has_client_secret: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client_assertion_audience: Option<String>,
    scopes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<values::OidcPrompt>)]
    prompt: Option<Prompt>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    max_age: Option<u32>,
    acr_values: Vec<String>,
    required_claims: BTreeMap<String, Vec<String>>,
    email_claim: String,
    trust_email_claim: bool,
    use_user_info: bool,
    sign_out_at_provider: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Vec<values::OidcAlgorithm>>)]
    signing_algorithms: Option<Vec<Algorithm>>,
    provider: MetadataView,
    metadata: RefreshView,
    relying_party: RelyingPartyView,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    updated_at: Timestamp,
    /// Problems that the configuration has or will have soon.
    warnings: Vec<String>,
}

impl MetadataView {
    fn of(provider: &OidcProvider) -> Self {
        let metadata = provider.metadata.clone();
        Self {
            authorization_endpoint: metadata.authorization_endpoint,
            token_endpoint: metadata.token_endpoint,
            jwks_uri: metadata.jwks_uri,
            userinfo_endpoint: metadata.userinfo_endpoint,
            end_session_endpoint: metadata.end_session_endpoint,
            keys: provider.provider_keys.len(),
        }
    }
}

impl RefreshView {
    fn of(provider: &OidcProvider) -> Self {
        let refresh = &provider.refresh;
        Self {
            read_at: refresh.read_at,
            failed_at: refresh.failed.as_ref().map(|(at, _)| *at),
            error: refresh.failed.as_ref().map(|(_, problem)| problem.clone()),
            next_at: refresh.next_at,
        }
    }
}

impl RelyingPartyView {
    fn of(base_url: &str, provider: &OidcProvider, now: Timestamp) -> Self {
        let ours = RelyingParty::of(base_url, &provider.id);
        Self {
            redirect_uri: ours.redirect_uri,
            jwks_uri: ours.jwks_uri,
            login_url: ours.login_url,
            backchannel_logout_uri: ours.backchannel_logout_uri,
            post_logout_redirect_uri: ours.post_logout_redirect_uri,
            certificates: CertificateView::ours(&provider.keys, now),
        }
    }
}

impl OidcProviderView {
    pub(crate) fn of(base_url: &str, provider: &OidcProvider, tenant: &TenantSetup, now: Timestamp) -> Self {
        let verified = provider.email_domains.iter().filter(|domain| tenant.verified.contains(*domain));
        let settings = provider.settings.clone();
        Self {
            id: provider.id.to_string(),
            name: provider.name.clone(),
            email_domains: provider.email_domains.iter().map(ToString::to_string).collect(),
            verified_domains: verified.map(ToString::to_string).collect(),
            issuer: provider.metadata.issuer.clone(),
            client_id: settings.client_id,
            token_endpoint_auth_method: settings.token_endpoint_auth_method,
            has_client_secret: provider.client_secret.is_some(),
            client_assertion_audience: settings.client_assertion_audience,
            scopes: settings.scopes,
            prompt: settings.prompt,
            max_age: settings.max_age,
            acr_values: settings.acr_values,
            required_claims: settings.required_claims,
            email_claim: settings.email_claim,
            trust_email_claim: settings.trust_email_claim,
            use_user_info: settings.use_user_info,
            sign_out_at_provider: settings.sign_out_at_provider,
            signing_algorithms: settings.signing_algorithms,
            provider: MetadataView::of(provider),
            metadata: RefreshView::of(provider),
            relying_party: RelyingPartyView::of(base_url, provider, now),
            created_at: provider.created_at,
            updated_at: provider.updated_at,
            warnings: provider.warnings(tenant, now),
        }
    }
}
