//! A payroll that is sealed only after a step-up: `cargo run -p gatehouse-stepup --example payroll -- 127.0.0.1:4000`.
use std::{net::SocketAddr, sync::LazyLock};

use axum::{Json, Router, extract::ConnectInfo, http::HeaderMap, response::Response, routing::post};
use stepup::{
    Attempt, BegunChallenge, Caller, Ceremonies, Codes, Ctx, MasterKeys, Purpose, SigningKeys, SystemEnv,
    Value, constant_time_eq,
};
use tokio::{net::TcpListener, sync::Mutex};

const PAYROLL_SEAL: Purpose = Purpose::new("PAYROLL_SEAL", "Seal a payroll.");
/// Real services parse their keys from a setting, so that tokens survive a restart.
static KEYS: LazyLock<SigningKeys> =
    LazyLock::new(|| SigningKeys::derive(&MasterKeys::random(&SystemEnv::default()), "step-up"));
/// Real services compare with the code of the user's authenticator app, and accept each code once.
static FACTORS: LazyLock<Mutex<Codes>> =
    LazyLock::new(|| Mutex::new(Codes::new(|_, _, code| constant_time_eq(code.as_bytes(), b"123456"))));

/// Real services take the tenant, the user and the session from the session cookie.
fn caller(peer: SocketAddr) -> (Ctx, Caller) {
    let caller = Caller { user: 42.into(), session: "example".into(), ip: Some(peer.ip()) };
    (Ctx::system(1.into(), "payroll"), caller)
}

async fn challenge(ConnectInfo(peer): ConnectInfo<SocketAddr>) -> Result<Json<BegunChallenge>, Response> {
    let (ctx, caller) = caller(peer);
    Ok(Json(stepup::begin(&ctx, &mut *FACTORS.lock().await, &caller, &PAYROLL_SEAL).await?))
}

async fn verify(
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Json(attempt): Json<Attempt>,
) -> Result<Json<Value>, Response> {
    let ((ctx, caller), mut factors) = (caller(peer), FACTORS.lock().await);
    let verified = stepup::verify(&ctx, &mut *factors, &KEYS, &[PAYROLL_SEAL], &caller, &attempt).await?;
    Ok(Json(verified.into_token()?.response()))
}

async fn seal(ConnectInfo(peer): ConnectInfo<SocketAddr>, headers: HeaderMap) -> Result<String, Response> {
    let (ctx, caller) = caller(peer);
    let proof = stepup::http::check_request(&ctx, &KEYS, &PAYROLL_SEAL, &caller, &headers)?;
    let consumed = proof.consume(&ctx, FACTORS.lock().await.store()).await?;
    Ok(format!("sealed by user {}\n", consumed.claims().user))
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let listener = TcpListener::bind(std::env::args().nth(1).unwrap_or("127.0.0.1:0".into())).await?;
    println!("listening on http://{}", listener.local_addr()?);
    let routes = Router::new()
        .route("/step-up/challenge", post(challenge))
        .route("/step-up/verify", post(verify))
        .route("/payroll/seal", post(seal));
    axum::serve(listener, routes.into_make_service_with_connect_info::<SocketAddr>()).await
}
