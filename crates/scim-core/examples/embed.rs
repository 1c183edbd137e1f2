//! Provisioning inside a service of your own: bring a store, a context, and the JSON a client sent.
//!
//! `cargo run -p scim-core --example embed`

use std::sync::Arc;

use kernel::{Actor, Ctx, SystemEnv, TenantId};
use scim_core::{Draft, Lookup, OnExisting, Page, memory::MemoryStore};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), scim_core::Error> {
    let env = Arc::new(SystemEnv::default());
    let tenant = TenantId::new(&*env);
    let ctx = Ctx::new(env, tenant, Actor::scim("sct_example"));
    let mut store = MemoryStore::new();

    let body = json!({ "userName": "ada@example.com", "name": { "givenName": "Ada" } });
    let created = scim_core::create(&ctx, &mut store, Draft::read(&body)?, OnExisting::Answer).await?;
    println!("created: {created:?}");

    let lookup = Lookup::parse(r#"userName eq "ADA@example.com""#)?;
    let found = scim_core::list(&mut store, Some(&lookup), Page::parse(None, None)?).await?;
    for user in &found.users {
        println!("{}", user.to_json("https://api.example.com/scim/v2"));
    }
    assert_eq!(found.total, 1);
    Ok(())
}
