//! A payroll service in another process, in any language. It asks Gatehouse whether the user has just completed a
//! step-up. Run `remote GATEHOUSE LISTEN TENANT`, and add this service's address to Gatehouse's trusted proxies.
//!
//! The request goes from server to server, with the user's own cookies, token and address. **Never take "authorized"
//! from a browser**: any client can claim it.
#![expect(
    clippy::indexing_slicing,
    reason = "indexing a JSON value with an absent name returns null and does not panic"
)]

use std::net::SocketAddr;

use axum::{
    Json, Router,
    extract::{ConnectInfo, State},
    http::{HeaderMap, StatusCode},
    routing::post,
};
use serde_json::{Value, json};

/// Requests `{authorized: true, tenantId, userId, purpose, factor, consumedAt}` or an error response from Gatehouse.
fn consume(gatehouse: &str, headers: &HeaderMap, person: SocketAddr) -> Option<(u16, Value)> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).proxy(None).build().into();
    let mut request = ureq::http::Request::builder()
        .method("POST")
        .uri(format!("{gatehouse}/api/auth/step-up/consume"))
        .header("Content-Type", "application/json")
        .header("X-Forwarded-For", person.ip().to_string());
    for name in ["Cookie", "X-StepUp-Token"] {
        for value in headers.get_all(name) {
            request = request.header(name, value.as_bytes());
        }
    }
    let body = json!({ "purpose": "PAYROLL_SEAL" }).to_string();
    let mut answer = agent.run(request.body(body).ok()?).ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    Some((answer.status().as_u16(), serde_json::from_str(&text).ok()?))
}

async fn seal(
    State((gatehouse, tenant)): State<(String, String)>,
    ConnectInfo(person): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
) -> (StatusCode, Json<Value>) {
    let asked = tokio::task::spawn_blocking(move || consume(&gatehouse, &headers, person)).await;
    match asked.ok().flatten() {
        // A step-up in another tenant does not authorize this payroll.
        Some((200, proof)) if proof["purpose"] == "PAYROLL_SEAL" && proof["tenantId"] == tenant.as_str() => {
            (StatusCode::OK, Json(json!({ "sealed": true, "by": proof["userId"], "with": proof["factor"] })))
        }
        // Pass the error response to the client. STEP_UP_REQUIRED tells it to start a challenge.
        Some((401, refusal)) => (StatusCode::UNAUTHORIZED, Json(refusal)),
        // Without a response, refuse.
        _ => (
            StatusCode::BAD_GATEWAY,
            Json(json!({ "error": "the step-up token could not be verified; try again" })),
        ),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(gatehouse), Some(address), Some(tenant)) = (words.next(), words.next(), words.next()) else {
        return Err("usage: remote GATEHOUSE LISTEN TENANT".into());
    };
    let service = Router::new().route("/payroll/seal", post(seal)).with_state((gatehouse, tenant));
    let listener = tokio::net::TcpListener::bind(address).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await?)
}
