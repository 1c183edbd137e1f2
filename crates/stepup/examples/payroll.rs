//! A payroll that is sealed only after a step-up: `cargo run -p gatehouse-stepup --example payroll -- 127.0.0.1:4000`.
use std::{net::SocketAddr, sync::Arc};

use axum::{Extension, Router, extract::ConnectInfo, http::request::Parts, routing::post};
use stepup::{Caller, Codes, Consumed, Ctx, MasterKeys, Purpose, Service, SystemEnv, tower::StepUp};

const PAYROLL_SEAL: Purpose = Purpose::new("PAYROLL_SEAL", "Seal a payroll.");

/// Real services find the tenant, the user and the session of the cookie in a layer before this one, and take them from
/// the request's extensions.
fn caller(parts: &Parts) -> Option<(Ctx, Caller)> {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some((Ctx::system(1.into(), "payroll"), Caller::new(42, "example", peer.ip())))
}

async fn seal(consumed: Extension<Arc<Consumed>>) -> String {
    format!("sealed by user {}\n", consumed.claims().user)
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    // Real services read their keys from a setting, so that tokens survive a restart.
    let keys = MasterKeys::random(&SystemEnv::default());
    // Real services compare with the code of the user's authenticator app, and accept each code once.
    let codes = Codes::new(|_, _, code| stepup::constant_time_eq(code.as_bytes(), b"123456"));
    let stepup = StepUp::new(Service::new(&keys, &[PAYROLL_SEAL], codes), caller);
    let routes = Router::new()
        .route("/payroll/seal", post(seal).route_layer(stepup.require(PAYROLL_SEAL)))
        .nest_service("/step-up", stepup.endpoint());
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:0".into());
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes.into_make_service_with_connect_info::<SocketAddr>()).await
}
