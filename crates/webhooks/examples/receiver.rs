//! Receives signed webhooks. Listens on `RECEIVER_PORT`; `WEBHOOK_SECRETS` has the secrets, separated by commas.

use std::{
    collections::{HashSet, VecDeque},
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use webhooks::Verifier;

const LARGEST_BODY: usize = 1024 * 1024;
/// Event IDs to remember. A service stores them in its database, together with its work.
const REMEMBERED: usize = 10_000;

struct Receiver {
    verifier: Verifier,
    seen: Mutex<(HashSet<String>, VecDeque<String>)>,
}

impl Receiver {
    fn is_new(&self, id: &str) -> bool {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (known, order) = &mut *seen;
        if !known.insert(id.to_owned()) {
            return false;
        }
        order.push_back(id.to_owned());
        if order.len() > REMEMBERED
            && let Some(oldest) = order.pop_front()
        {
            known.remove(&oldest);
        }
        true
    }
}

async fn receive(State(receiver): State<Arc<Receiver>>, headers: HeaderMap, body: Bytes) -> Response {
    let refuse = |status, problem| (status, Json(problem)).into_response();
    // Verify the raw bytes: JSON that was parsed and serialized again differs.
    if receiver.verifier.verify(&headers, &body).is_err() {
        let error = json!({ "error": "the signature does not verify", "code": "WEBHOOK_INVALID_SIGNATURE" });
        return refuse(StatusCode::UNAUTHORIZED, error);
    }
    // Take the ID from the body: X-Service-Event-Id is not signed.
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(id) = event.get("id").and_then(Value::as_str) else {
        return refuse(StatusCode::BAD_REQUEST, json!({ "error": "this is not an event" }));
    };
    if receiver.is_new(id) {
        println!("{id}"); // Store the event here; process it after the response.
    }
    StatusCode::NO_CONTENT.into_response()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let setting = |name| std::env::var_os(name).and_then(|value| value.into_string().ok());
    let secrets = setting("WEBHOOK_SECRETS").unwrap_or_default();
    // Refuse an unset or short secret: anybody could sign with it.
    let verifier = Verifier::new(secrets.split(',')).map_err(|why| {
        format!("WEBHOOK_SECRETS: {why}; write one or more whsec_… secrets, separated by commas")
    })?;
    let port = setting("RECEIVER_PORT").map_or(Ok(4000), |port| port.parse())?;
    let service = Router::new()
        .route("/", post(receive))
        .route("/{*path}", post(receive))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(Arc::new(Receiver { verifier, seen: Mutex::default() }));
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, service).await?)
}
