//! Serves SCIM from a `HashMap`: `cargo run -p gatehouse-scim-core --example hashmap`, then `curl 127.0.0.1:8085/Users`.
use std::{collections::HashMap, sync::Arc};

use axum::{Router, body::Bytes, extract::State, http::Method, http::Uri, response::Response};
use scim_core::{Ctx, Request, Service, StoreResult, TableStore, User, UserId, UserTable, async_trait};
use tokio::{net::TcpListener, sync::Mutex};

struct Directory(HashMap<UserId, User>);

#[async_trait]
impl UserTable for Directory {
    async fn users(&mut self) -> StoreResult<Vec<User>> {
        Ok(self.0.values().cloned().collect())
    }
    async fn put(&mut self, user: &User) -> StoreResult<()> {
        self.0.insert(user.id.clone(), user.clone());
        Ok(())
    }
    async fn delete(&mut self, id: &UserId) -> StoreResult<()> {
        self.0.remove(id);
        Ok(())
    }
}

type Shared = Arc<Mutex<TableStore<Directory>>>;

async fn scim(State(store): State<Shared>, method: Method, url: Uri, body: Bytes) -> Response<String> {
    // Check the bearer token here. It belongs to one tenant.
    let ctx = Ctx::system(1.into(), "example");
    let (method, query) = (method.as_str(), url.query().unwrap_or_default());
    let mut store = store.lock().await;
    let mut service = Service::of_users("http://127.0.0.1:8085", &mut *store);
    service.answer(&ctx, Request { method, path: url.path(), query, body: &body }).await.into()
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let store = Arc::new(Mutex::new(TableStore(Directory(HashMap::new()))));
    let listener = TcpListener::bind(std::env::args().nth(1).unwrap_or("127.0.0.1:8085".into())).await?;
    axum::serve(listener, Router::new().fallback(scim).with_state(store)).await
}
