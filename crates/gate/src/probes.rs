//! `/healthz`, `/readyz` and `/metrics`, for operators. They need no credential and reveal nothing about tenants.

use std::net::IpAddr;

use actix_web::{
    HttpResponse, HttpResponseBuilder, get,
    http::header::{self, HeaderMap},
    web::{self, ServiceConfig},
};
use serde_json::json;

use super::{meter, pipeline::Pipeline};

pub(crate) fn routes(config: &mut ServiceConfig) {
    config.service(healthz).service(readyz);
}

pub(crate) fn metrics_routes(config: &mut ServiceConfig) {
    config.service(metrics);
}

/// Returns 200 while the process is alive. Restart it if this does not answer.
#[get("/healthz")]
async fn healthz() -> HttpResponse {
    fresh(&mut HttpResponse::Ok()).json(json!({ "status": "ok" }))
}

/// Returns whether the server can serve requests, and if not, why. Route no requests to it while it returns 503. A
/// database is degraded while one of its nodes does not answer: requests of that node's tenants get 503.
#[get("/readyz")]
async fn readyz(pipeline: web::Data<Pipeline>) -> HttpResponse {
    let well = pipeline.readiness.is_well(&pipeline.watched).await;
    let silent = if well { pipeline.readiness.silent_nodes(&pipeline.watched).await } else { 0 };
    let database = match (well, silent) {
        (false, _) => "unavailable",
        (true, 0) => "ok",
        (true, _) => "degraded",
    };
    let (mut answer, status) = match (pipeline.load.is_draining(), well) {
        (true, _) => (HttpResponse::ServiceUnavailable(), "draining"),
        (false, false) => (HttpResponse::ServiceUnavailable(), "unready"),
        (false, true) => (HttpResponse::Ok(), "ready"),
    };
    fresh(&mut answer).json(json!({ "status": status, "checks": { "database": database } }))
}

/// Returns whether a request comes from this machine, which may read metrics on the server's own address. A local
/// proxy also has a loopback address, but is recognized by its forwarding headers.
pub(crate) fn is_local(peer: Option<IpAddr>, headers: &HeaderMap) -> bool {
    let forwards = |name: &str| {
        matches!(name, "forwarded" | "via" | "x-real-ip" | "true-client-ip" | "x-client-ip")
            || name.starts_with("x-forwarded-")
    };
    peer.is_some_and(|peer| peer.to_canonical().is_loopback())
        && !headers.keys().any(|name| forwards(name.as_str()))
}

#[get("/metrics")]
async fn metrics(pipeline: web::Data<Pipeline>) -> HttpResponse {
    pipeline.measure();
    let text = meter::recorder().map(metrics_exporter_prometheus::PrometheusHandle::render);
    fresh(&mut HttpResponse::Ok())
        .content_type("text/plain; version=0.0.4; charset=utf-8")
        .body(text.unwrap_or_default())
}

fn fresh(answer: &mut HttpResponseBuilder) -> &mut HttpResponseBuilder {
    answer.insert_header((header::CACHE_CONTROL, "no-store"))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn metrics_are_only_for_this_machine() {
        let with = |name: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("127.0.0.1"));
            headers
        };
        let is_local = |peer: &str, headers: &HeaderMap| is_local(Some(peer.parse().unwrap()), headers);
        let plain = with("accept");
        for peer in ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"] {
            assert!(is_local(peer, &plain), "{peer}");
        }
        for peer in ["10.0.0.1", "192.0.2.1", "::ffff:10.0.0.1", "fe80::1", "2001:db8::1"] {
            assert!(!is_local(peer, &plain), "{peer}");
        }
        for name in
            ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"]
        {
            assert!(!is_local("127.0.0.1", &with(name)), "{name}");
        }
        assert!(!super::is_local(None, &plain));
    }
}
