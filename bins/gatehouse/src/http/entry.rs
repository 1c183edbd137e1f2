//! The middleware that every request passes: finds the operation, proves the caller, and leaves on every
//! answer what belongs on every answer. The order of refusals is the order of this file.

use std::{
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use actix_web::{
    Error, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::{self, HeaderName, HeaderValue},
    middleware::Next,
    web,
};
use futures_util::FutureExt;
use kernel::{Id, Kind};
use tokio::time::timeout;

use super::{
    Site,
    access::{Arrival, Gate},
    errors::Problem,
    operations::Named,
};

/// How long an answer may take to begin.
const ANSWERED_WITHIN: Duration = Duration::from_secs(45);

/// Marks ids of requests.
enum Request {}
impl Kind for Request {
    const PREFIX: &'static str = "req";
}

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const SPEC_VERSION: HeaderName = HeaderName::from_static("x-service-spec-version");
const API_POLICY: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; img-src 'self'; script-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// The middleware.
pub(super) async fn enter(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let started = Instant::now();
    let (Some(site), Some(gate)) =
        (request.app_data::<web::Data<Site>>().cloned(), request.app_data::<web::Data<Gate>>().cloned())
    else {
        return Ok(request.into_response(Problem::internal().envelope()));
    };
    let arrival = Arrival {
        request_id: Id::<Request>::new(gate.env()).to_string(),
        ip: site.proxies.client(request.peer_addr().map(|peer| peer.ip()), request.headers()),
    };
    let mut line = Line { template: String::from("-"), tenant: None };
    let mut response = match admit(&request, &site, &gate, &arrival, &mut line).await {
        Err(problem) => {
            let answer = refuse(&problem, request.path());
            request.into_response(answer)
        }
        Ok(()) => answer(request, next).await?,
    };
    finish(&mut response, &site, &arrival);
    let peer = arrival.ip.map(|ip| ip.to_string());
    tracing::info!(
        request_id = arrival.request_id,
        tenant = line.tenant,
        method = response.request().method().as_str(),
        route = line.template,
        status = response.status().as_u16(),
        micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
        ip = peer,
        "answered"
    );
    Ok(response)
}

/// What the log says of a request beside its answer.
struct Line {
    template: String,
    tenant: Option<String>,
}

async fn admit(
    request: &ServiceRequest,
    site: &Site,
    gate: &Gate,
    arrival: &Arrival,
    line: &mut Line,
) -> Result<(), Problem> {
    let operation = match site.operations.named(request.method(), request.path()) {
        Named::Operation(operation) => operation,
        Named::OtherMethods(allow) => return Err(Problem::method_not_allowed(&allow)),
        Named::Nothing => return Err(Problem::not_found()),
    };
    line.template.clone_from(&operation.template);
    if !operation.public {
        line.tenant = Some(gate.authenticate(request, request.headers(), arrival).await?);
    }
    Ok(())
}

/// Lets the handler answer, whatever becomes of it.
async fn answer(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    // Kept aside: a handler that panics or takes too long does not give it back.
    let kept = request.request().clone();
    let answered = AssertUnwindSafe(timeout(ANSWERED_WITHIN, next.call(request))).catch_unwind().await;
    let problem = match answered {
        Ok(Ok(Ok(response))) => return Ok(response.map_into_boxed_body()),
        Ok(Ok(Err(error))) => return Ok(ServiceResponse::new(kept, error.error_response())),
        Ok(Err(_)) => {
            tracing::error!(path = kept.path(), "a handler took too long");
            Problem::unavailable()
        }
        Err(_) => {
            tracing::error!(path = kept.path(), "a handler panicked");
            Problem::internal()
        }
    };
    let answer = refuse(&problem, kept.path());
    Ok(ServiceResponse::new(kept, answer))
}

fn refuse(problem: &Problem, path: &str) -> HttpResponse {
    if path.starts_with("/api/scim/") { problem.scim() } else { problem.envelope() }
}

fn finish(response: &mut ServiceResponse<BoxBody>, site: &Site, arrival: &Arrival) {
    let api = response.request().path().starts_with("/api/");
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(&arrival.request_id) {
        headers.insert(REQUEST_ID, id);
    }
    if api {
        headers.insert(SPEC_VERSION, site.spec_version.clone());
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, if api { API_POLICY } else { PAGE_POLICY });
    if site.https {
        let year = HeaderValue::from_static("max-age=31536000; includeSubDomains");
        headers.insert(header::STRICT_TRANSPORT_SECURITY, year);
    }
}
