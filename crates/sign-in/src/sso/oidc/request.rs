//! Sign-in requests: stored, answered once, and bound to a provider and a browser.

use kernel::{Env, Timestamp};
use oidc_rp::{DiscoveryError, RequestParameters, RequestSecrets, authorization_url};
use saml_sp::{ConnectionTestId, ProviderId, REQUEST_MINUTES, RequestPurpose};

use super::provider::{OidcProvider, RelyingParty};

/// A request that waits for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OidcRequest {
    /// SHA-256 of the state.
    pub state: [u8; 32],
    /// The provider that must answer.
    pub provider: ProviderId,
    /// SHA-256 of the secret in the browser's cookie.
    pub browser: [u8; 32],
    /// The local path to redirect to after the sign-in, validated by the host.
    pub return_to: String,
    /// The connection test to report to. If set, the answer starts no session.
    pub trial: Option<ConnectionTestId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// A started sign-in: what to store and where to send the browser.
pub struct BegunOidcLogin {
    /// The request to store.
    pub request: OidcRequest,
    /// The secrets of the request. The browser keeps its own in a cookie.
    pub secrets: RequestSecrets,
    /// The URL at the provider to redirect to.
    pub location: String,
}

/// Creates a request to a provider.
pub fn begin(
    env: &dyn Env,
    ours: &RelyingParty,
    provider: &OidcProvider,
    purpose: RequestPurpose,
) -> Result<BegunOidcLogin, DiscoveryError> {
    let (now, secrets, settings) = (env.now(), RequestSecrets::random(env), &provider.settings);
    let parameters = RequestParameters {
        authorization_endpoint: &provider.metadata.authorization_endpoint,
        client_id: &settings.client_id,
        redirect_uri: &ours.redirect_uri,
        scopes: &settings.scopes,
        prompt: settings.prompt,
        max_age: settings.max_age,
        acr_values: &settings.acr_values,
        login_hint: None,
    };
    let location = authorization_url(&parameters, &secrets)?;
    let request = OidcRequest {
        state: secrets.state_hash(),
        provider: provider.id.clone(),
        browser: secrets.browser_hash(),
        return_to: purpose.return_to,
        trial: purpose.trial,
        created_at: now,
        expires_at: now.plus_millis(REQUEST_MINUTES * 60_000),
    };
    Ok(BegunOidcLogin { request, secrets, location })
}
