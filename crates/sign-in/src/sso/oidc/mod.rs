//! SSO connections with OpenID Connect: their settings and keys, and sign-ins through them.

mod callback;
mod change;
mod examination;
mod findings;
mod logout;
mod provider;
mod refreshing;
mod request;
mod settings;
mod store;

pub(super) use self::logout::session_hash;
pub use self::{
    callback::{OidcResponse, claim, refusal_event, with_oidc_response},
    change::{NewOidcProvider, OidcReplacement, complete_rotation, create, remove, replace, start_rotation},
    examination::{ExaminedResponse, Redirected, TokenCheck, unanswered_report},
    logout::{log_out, logout_refusal_event},
    provider::{OidcProvider, RelyingParty, SealedSecret},
    refreshing::{Discovered, KeyRead, OidcRefresh, TokenKind, learn_keys, refresh, reserve_key_read},
    request::{BegunOidcLogin, OidcRequest, begin},
    settings::{CheckedOidcChange, OidcChange, OidcSettings},
    store::OidcStore,
};
