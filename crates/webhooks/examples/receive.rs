//! Receives signed webhooks: `WEBHOOK_SECRET=whsec_… cargo run -p gatehouse-webhooks --example receive`.
#![expect(clippy::disallowed_methods, reason = "a secret that is not Unicode is not a secret")]

use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use webhooks::Verifier;

async fn receive(State(verifier): State<Arc<Verifier>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    if let Err(error) = verifier.verify(&headers, &body) {
        eprintln!("refused: {error}");
        return StatusCode::UNAUTHORIZED;
    }
    println!("{}", String::from_utf8_lossy(&body)); // Store the event; ignore IDs that you know.
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let secret = std::env::var("WEBHOOK_SECRET").map_err(|error| format!("WEBHOOK_SECRET: {error}"))?;
    let verifier = Verifier::new([secret]).map_err(|error| format!("WEBHOOK_SECRET: {error}"))?;
    let service = Router::new().route("/", post(receive)).with_state(Arc::new(verifier));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
    Ok(axum::serve(listener, service).await?)
}
