//! What the middleware leaves in a request for those who handle it.

use std::net::IpAddr;

use actix_web::{
    HttpMessage, HttpRequest,
    http::header::{self, HeaderMap},
};
use kernel::{Ctx, TraceContext};
use store::NetworkMark;

use crate::caller::Caller;

/// What the middleware leaves in the request for [`Access`].
#[derive(Clone)]
pub(crate) struct RequestIdentity {
    pub(crate) caller: Caller,
    /// The network policy that has let the request in.
    pub(crate) network: NetworkMark,
    /// Whether the request ends its own session, which no policy forbids.
    pub(crate) is_sign_out: bool,
    pub(crate) ctx: Ctx,
    /// See [`RequestOrigin::peer`].
    pub(crate) peer: Option<IpAddr>,
}

/// A request as the middleware knows it.
#[derive(Clone)]
pub(crate) struct RequestOrigin {
    pub(crate) request_id: String,
    pub(crate) trace: TraceContext,
    pub(crate) ip: Option<IpAddr>,
    /// Who has sent it on, where the address is not known: what is counted is counted under them.
    pub(crate) peer: Option<IpAddr>,
}

/// Who calls, and the operation as units of work see it, once the middleware has let the request in.
pub(crate) fn passed(request: &HttpRequest) -> Option<(Caller, Ctx)> {
    request.extensions().get::<RequestIdentity>().map(|pass| (pass.caller.clone(), pass.ctx.clone()))
}

/// What a client calls itself.
pub fn user_agent(headers: &HeaderMap) -> &str {
    headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}
