//! Requests of ours: stored, answered once, bound to a provider and a browser.

use std::{fmt, str::FromStr};

use data_encoding::HEXLOWER;
use kernel::{Env, Secret, Timestamp};
use ring::digest::{SHA256, digest};

use crate::{
    connection_test::ConnectionTestId,
    id::ProviderId,
    keys::{KeyError, KeyPair},
    provider::Provider,
    service::ServiceProvider,
    write,
};

/// Minutes that a request may be answered.
pub const REQUEST_MINUTES: i64 = 10;
/// Random bytes of ids and keys.
const RANDOM: usize = 20;

/// The ID of an AuthnRequest: `_` and 160 random bits in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(String);

impl RequestId {
    fn new(env: &dyn Env) -> Self {
        Self(format!("_{}", random(env)))
    }

    /// The whole text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What names the cookie that binds this request to a browser: 16 characters of a hash.
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

/// A request that is waiting for its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// ID of the AuthnRequest.
    pub id: RequestId,
    /// Who is to answer.
    pub provider: ProviderId,
    /// SHA-256 of what the browser keeps.
    pub browser: [u8; 32],
    /// SHA-256 of the RelayState that was sent.
    pub relay_key: [u8; 32],
    /// The path to go on at: one of ours, checked by the host.
    pub return_to: String,
    /// Whether people had to prove anew who they are, and since when that counts.
    pub force_authn: bool,
    /// Instead of letting anybody in, the answer is looked at for this trial.
    pub trial: Option<ConnectionTestId>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Until when it may be answered.
    pub expires_at: Timestamp,
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPurpose {
    /// The path to go on at: one of ours, checked by the host.
    pub return_to: String,
    /// Connection test that the request belongs to.
    pub trial: Option<ConnectionTestId>,
}

/// What was claimed, or why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimedRequest {
    /// It is this one's answer, and nothing else will be.
    Now(Request),
    /// It was answered before.
    Before,
    /// It is not there, over, or another provider's.
    Unknown,
    /// It was begun in another browser. It stays as it was.
    OtherBrowser,
}

/// A login that has begun: what to keep, and what to send.
pub struct BegunLogin {
    /// To be kept.
    pub request: Request,
    /// What the browser keeps, in a cookie of its own.
    pub browser: Secret<String>,
    /// Where the form goes.
    pub action: String,
    /// The field `SAMLRequest`.
    pub saml_request: String,
    /// The field `RelayState`: a key to nothing but this request.
    pub relay_state: String,
}

/// Makes a request to a provider, signed with `key` if the provider has it so.
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
    let xml = write::authn_request(&request, service, provider, key)?;
    Ok(BegunLogin {
        browser: Secret::new(browser),
        action: provider.idp.sso_url.clone(),
        saml_request: data_encoding::BASE64.encode(xml.as_bytes()),
        relay_state,
        request,
    })
}

fn random(env: &dyn Env) -> String {
    let mut bytes = [0; RANDOM];
    env.fill(&mut bytes);
    HEXLOWER.encode(&bytes)
}

/// SHA-256.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}
