//! A payroll that is sealed only after a step-up: `cargo run -p gatehouse-stepup --example payroll -- 127.0.0.1:4000`.
use std::{net::SocketAddr, sync::Arc};

use axum::extract::{ConnectInfo, Path, State};
use axum::{Json, Router, body::Bytes, http::HeaderMap, response::Response, routing::post};
use stepup::{Caller, Codes, Ctx, MasterKeys, Purpose, Service, SystemEnv, Value};
use tokio::{net::TcpListener, sync::Mutex};

const PAYROLL_SEAL: Purpose = Purpose::new("PAYROLL_SEAL", "Seal a payroll.");

type Peer = ConnectInfo<SocketAddr>;
type StepUp = State<Arc<Mutex<Service>>>;

/// Real services take the tenant, the user and the session from the session cookie.
fn caller(peer: Peer) -> (Ctx, Caller) {
    (Ctx::system(1.into(), "payroll"), Caller::new(42, "example", peer.ip()))
}

async fn step_up(
    stepup: StepUp,
    peer: Peer,
    path: Path<String>,
    body: Bytes,
) -> Result<Json<Value>, Response> {
    let (ctx, caller) = caller(peer);
    Ok(Json(stepup.lock().await.answer(&ctx, &caller, &path, &body).await?))
}

async fn seal(stepup: StepUp, peer: Peer, headers: HeaderMap) -> Result<String, Response> {
    let (ctx, caller) = caller(peer);
    let consumed = stepup.lock().await.consume_request(&ctx, &caller, &PAYROLL_SEAL, &headers).await?;
    Ok(format!("sealed by user {}\n", consumed.claims().user))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    // Real services read their keys from a setting, so that tokens survive a restart.
    let keys = MasterKeys::random(&SystemEnv::default());
    // Real services compare with the code of the user's authenticator app, and accept each code once.
    let codes = Codes::new(|_, _, code| stepup::constant_time_eq(code.as_bytes(), b"123456"));
    let routes = Router::new()
        .route("/step-up/{operation}", post(step_up))
        .route("/payroll/seal", post(seal))
        .with_state(Arc::new(Mutex::new(Service::new(&keys, &[PAYROLL_SEAL], codes))));
    let listener = TcpListener::bind(std::env::args().nth(1).unwrap_or("127.0.0.1:0".into())).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes.into_make_service_with_connect_info::<SocketAddr>()).await
}
