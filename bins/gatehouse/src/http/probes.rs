//! `/healthz`, `/readyz`, `/metrics`: for whoever runs the server. None needs a credential, and none says
//! anything of a tenant.

use std::time::Duration;

use actix_web::{
    HttpResponse, get,
    http::header,
    web::{self, ServiceConfig},
};
use serde_json::json;
use tokio::time::timeout;

use super::{access::Gate, meter};

/// The probes' paths, for the table of operations.
pub(super) const PATHS: [&str; 2] = ["/healthz", "/readyz"];
/// Where the figures are, on the server's own address unless they have one.
pub(super) const METRICS: &str = "/metrics";

/// How long the database may take before it counts as away.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn routes(config: &mut ServiceConfig) {
    config.service(healthz).service(readyz);
}

pub(super) fn metrics_routes(config: &mut ServiceConfig) {
    config.service(metrics);
}

/// Whether the process lives: restart it if this does not answer.
#[get("/healthz")]
async fn healthz() -> HttpResponse {
    fresh(HttpResponse::Ok()).json(json!({ "status": "ok" }))
}

/// Whether it can serve, and if not, what is missing: send it no requests meanwhile.
#[get("/readyz")]
async fn readyz(gate: web::Data<Gate>) -> HttpResponse {
    let found = timeout(PATIENCE, gate.reach_database()).await;
    let problem = match found {
        Ok(Ok(())) => {
            let body = json!({ "status": "ready", "checks": { "database": "ok" } });
            return fresh(HttpResponse::Ok()).json(body);
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    tracing::warn!(problem, "not ready: the database is away");
    let body = json!({ "status": "unready", "checks": { "database": "unavailable" } });
    fresh(HttpResponse::ServiceUnavailable()).json(body)
}

#[get("/metrics")]
async fn metrics() -> HttpResponse {
    let text = meter::recorder().map(metrics_exporter_prometheus::PrometheusHandle::render);
    fresh(HttpResponse::Ok())
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text.unwrap_or_default())
}

fn fresh(mut answer: actix_web::HttpResponseBuilder) -> actix_web::HttpResponseBuilder {
    answer.insert_header((header::CACHE_CONTROL, "no-store"));
    answer
}
