//! Serves SCIM from a `HashMap`: `cargo run -p gatehouse-scim-core --example hashmap`, then `curl 127.0.0.1:8085/Users`.
use std::{collections::HashMap, sync::Arc};

use axum::{Router, body::Bytes, extract::State, http::request::Parts, response::Response};
use scim_core::{Ctx, Request, Service, TableStore, User, UserId};
use tokio::{net::TcpListener, sync::Mutex};

type Users = TableStore<HashMap<UserId, User>>;

async fn scim(State(users): State<Arc<Mutex<Users>>>, parts: Parts, body: Bytes) -> Response<String> {
    // Check the bearer token in `parts.headers` here: `return Answer::unauthorized().into()`. It belongs to one tenant.
    let ctx = Ctx::system(1.into(), "example");
    let mut users = users.lock().await;
    let mut service = Service::of_users("http://127.0.0.1:8085", &mut *users);
    service.answer(&ctx, Request::from_parts(&parts, &body)).await.into()
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let users = Arc::new(Mutex::new(Users::default()));
    let listener = TcpListener::bind(std::env::args().nth(1).unwrap_or("127.0.0.1:8085".into())).await?;
    axum::serve(listener, Router::new().fallback(scim).with_state(users)).await
}
