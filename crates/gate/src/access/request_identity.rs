//! The authenticated caller and origin of a request.

use std::net::IpAddr;

use actix_web::{
    HttpMessage, HttpRequest,
    http::header::{self, HeaderMap},
};
use kernel::{Ctx, TenantId, TraceContext};
use store::NetworkMark;

use crate::caller::Caller;

/// The authenticated caller, which the middleware stores in the request for [`Access`].
#[derive(Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) caller: Caller,
    /// The network policy that admitted the request.
    pub(crate) network: NetworkMark,
    /// Whether the request signs out, which no policy blocks.
    pub(crate) is_sign_out: bool,
    pub(crate) ctx: Ctx,
    /// See [`RequestOrigin::peer`].
    pub(crate) peer: Option<IpAddr>,
}

/// The origin of a request.
#[derive(Clone)]
pub(crate) struct RequestOrigin {
    pub(crate) request_id: String,
    pub(crate) trace: TraceContext,
    pub(crate) ip: Option<IpAddr>,
    /// The peer's address, used for rate limits if the client's address is unknown.
    pub(crate) peer: Option<IpAddr>,
}

/// Returns the caller and the context of a request that the middleware has admitted.
pub(crate) fn passed(request: &HttpRequest) -> Option<(Caller, Ctx)> {
    request.extensions().get::<RequestIdentity>().map(|pass| (pass.caller.clone(), pass.ctx.clone()))
}

/// Marks requests of a page that nobody uses. They do not count as use of the session.
pub const SESSION_IDLE: &str = "x-session-idle";

/// Whose credential a request has, also if the request is refused.
pub(crate) struct Identified {
    pub(crate) tenant: TenantId,
    /// The ID of the user or token.
    pub(crate) actor: String,
}

/// Takes out of the request whose credential it has, if it is known.
pub(crate) fn take_identified(request: &HttpRequest) -> Option<Identified> {
    request.extensions_mut().remove()
}

/// Returns the `User-Agent` header, or an empty string.
pub fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}
