//! Reads the settings of an SSO connection with OpenID Connect from a request body.

use std::collections::BTreeMap;

use credentials::attempts;
use kernel::Secret;
use oidc_rp::{Algorithm, ClientAuth, Prompt};
use saml_sp::{KeyError, ProviderError, ProviderId, field, is_printable};
use serde::Deserialize;
use sign_in::sso::oidc::{Discovered, OidcChange, OidcProvider, OidcSettings, SealedSecret};
use utoipa::ToSchema;

use crate::{
    api::{Call, openapi::values, settings::webhooks::some},
    oidc_client,
};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
};

/// Maximum length of a client secret in characters.
const MAX_SECRET: usize = 1024;

/// Settings of an SSO connection with OpenID Connect. The provider's metadata is read from the issuer.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = OidcProviderBody)]
pub(crate) struct OidcProviderBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::TrimmedName)]
    name: String,
    /// 1 to 100 email domains. No other SSO connection of the tenant can have them.
    #[schema(value_type = Vec<values::EmailDomain>, min_items = 1, max_items = 100)]
    email_domains: Vec<String>,
    /// Issuer, exactly as the provider names it. `https`, at a public address.
    #[schema(format = "uri", max_length = 2048)]
    issuer: String,
    /// Client ID at the provider.
    #[schema(value_type = values::TrimmedWord)]
    client_id: String,
    /// How this service authenticates at the token endpoint. Default: `client_secret_basic`.
    #[serde(default = "basic")]
    #[schema(value_type = values::OidcClientAuth, default = "client_secret_basic")]
    token_endpoint_auth_method: ClientAuth,
    /// Client secret. If it is omitted on a change, the stored one stays, unless issuer or client ID change.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, min_length = 1, max_length = 1024, write_only)]
    client_secret: Option<String>,
    /// Audience of client assertions (`private_key_jwt`). Default: the issuer.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, min_length = 1, max_length = 1024)]
    client_assertion_audience: Option<String>,
    /// Requested scopes besides `openid`. Default: `email` and `profile`.
    #[serde(default = "usual_scopes")]
    #[schema(max_items = 20, value_type = Vec<values::TrimmedWord>)]
    scopes: Vec<String>,
    /// `login`, `select_account` or `consent`.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, value_type = Option<values::OidcPrompt>)]
    prompt: Option<Prompt>,
    /// How long ago the user may have signed in at the provider, in seconds.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, maximum = 31_536_000)]
    max_age: Option<u32>,
    /// Accepted authentication context classes, which are also requested. Default: any.
    #[serde(default)]
    #[schema(max_items = 10, value_type = Vec<values::TrimmedWord>)]
    acr_values: Vec<String>,
    /// Claims that must have one of these values, such as `{"hd": ["example.com"]}` for Google.
    #[serde(default)]
    required_claims: BTreeMap<String, Vec<String>>,
    /// Claim with the email address. Default: `email`.
    #[serde(default = "usual_email_claim")]
    #[schema(default = "email", value_type = values::TrimmedWord)]
    email_claim: String,
    /// Whether the provider vouches for every address in the claim, because only its administrators can set it. Otherwise
    /// only `email` counts, and only if `email_verified` is true.
    #[serde(default)]
    trust_email_claim: bool,
    /// Whether to read claims from the UserInfo endpoint too.
    #[serde(default)]
    use_user_info: bool,
    /// Whether a sign-out continues at the provider's logout endpoint. Register `relyingParty.postLogoutRedirectUri` there.
    #[serde(default)]
    sign_out_at_provider: bool,
    /// Accepted signature algorithms of ID tokens. Default: those in the provider's metadata.
    #[serde(default, deserialize_with = "some")]
    #[schema(nullable = false, min_items = 1, max_items = 9, value_type = Option<Vec<values::OidcAlgorithm>>)]
    signing_algorithms: Option<Vec<Algorithm>>,
}

fn basic() -> ClientAuth {
    ClientAuth::ClientSecretBasic
}

fn usual_scopes() -> Vec<String> {
    ["email", "profile"].map(str::to_owned).to_vec()
}

fn usual_email_claim() -> String {
    "email".to_owned()
}

impl OidcProviderBody {
    /// Splits the body into settings and client secret.
    pub(crate) fn read(self) -> Result<(OidcChange, Option<Secret<String>>), ProviderError> {
        let secret = self.client_secret.map(Secret::new);
        if secret.as_ref().is_some_and(|secret| !is_printable(secret.expose(), MAX_SECRET)) {
            let problem = format!("write 1 to {MAX_SECRET} printable characters, no space at either end");
            return Err(field("clientSecret", problem));
        }
        let settings = OidcSettings {
            client_id: self.client_id,
            token_endpoint_auth_method: self.token_endpoint_auth_method,
            client_assertion_audience: self.client_assertion_audience,
            scopes: self.scopes,
            prompt: self.prompt,
            max_age: self.max_age,
            acr_values: self.acr_values,
            required_claims: self.required_claims,
            email_claim: self.email_claim,
            trust_email_claim: self.trust_email_claim,
            use_user_info: self.use_user_info,
            sign_out_at_provider: self.sign_out_at_provider,
            signing_algorithms: self.signing_algorithms,
        };
        let (name, email_domains, issuer) = (self.name, self.email_domains, self.issuer);
        Ok((OidcChange { name, email_domains, issuer, settings }, secret))
    }
}

/// Reads the provider's metadata and keys, outside of any transaction.
pub(crate) async fn discover(
    call: &Call<InPerson<ManageConnections>>,
    issuer: &str,
) -> Result<Discovered, Problem> {
    let client = &call.site.webhooks.client;
    let problem = |problem: String| Problem::invalid_request(format!("issuer: {problem}"));
    oidc_client::check_issuer(client, issuer).map_err(problem)?;
    call.attempt(attempts::look_up(call.tenant())).await?;
    call.without_slot(oidc_client::discover(client, issuer)).await?.map_err(problem)
}

/// Encrypts a client secret.
pub(crate) fn seal(
    call: &Call<InPerson<ManageConnections>>,
    id: &ProviderId,
    secret: Option<Secret<String>>,
) -> Result<Option<SealedSecret>, Problem> {
    let keys = call.site.pipeline.keys.saml();
    let sealed: Result<_, KeyError> =
        secret.map(|secret| SealedSecret::new(&keys, id, &secret, call.ctx().now)).transpose();
    sealed.map_err(Problem::unexpected)
}

/// Returns whether this is the stored client secret, so that sending it again changes nothing.
pub(crate) fn is_stored(
    call: &Call<InPerson<ManageConnections>>,
    provider: &OidcProvider,
    secret: &Secret<String>,
) -> bool {
    let keys = call.site.pipeline.keys.saml();
    provider.client_secret.as_ref().is_some_and(|stored| stored.is(&keys, &provider.id, secret))
}
