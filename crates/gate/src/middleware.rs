//! The middleware that every request passes through. It matches the operation, authenticates the caller, and sets the
//! headers common to all responses. The order of checks is the order in this file.

use std::{
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use actix_web::{
    Error, HttpMessage, HttpResponse,
    body::{BodySize, BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    error::InternalError,
    http::{
        ConnectionType, Method,
        header::{self, HeaderMap, HeaderName, HeaderValue},
    },
    middleware::Next,
    web,
};
use credentials::attempts;
use futures_util::FutureExt;
use kernel::{Id, Kind};
use tokio::time::timeout;

use super::{
    access::{self, Gate, RequestOrigin},
    bodies::{BodyWith, Incoming},
    compression,
    connections::InUse,
    errors::{Cause, Entry, Problem, Refused},
    operations::{self, Operation, OperationMode, RouteMatch},
    pending_responses,
    pipeline::Pipeline,
    probes,
    shape::{Area, Shape},
    trace::{self, TRACERESPONSE},
};

/// Time limit until a response begins.
const ANSWERED_WITHIN: Duration = Duration::from_secs(40);

/// Marks request ids.
enum Request {}
impl Kind for Request {
    const PREFIX: &'static str = "req";
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SPEC_VERSION: HeaderName = HeaderName::from_static("x-service-spec-version");
/// The content security policy of responses that are not pages, such as JSON, scripts and images.
pub const DATA_POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; base-uri 'none'; frame-ancestors 'none'");
/// The content security policy of pages.
pub const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; object-src 'none'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// Handles a request from arrival to its log line.
pub(crate) async fn handle_request(
    mut request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Instant::now();
    let (area, shape) = (Area::of(request.path()), Shape::of(request.request()));
    let (Some(pipeline), Some(gate)) =
        (request.app_data::<web::Data<Pipeline>>().cloned(), request.app_data::<web::Data<Gate>>().cloned())
    else {
        // Without state there is neither a database nor a setting.
        let mut response = request.into_response(shape.answer(&Problem::internal()));
        protect(response.headers_mut(), area);
        return Ok(response);
    };
    let peer = request.peer_addr().map(|peer| peer.ip());
    let named = match request.path() {
        operations::METRICS if !probes::is_local(peer, request.headers()) => RouteMatch::Nothing,
        path => pipeline.operations.named(request.method(), path),
    };
    let operation =
        if let RouteMatch::Operation(operation) = &named { Some(Arc::clone(operation)) } else { None };
    let quiet = operation.as_ref().is_some_and(|operation| operation.mode == OperationMode::Quiet);
    // Probes are answered under any load, because they matter most under high load.
    let queues = operation.as_ref().is_some_and(|operation| operation.mode == OperationMode::Queued);
    let ip = pipeline.client_address(peer, request.headers());
    let caller = pipeline.load.shares.caller(request.headers(), ip.or(peer));
    let slot = match (quiet, queues) {
        (true, _) => None,
        (false, true) => Some(pipeline.load.admit_queued(caller)),
        (false, false) => pipeline.load.admit(caller),
    };
    let incoming = Incoming::of(&mut request, &pipeline.bodies, || attempts::origin(ip.or(peer)));
    let busy = InUse::of(&request);
    if !quiet && slot.is_none() {
        operation.as_ref().map_or(&pipeline.other, |operation| &operation.meter).refused(503);
        pipeline.load.before_refusal().await;
        let mut response = request.into_response(refuse_at_once(area, &pipeline));
        attach(response.response_mut(), incoming, busy);
        return Ok(response);
    }
    if let Some(slot) = &slot {
        request.extensions_mut().insert(slot.clone());
    }
    let arrival = RequestOrigin {
        request_id: Id::<Request>::new(gate.env()).to_string(),
        trace: trace::of(request.headers(), gate.env(), pipeline.records_traces),
        peer,
        ip,
    };
    let method = request.method().clone();
    let _answering = pipeline.load.arrived();
    let mut line = LogLine { operation, tenant: None, quiet };
    let work = async {
        let admitted = admit(&request, named, &pipeline, &gate, &arrival).await;
        match admitted {
            Err(problem) => Ok(request.into_response(shape.answer(&problem))),
            Ok(()) => next
                .call(request)
                .await
                .map(|response| compression::compressed(response.map_into_boxed_body())),
        }
    };
    let mut answered = catch_failures(work).await.map_err(|problem| shape.answer(&problem));
    if let Some(slot) = &slot {
        slot.free();
    }
    let response = match &mut answered {
        Ok(response) => response.response_mut(),
        Err(response) => response,
    };
    let status = response.status();
    let took = started.elapsed();
    line.operation
        .as_ref()
        .map_or(&pipeline.other, |operation| &operation.meter)
        .answered(status.as_u16(), took);
    let cause = response.extensions_mut().remove::<Cause>();
    let refused = response.extensions_mut().remove::<Refused>();
    let entry = response.extensions_mut().remove::<Entry>();
    finish(response.headers_mut(), area, &pipeline);
    set_trace_headers(response.headers_mut(), &arrival);
    if pipeline.load.is_draining() {
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
    attach_until_sent(response, &pipeline, || attempts::origin(ip.or(peer)));
    attach(response, incoming, busy);
    if let (Some(Entry { event, ctx }), Ok(response)) = (entry, &answered)
        && let Some(ctx) = ctx.or_else(|| access::passed(response.request()).map(|(_, ctx)| ctx))
        && pipeline.refusals.is_new(&ctx, &event, arrival.ip)
    {
        access::record_in_background(gate.clone(), ctx, event);
    }
    if let (Area::Scim, Ok(response)) = (area, &mut answered) {
        pipeline.scim_refusals.note(response);
    }
    let identified = answered.as_ref().ok().and_then(|response| access::take_identified(response.request()));
    let (tenant, actor) = identified.map(|by| (by.tenant.to_string(), by.actor)).unzip();
    line.tenant = tenant;
    let logged = LoggedResponse { method: &method, status: status.as_u16(), took, cause, refused, actor };
    line.write(&logged, &arrival, &pipeline, &gate);
    answered
        .map_err(|response| InternalError::from_response("the handler returned no response", response).into())
}

/// What the log line of a request contains besides the response.
struct LogLine {
    operation: Option<Arc<Operation>>,
    tenant: Option<String>,
    /// Whether only errors are logged.
    quiet: bool,
}

/// The parts of a response that are logged.
struct LoggedResponse<'a> {
    method: &'a Method,
    status: u16,
    took: Duration,
    cause: Option<Cause>,
    refused: Option<Refused>,
    /// The ID of the user or token.
    actor: Option<String>,
}

impl LogLine {
    fn write(&self, logged: &LoggedResponse<'_>, arrival: &RequestOrigin, pipeline: &Pipeline, gate: &Gate) {
        if let Some(Cause(cause)) = &logged.cause {
            tracing::error!(
                request_id = arrival.request_id,
                trace_id = arrival.trace.trace_id(),
                tenant = self.tenant,
                route = self.template(),
                status = logged.status,
                cause,
                "failed"
            );
        }
        if self.quiet {
            return;
        }
        tracing::info!(
            request_id = arrival.request_id,
            trace_id = arrival.trace.trace_id(),
            tenant = self.tenant,
            actor = logged.actor,
            method = logged.method.as_str(),
            route = self.template(),
            status = logged.status,
            code = logged.refused.as_ref().map(|refused| refused.code),
            reason = logged.refused.as_ref().and_then(|refused| refused.reason.as_deref()),
            micros = u64::try_from(logged.took.as_micros()).unwrap_or(u64::MAX),
            ip = arrival.ip.map(|ip| ip.to_string()),
            "answered"
        );
        #[cfg(feature = "otlp")]
        if let Some(spans) = &pipeline.spans {
            spans.answered(&super::spans::RequestSpan {
                trace: &arrival.trace,
                method: logged.method.as_str(),
                route: self.template(),
                status: logged.status,
                request_id: &arrival.request_id,
                tenant: self.tenant.as_deref(),
                ended: gate.env().now(),
                took: logged.took,
            });
        }
        #[cfg(not(feature = "otlp"))]
        let (_, _) = (pipeline, gate);
    }

    fn template(&self) -> &str {
        self.operation.as_ref().map_or("-", |operation| &operation.template)
    }
}

async fn admit(
    request: &ServiceRequest,
    named: RouteMatch,
    pipeline: &Pipeline,
    gate: &Gate,
    arrival: &RequestOrigin,
) -> Result<(), Problem> {
    let operation = match named {
        RouteMatch::Operation(operation) => operation,
        RouteMatch::OtherMethods(allow) => return Err(Problem::method_not_allowed(&allow)),
        RouteMatch::Nothing => return Err(Problem::not_found()),
    };
    if operation.mode != OperationMode::CrossSite {
        cross_site(request, pipeline)?;
    }
    if operation.public {
        if Area::of(request.path()) == Area::Api {
            request.extensions_mut().insert(arrival.clone());
        }
    } else {
        let is_sign_out = operation.mode == OperationMode::SignOut;
        let tenant = gate.authenticate(pipeline, request, request.headers(), arrival, is_sign_out).await?;
        if Area::of(request.path()) == Area::Scim {
            pipeline.scim_rates.admit(&tenant, async || gate.tier(&tenant).await).await?;
        }
    }
    // No resource has a name with NUL, which PostgreSQL text cannot contain.
    if request.path().contains("%00") && Area::of(request.path()) != Area::Scim {
        return Err(Problem::not_found());
    }
    Ok(())
}

/// Rejects cross-site requests, which a browser may send with the session cookie. This includes sign-in.
fn cross_site(request: &ServiceRequest, pipeline: &Pipeline) -> Result<(), Problem> {
    let headers = request.headers();
    let api = Area::of(request.path()) == Area::Api;
    if !api || request.method().is_safe() || headers.contains_key(header::AUTHORIZATION) {
        return Ok(());
    }
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let fetch = text(HeaderName::from_static("sec-fetch-site"));
    let site_fits = fetch.is_none_or(|fetch| fetch == "same-origin" || fetch == "none");
    let origin_fits = text(header::ORIGIN).is_none_or(|origin| origin == pipeline.base_url);
    if site_fits && origin_fits {
        return Ok(());
    }
    let message =
        format!("This page was opened under a different address. Open it at {}.", pipeline.base_url);
    Err(Problem::forbidden("CROSS_SITE", message))
}

/// Converts panics, timeouts and unexpected errors to responses.
///
/// Not an `async fn`: its future would contain the work twice, as parameter and while it is awaited.
fn catch_failures<T>(
    work: impl Future<Output = Result<T, Error>>,
) -> impl Future<Output = Result<T, Problem>> {
    AssertUnwindSafe(timeout(ANSWERED_WITHIN, work)).catch_unwind().map(|done| match done {
        Ok(Ok(Ok(done))) => Ok(done),
        Ok(Ok(Err(error))) => Err(Problem::internal().because(&error)),
        Ok(Err(_)) => Err(Problem::unavailable().because(&"the request exceeded its time limit")),
        Err(_) => Err(Problem::internal().because(&"the handler panicked")),
    })
}

/// Rejects a request under overload as cheaply as possible: no log line, no request id, and a prebuilt body.
fn refuse_at_once(area: Area, pipeline: &Pipeline) -> HttpResponse {
    let mut answer = area.refuse_at_once(&pipeline.overloaded);
    finish(answer.headers_mut(), area, pipeline);
    if pipeline.load.is_draining() {
        answer.head_mut().set_connection_type(ConnectionType::Close);
    }
    answer
}

/// Attaches values that must live until the response is sent: an unread body, which closes the connection, and for a
/// streamed response the mark that its connection is in use.
fn attach(response: &mut HttpResponse, incoming: Option<Incoming>, busy: Option<InUse>) {
    let unread = incoming.and_then(Incoming::unread);
    let busy = busy.filter(|_| response.body().size() == BodySize::Stream);
    if unread.is_some() || busy.is_some() {
        let whole = std::mem::replace(response, HttpResponse::Ok().finish());
        *response = whole.map_body(|_, body| BodyWith::with((unread, busy), body));
    }
}

/// Counts a large response for its client's address until it is sent.
fn attach_until_sent(response: &mut HttpResponse, pipeline: &Pipeline, address: impl FnOnce() -> String) {
    if !pending_responses::is_large(response.body()) {
        return;
    }
    let whole = std::mem::replace(response, HttpResponse::Ok().finish());
    *response = whole.map_body(|_, body| pipeline.unsent.count(address().into(), body));
}

/// Sets the request id and the trace, which link the response to the log.
fn set_trace_headers(headers: &mut HeaderMap, arrival: &RequestOrigin) {
    if let Ok(id) = HeaderValue::from_str(&arrival.request_id) {
        headers.insert(REQUEST_ID, id);
    }
    if let Some(trace) = trace::response(&arrival.trace) {
        headers.insert(TRACERESPONSE, trace);
    }
}

/// Sets the headers that restrict what a browser does with a response.
pub(crate) fn protect(headers: &mut HeaderMap, area: Area) {
    let policy = if area == Area::Pages { PAGE_POLICY } else { DATA_POLICY };
    // A page under an API path sets its own policy.
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
}

fn finish(headers: &mut HeaderMap, area: Area, pipeline: &Pipeline) {
    protect(headers, area);
    if area != Area::Pages {
        headers.insert(SPEC_VERSION, pipeline.spec_version.clone());
    }
    if pipeline.https {
        let year = HeaderValue::from_static("max-age=31536000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::{App, http::StatusCode, middleware::from_fn, test, web::get};

    async fn guarded(
        request: ServiceRequest,
        next: Next<impl MessageBody + 'static>,
    ) -> Result<ServiceResponse<BoxBody>, Error> {
        let answered = catch_failures(next.call(request)).await;
        answered.map(ServiceResponse::map_into_boxed_body).map_err(Error::from)
    }

    async fn status(path: &str) -> StatusCode {
        let panics = || async {
            assert!(!std::hint::black_box(true), "test panic");
            HttpResponse::Ok().finish()
        };
        let hangs = || async {
            std::future::pending::<()>().await;
            HttpResponse::Ok().finish()
        };
        let app = App::new()
            .wrap(from_fn(guarded))
            .route("/panics", get().to(panics))
            .route("/hangs", get().to(hangs))
            .route("/answers", get().to(HttpResponse::Ok));
        let app = test::init_service(app).await;
        let request = test::TestRequest::with_uri(path).to_request();
        match test::try_call_service(&app, request).await {
            Ok(response) => response.status(),
            Err(error) => error.as_response_error().status_code(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn panicking_or_hanging_handler_gets_an_error_response() {
        assert_eq!(status("/answers").await, StatusCode::OK);
        assert_eq!(status("/panics").await, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(status("/hangs").await, StatusCode::SERVICE_UNAVAILABLE);
    }
}
