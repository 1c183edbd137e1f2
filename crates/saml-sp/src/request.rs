//! Authentication requests: stored, answered once, and bound to a provider and a browser.

use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER;
use kernel::{Env, Secret, Timestamp};
use ring::digest::{SHA256, digest};

use crate::{
    binding::{Binding, Outgoing},
    connection_test::ConnectionTestId,
    id::ProviderId,
    keys::{KeyError, KeyPair},
    provider::Provider,
    redirect,
    service::ServiceProvider,
    write,
};

/// Minutes until a request expires.
pub const REQUEST_MINUTES: i64 = 10;
/// Random bytes in ids and keys.
const RANDOM: usize = 20;

/// The ID of an AuthnRequest: `_` and 160 random bits in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(String);

impl RequestId {
    pub(crate) fn new(env: &dyn Env) -> Self {
        Self(format!("_{}", random(env)))
    }

    /// Returns the ID as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a suffix for the name of the cookie that binds this request to a browser: 16 characters of a hash.
    pub fn short(&self) -> String {
        let hash = digest(&SHA256, self.0.as_bytes());
        HEXLOWER.encode(hash.as_ref()).chars().take(16).collect()
    }
}

impl FromStr for RequestId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let rest = text.strip_prefix('_').ok_or(())?;
        if rest.len() == 2 * RANDOM && rest.bytes().all(hex) { Ok(Self(text.to_owned())) } else { Err(()) }
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A request that waits for its response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// ID of the AuthnRequest.
    pub id: RequestId,
    /// The provider that must respond.
    pub provider: ProviderId,
    /// SHA-256 of the secret in the browser's cookie.
    pub browser: [u8; 32],
    /// SHA-256 of the RelayState.
    pub relay_key: [u8; 32],
    /// The local path to redirect to after the sign-in, validated by the host.
    pub return_to: String,
    /// Whether a fresh authentication after this request is required (ForceAuthn).
    pub force_authn: bool,
    /// The connection test to report to. If set, the response starts no session.
    pub trial: Option<ConnectionTestId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
}

impl Request {
    /// Returns the path to redirect to after the sign-in: the start page, unless the response came with the RelayState
    /// of this request.
    pub fn place_after(self, relay_state: Option<&str>) -> String {
        let is_same = relay_state.is_some_and(|given| sha256(given.as_bytes()) == self.relay_key);
        if is_same { self.return_to } else { "/".to_owned() }
    }
}

/// The purpose of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPurpose {
    /// The local path to redirect to after the sign-in, validated by the host.
    pub return_to: String,
    /// The connection test that the request belongs to.
    pub trial: Option<ConnectionTestId>,
}

/// The result of claiming a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimedRequest<R = Request> {
    /// Claimed by this call. No other response can claim it.
    Now(R),
    /// Already claimed.
    Before,
    /// Unknown, expired, or of another provider.
    Unknown,
    /// Started in another browser. The request stays unclaimed.
    OtherBrowser,
}

/// A started sign-in: what to store and what to send.
pub struct BegunLogin {
    /// The request to store.
    pub request: Request,
    /// The secret to store in the browser, in its own cookie.
    pub browser: Secret<String>,
    /// What to send: `SAMLRequest` and `RelayState`.
    pub outgoing: Outgoing,
    /// The RelayState: a random key of this request.
    pub relay_state: String,
}

/// Creates a request to a provider, signed with `key` if given.
pub fn begin(
    env: &dyn Env,
    service: &ServiceProvider,
    provider: &Provider,
    key: Option<&KeyPair>,
    intent: RequestPurpose,
) -> Result<BegunLogin, KeyError> {
    let now = env.now();
    let (browser, relay_state) = (random(env), random(env));
    let request = Request {
        id: RequestId::new(env),
        provider: provider.id.clone(),
        browser: sha256(browser.as_bytes()),
        relay_key: sha256(relay_state.as_bytes()),
        return_to: intent.return_to,
        force_authn: provider.force_authn,
        trial: intent.trial,
        created_at: now,
        expires_at: now.plus_millis(REQUEST_MINUTES * 60_000),
    };
    let location = &provider.idp.sso_url;
    let outgoing = match provider.idp.sso_binding {
        Binding::Post => {
            let xml = write::authn_request(&request, service, provider, key)?;
            let message = data_encoding::BASE64.encode(xml.as_bytes());
            let fields = vec![("SAMLRequest", message), ("RelayState", relay_state.clone())];
            Outgoing::Form { action: location.clone(), fields }
        }
        Binding::Redirect => {
            let xml = write::authn_request(&request, service, provider, None)?;
            redirect::url(location, ("SAMLRequest", &xml), Some(&relay_state), key).map(Outgoing::Url)?
        }
    };
    Ok(BegunLogin { browser: Secret::new(browser), outgoing, relay_state, request })
}

fn random(env: &dyn Env) -> String {
    let mut bytes = [0; RANDOM];
    env.fill(&mut bytes);
    HEXLOWER.encode(&bytes)
}

/// Returns the SHA-256 digest.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}
