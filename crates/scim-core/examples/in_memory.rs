//! Serves SCIM from memory: `SCIM_TOKEN=$(openssl rand -hex 32) cargo run -p gatehouse-scim-core --example in_memory`.
use std::{error::Error, sync::Arc};

use axum::{Router, body::Bytes, extract::State, http::request::Parts, response::Response};
use scim_core::{BearerToken, Ctx, MemoryStore, Request};
use tokio::{net::TcpListener, sync::Mutex};

/// The URL that the identity provider uses.
const BASE: &str = "http://127.0.0.1:8085/scim/v2";

type App = State<Arc<(BearerToken, Mutex<MemoryStore>)>>;

async fn scim(app: App, parts: Parts, body: Bytes) -> Result<Response<String>, Response<String>> {
    let (token, store) = &**app;
    token.check_request(&parts)?;
    // The token belongs to one tenant.
    let ctx = Ctx::system(1.into(), "example");
    let answer = store.lock().await.answer(BASE, &ctx, Request::from_parts(&parts, &body)).await;
    Ok(answer.into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let app = Arc::new((BearerToken::from_env("SCIM_TOKEN")?, Mutex::new(MemoryStore::new())));
    let routes = Router::new().nest("/scim/v2", Router::new().fallback(scim)).with_state(app);
    let listener = TcpListener::bind(std::env::args().nth(1).unwrap_or("127.0.0.1:8085".into())).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, routes).await?)
}
