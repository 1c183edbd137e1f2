//! Receives signed webhooks. `RECEIVER_PORT` and `WEBHOOK_SECRETS` (separated by commas) say where and whose.

use std::{
    collections::{HashSet, VecDeque},
    net::Ipv4Addr,
    sync::{Arc, Mutex, PoisonError},
    time::UNIX_EPOCH,
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
use webhooks::verify::{ReceiverSecrets, verify};

const LARGEST_BODY: usize = 1024 * 1024;
/// Of the events that came here. A service keeps them in its database, together with what it did.
const REMEMBERED: usize = 10_000;

struct Receiver {
    secrets: ReceiverSecrets,
    seen: Mutex<(HashSet<String>, VecDeque<String>)>,
}

impl Receiver {
    fn is_genuine(&self, headers: &HeaderMap, body: &[u8]) -> bool {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let now = UNIX_EPOCH.elapsed().ok().and_then(|age| i64::try_from(age.as_secs()).ok());
        // The bytes as they came: JSON that was read and written again is another body.
        let (timestamp, signature) = (text("x-service-timestamp"), text("x-service-signature"));
        now.is_some_and(|now| verify(&self.secrets, timestamp, signature, body, now).is_ok())
    }

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
    let refuse = |status, told| (status, Json(told)).into_response();
    if !receiver.is_genuine(&headers, &body) {
        let told = json!({ "error": "the signature does not verify", "code": "WEBHOOK_INVALID_SIGNATURE" });
        return refuse(StatusCode::UNAUTHORIZED, told);
    }
    // The header X-Service-Event-Id says the same, but it is the body that is signed.
    let event: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some(id) = event.get("id").and_then(Value::as_str) else {
        return refuse(StatusCode::BAD_REQUEST, json!({ "error": "this is not an event" }));
    };
    if receiver.is_new(id) {
        println!("{id}"); // Put the work away here; do it after the answer.
    }
    StatusCode::NO_CONTENT.into_response()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let setting = |name| std::env::var_os(name).and_then(|value| value.into_string().ok());
    let secrets = setting("WEBHOOK_SECRETS").unwrap_or_default();
    // An unset or short secret is refused: anybody could sign with it.
    let secrets = ReceiverSecrets::new(secrets.split(',')).map_err(|why| {
        format!("WEBHOOK_SECRETS: {why}; write one whsec_…, or several with commas between them")
    })?;
    let port = setting("RECEIVER_PORT").map_or(Ok(4000), |port| port.parse())?;
    let service = Router::new()
        .route("/", post(receive))
        .route("/{*path}", post(receive))
        .layer(DefaultBodyLimit::max(LARGEST_BODY))
        .with_state(Arc::new(Receiver { secrets, seen: Mutex::default() }));
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, service).await?)
}
