//! Receives signed webhooks: `WEBHOOK_SECRET=whsec_… cargo run -p gatehouse-webhooks --example receive`.
use std::sync::Arc;

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use webhooks::Verifier;

async fn receive(
    State(verifier): State<Arc<Verifier>>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, StatusCode> {
    let event = verifier.event(&headers, &body).map_err(|error| {
        eprintln!("refused: {error}");
        StatusCode::UNAUTHORIZED
    })?;
    println!("{} {}", event.id, event.kind); // Store the event; ignore IDs that you know.
    Ok(StatusCode::NO_CONTENT)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let verifier = Arc::new(Verifier::from_env("WEBHOOK_SECRET")?);
    let service = Router::new().route("/", post(receive)).with_state(verifier);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:4000").await?;
    Ok(axum::serve(listener, service).await?)
}
