//! SCIM from a `HashMap`: `cargo run -p scim-core --example hashmap -- 127.0.0.1:8085`, and in another
//! window `curl 'http://127.0.0.1:8085/Users?filter=userName%20sw%20%22ada%22'`.
use std::{collections::HashMap, sync::Arc};

use kernel::{Actor, Ctx, StoreError, SystemEnv, TenantId, Timestamp, UserId};
use scim_core::{Found, OnExisting, Query, Request, Service, User, UserStore};

#[derive(Default)]
struct Directory(HashMap<UserId, User>);

#[async_trait::async_trait]
impl UserStore for Directory {
    async fn user(&mut self, id: &UserId) -> Result<Option<User>, StoreError> {
        Ok(self.0.get(id).cloned())
    }
    async fn user_of_name(&mut self, key: &str) -> Result<Option<User>, StoreError> {
        Ok(self.0.values().find(|user| user.user_name_key() == key).cloned())
    }
    async fn user_of_sign_in_email(&mut self, key: &str) -> Result<Option<UserId>, StoreError> {
        let has = |user: &&User| user.sign_in_email().is_some_and(|email| email.key() == key);
        Ok(self.0.values().find(has).map(|user| user.id.clone()))
    }
    async fn find_users(&mut self, query: &Query, _: bool) -> Result<Found<User>, StoreError> {
        Ok(query.among(self.0.values().cloned()))
    }
    async fn insert_user(&mut self, user: &User) -> Result<bool, StoreError> {
        let free = self.user_of_name(&user.user_name_key()).await?.is_none();
        Ok(free && self.0.insert(user.id.clone(), user.clone()).is_none())
    }
    async fn update_user(&mut self, _: &User, user: &User) -> Result<(), StoreError> {
        self.0.insert(user.id.clone(), user.clone());
        Ok(())
    }
    async fn delete_user(&mut self, user: &User, _: Timestamp) -> Result<(), StoreError> {
        self.0.remove(&user.id);
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let address = std::env::args().nth(1).unwrap_or("127.0.0.1:8085".into());
    let (server, base) = (tiny_http::Server::http(&address)?, format!("http://{address}"));
    let env = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let mut directory = Directory::default();
    for mut request in server.incoming_requests() {
        let (mut body, url) = (Vec::new(), request.url().to_owned());
        request.as_reader().read_to_end(&mut body)?;
        let (path, query) = url.split_once('?').unwrap_or((&url, ""));
        let scim = Request { method: request.method().as_str(), path, query, body: &body };
        // Here your service checks the credential, and learns whose tenant it is.
        let ctx = Ctx::new(env.clone(), tenant.clone(), Actor::scim("example"));
        let mut service = Service { base: &base, on_existing: OnExisting::Refuse, users: &mut directory };
        let answer = service.answer(&ctx, scim).await;
        let json = answer.body.map(|body| body.to_string()).unwrap_or_default();
        request.respond(tiny_http::Response::from_string(json).with_status_code(answer.status))?;
    }
    Ok(())
}
