//! Sign-in requests (OpenID Connect Core, section 3.1.2.1) with PKCE (RFC 7636).

use data_encoding::{BASE64URL_NOPAD, HEXLOWER};
use kernel::{Env, Secret};
use ring::{
    digest::{SHA256, digest},
    hmac,
};
use serde::{Deserialize, Serialize};

use crate::discovery::{DiscoveryError, endpoint};

/// Random bytes of a state and of a browser's secret.
const RANDOM: usize = 20;

/// Values of the parameter `prompt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prompt {
    /// To sign in, even with a session at the provider.
    Login,
    /// To select an account.
    SelectAccount,
    /// To consent.
    Consent,
}

impl Prompt {
    /// Returns the registered value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Login => "login",
            Self::SelectAccount => "select_account",
            Self::Consent => "consent",
        }
    }
}

/// The parameters of a request.
#[derive(Debug, Clone, Copy)]
pub struct RequestParameters<'p> {
    /// The provider's authorization endpoint.
    pub authorization_endpoint: &'p str,
    /// Our client ID.
    pub client_id: &'p str,
    /// URL to which the provider redirects.
    pub redirect_uri: &'p str,
    /// The scopes besides `openid`.
    pub scopes: &'p [String],
    /// The parameter `prompt`.
    pub prompt: Option<Prompt>,
    /// How long ago the user may have signed in, in seconds.
    pub max_age: Option<u32>,
    /// The requested authentication context classes.
    pub acr_values: &'p [String],
    /// Email address to prefill at the provider.
    pub login_hint: Option<&'p str>,
}

/// The secrets of a request. The browser keeps them in a cookie, and the state finds the request in storage.
///
/// Nonce and code verifier are derived from both, so that storage holds neither. Only the browser that started the sign-in
/// can use the code.
pub struct RequestSecrets {
    /// The state: 160 random bits in hexadecimal.
    pub state: String,
    /// The secret that only the browser keeps: 160 random bits in hexadecimal.
    pub browser: Secret<String>,
}

impl RequestSecrets {
    /// Creates random secrets.
    pub fn random(env: &dyn Env) -> Self {
        Self { state: random(env), browser: Secret::new(random(env)) }
    }

    /// Takes the state from a redirect and the secret from the browser's cookie.
    pub fn from_parts(state: String, browser: Secret<String>) -> Self {
        Self { state, browser }
    }

    /// Returns the nonce of the ID token.
    pub fn nonce(&self) -> String {
        self.derive("nonce")
    }

    /// Returns the code verifier (RFC 7636, section 4.1).
    pub fn code_verifier(&self) -> Secret<String> {
        Secret::new(self.derive("code_verifier"))
    }

    /// Returns the code challenge (RFC 7636, section 4.2, S256).
    pub fn code_challenge(&self) -> String {
        BASE64URL_NOPAD.encode(digest(&SHA256, self.code_verifier().expose().as_bytes()).as_ref())
    }

    /// Returns the SHA-256 of the browser's secret, to be stored with the request.
    pub fn browser_hash(&self) -> [u8; 32] {
        sha256(self.browser.expose().as_bytes())
    }

    /// Returns the SHA-256 of the state, under which the request is stored.
    pub fn state_hash(&self) -> [u8; 32] {
        sha256(self.state.as_bytes())
    }

    fn derive(&self, purpose: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.browser.expose().as_bytes());
        let tag = hmac::sign(&key, format!("oidc {purpose} {}", self.state).as_bytes());
        BASE64URL_NOPAD.encode(tag.as_ref())
    }
}

/// Returns the URL to redirect the browser to. Fails if the authorization endpoint is not an `https` URL.
pub fn authorization_url(
    parameters: &RequestParameters<'_>,
    secrets: &RequestSecrets,
) -> Result<String, DiscoveryError> {
    let mut url = endpoint("authorization_endpoint", parameters.authorization_endpoint)?;
    let scope: Vec<_> =
        std::iter::once("openid").chain(parameters.scopes.iter().map(String::as_str)).collect();
    let mut query = url.query_pairs_mut();
    query
        .append_pair("response_type", "code")
        .append_pair("client_id", parameters.client_id)
        .append_pair("redirect_uri", parameters.redirect_uri)
        .append_pair("scope", &scope.join(" "))
        .append_pair("state", &secrets.state)
        .append_pair("nonce", &secrets.nonce())
        .append_pair("code_challenge", &secrets.code_challenge())
        .append_pair("code_challenge_method", "S256");
    if let Some(prompt) = parameters.prompt {
        query.append_pair("prompt", prompt.as_str());
    }
    if let Some(seconds) = parameters.max_age {
        query.append_pair("max_age", &seconds.to_string());
    }
    if !parameters.acr_values.is_empty() {
        query.append_pair("acr_values", &parameters.acr_values.join(" "));
    }
    if let Some(hint) = parameters.login_hint {
        query.append_pair("login_hint", hint);
    }
    drop(query);
    Ok(url.into())
}

fn random(env: &dyn Env) -> String {
    let mut bytes = [0; RANDOM];
    env.fill(&mut bytes);
    HEXLOWER.encode(&bytes)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}
