//! Handles SCIM provisioning inside your own service, given a store, a context and the client's JSON.
//!
//! `cargo run -p gatehouse-scim-core --example embed_scim_core`

use scim_core::{Ctx, OnExisting, Params, Patch, UserDraft, memory::MemoryStore, schema::USERS, users};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = Ctx::system("acme".parse()?, "example");
    let mut store = MemoryStore::new();

    let body = json!({ "userName": "ada@example.com", "name": { "givenName": "Ada" } });
    let created = users::create(&ctx, &mut store, UserDraft::read(&body)?, OnExisting::Refuse).await?;
    println!("created: {created:?}");

    let params = Params::of_query("filter=name.givenName+sw+%22ad%22+and+not+(title+pr)&attributes=userName");
    let found = users::list(&mut store, &params.query(&USERS)?, false).await?;
    assert_eq!(found.total, 1);

    let patch = json!({ "Operations": [{ "op": "Add", "path": "emails[type eq \"work\"].value", "value": "a@b.example" }] });
    for user in found.resources {
        let changed = users::patch(&ctx, &mut store, &user.id, &Patch::read(&USERS, &patch)?).await?;
        println!(
            "changed {:?}: {}",
            changed.changed,
            changed.user.into_json("https://api.example.com/scim/v2")
        );
        println!(
            "answered: {}",
            params.projection(&USERS).of(user.into_json("https://api.example.com/scim/v2"))
        );
    }
    Ok(())
}
