//! An OpenID Connect relying party (authorization code flow with PKCE): discovery, sign-in requests, token requests, and
//! strict validation of ID tokens.
//!
//! The crate depends on neither HTTP nor a database. A host reads [`ProviderMetadata`] and the [`KeySet`] from the provider,
//! redirects the browser to [`authorization_url`], parses the [`Callback`], sends the [`TokenRequest`], and passes the ID
//! token to [`examine`]. The outcome is the signed [`Claims`] or a [`Refusal`] that names the step and the reason. Claims
//! of an ID token are read only from [`Verified`] bytes. [`verify_typed`] verifies JWTs of other types by the same rules.
//!
//! Only asymmetric signatures by the keys of the provider are accepted, and only by algorithms that the connection lists.
//! Headers never supply a key. No check can be turned off.

mod algorithm;
mod callback;
mod claims;
#[cfg(feature = "conformance")]
pub mod conformance;
mod discovery;
mod email;
mod id_token;
mod json;
mod jws;
mod keys;
mod logout;
mod refusal;
mod request;
mod text;
mod token;
mod values;

pub use kernel::{Email, Env, ParseEmailError, ParseTimestampError, Secret, SystemEnv, Timestamp};

pub use algorithm::Algorithm;
pub use callback::Callback;
pub use claims::Claims;
pub use discovery::{ClientAuth, DiscoveryError, MAX_METADATA, ProviderMetadata, metadata_url};
pub use email::{EmailClaim, read_email};
pub use id_token::{Examined, Expected, examine};
pub use jws::{MAX_TOKEN, Verified, verify_typed};
pub use keys::{KeySet, KeySetError, MAX_KEY_SET, MAX_KEYS};
pub use logout::{EndedSessions, ExpectedLogout, LogoutToken, end_session_url, examine_logout};
pub use refusal::{Reason, Refusal, Step};
pub use request::{Prompt, RequestParameters, RequestSecrets, authorization_url};
pub use token::{
    ClientCredential, ClientKey, ClientKeyError, CodeExchange, MAX_RESPONSE, SecretTransport, TokenRequest,
    TokenResponse, UserInfo,
};
pub use values::claim_values;
