//! The trace context of requests and responses.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use kernel::{Env, TraceContext};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
/// The response header of the trace (W3C Trace Context level 2).
pub(crate) const TRACERESPONSE: HeaderName = HeaderName::from_static("traceresponse");

/// Continues the trace in the headers, or starts a new one if there is no valid one. `sampled` is whether a new one
/// is recorded.
pub(crate) fn of(headers: &HeaderMap, env: &dyn Env, sampled: bool) -> TraceContext {
    let mut parents = headers.get_all(TRACEPARENT);
    let (parent, None) = (parents.next(), parents.next()) else { return TraceContext::begun(env, sampled) };
    let continued = parent.and_then(|parent| {
        let states: Vec<_> = headers.get_all(TRACESTATE).filter_map(|state| state.to_str().ok()).collect();
        let states = states.join(",");
        TraceContext::continued(parent.to_str().ok()?, Some(&states), env)
    });
    continued.unwrap_or_else(|| TraceContext::begun(env, sampled))
}

/// Returns the trace header of the response.
pub(crate) fn response(trace: &TraceContext) -> Option<HeaderValue> {
    HeaderValue::from_str(&trace.traceparent()).ok()
}
