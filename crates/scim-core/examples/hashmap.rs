//! Serves SCIM from a `HashMap`: `cargo run -p scim-core --example hashmap`, then `curl 127.0.0.1:8085/Users`.
use std::{collections::HashMap, sync::Arc};

use kernel::{Actor, Ctx, StoreResult, SystemEnv, TenantId, Timestamp, UserId};
use scim_core::{OnExisting, Query, Request, ResourcePage, Service, User, UserStore};
use tiny_http::{Header, Response};

struct Directory(HashMap<UserId, User>);

#[async_trait::async_trait]
impl UserStore for Directory {
    async fn user(&mut self, id: &UserId) -> StoreResult<Option<User>> {
        Ok(self.0.get(id).cloned())
    }
    async fn user_of_name(&mut self, key: &str) -> StoreResult<Option<User>> {
        Ok(self.0.values().find(|user| user.user_name_key() == key).cloned())
    }
    async fn user_of_sign_in_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        let key = key.parse().ok();
        Ok(self.0.values().find(|user| user.sign_in_email() == key).map(|user| user.id.clone()))
    }
    async fn find_users(&mut self, query: &Query, _: bool) -> StoreResult<ResourcePage<User>> {
        Ok(query.page_of(self.0.values().cloned()))
    }
    async fn insert_user(&mut self, user: &User) -> StoreResult<bool> {
        let free = self.user_of_name(&user.user_name_key()).await?.is_none();
        Ok(free && self.0.insert(user.id.clone(), user.clone()).is_none())
    }
    async fn update_user(&mut self, _: &User, user: &User) -> StoreResult<()> {
        self.0.insert(user.id.clone(), user.clone());
        Ok(())
    }
    async fn delete_user(&mut self, user: &User, _: Timestamp) -> StoreResult<()> {
        self.0.remove(&user.id);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8085".into());
    let (server, base) = (tiny_http::Server::http(&address)?, format!("http://{address}"));
    let (env, mut directory) = (Arc::new(SystemEnv::default()), Directory(HashMap::new()));
    let tenant = TenantId::new(&*env);
    for mut request in server.incoming_requests() {
        let (mut body, url) = (Vec::new(), request.url().to_owned());
        request.as_reader().read_to_end(&mut body)?;
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let scim = Request { method: request.method().as_str(), path, query, body: &body };
        // Check the credential here and determine its tenant.
        let ctx = Ctx::new(env.clone(), tenant.clone(), Actor::scim("example"));
        let mut service = Service { base: &base, on_existing: OnExisting::Refuse, users: &mut directory };
        let answer = service.answer(&ctx, scim).await;
        let mut response = Response::from_string(answer.text()).with_status_code(answer.status);
        let headers = answer.headers().into_iter().flat_map(|(name, value)| Header::from_bytes(name, value));
        headers.for_each(|header| response.add_header(header));
        request.respond(response)?;
    }
    Ok(())
}
