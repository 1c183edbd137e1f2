//! Fills a database for benchmarks: many users in one tenant, a few in each of many others.
//!
//! `seed DATABASE_URL TENANT_ID USERS OTHER_TENANTS MASTER_KEY`. `MASTER_KEY` is the server's. User n is
//! `user-00000n@example.com`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a measuring instrument stops by panicking"
)]

use std::sync::Arc;

use audit::{Audited, EntryKeys, Event, events::tenants::TenantCreated};
use directory::{NewTenant, Tenant, Tier};
use kernel::{Actor, Ctx, Env, MasterKeys, Secret, StoreError, SystemEnv, TenantId};
use scim_core::{User, UserDraft, UserStore};
use serde_json::json;
use store::{Store, Tx};

/// Users per transaction.
const BATCH: usize = 1_000;
/// Users of each other tenant.
const FEW: usize = 5;

#[tokio::main]
async fn main() {
    let words: Vec<_> = std::env::args().collect();
    let master = data_encoding::BASE64.decode(words[5].as_bytes()).unwrap();
    let keys = EntryKeys::derive(&MasterKeys::new(vec![("1".to_owned(), Secret::new(master))]).unwrap());
    let store = Store::open(&words[1].parse().unwrap(), 2, keys).unwrap();
    let env: Arc<dyn Env> = Arc::new(SystemEnv::default());
    let (users, others): (usize, usize) = (words[3].parse().unwrap(), words[4].parse().unwrap());
    fill(&store, &env, words[2].parse().unwrap(), users).await;
    for number in 0..others {
        let name = format!("other-{number}");
        let new = NewTenant { slug: name.clone(), name, tier: Tier::Free };
        let tenant = Tenant::new(&*env, new).unwrap();
        let id = tenant.id.clone();
        let make = async move |_: &Ctx, tx: &mut Tx| {
            directory::create_tenant(tx, &tenant).await.unwrap();
            let data = TenantCreated { slug: tenant.slug.clone(), tier: tenant.tier.as_str() };
            Ok::<_, StoreError>(Audited::new((), Event::new(tenant.id.as_str(), &data)))
        };
        store.write(ctx(&env, &id), make).await.unwrap();
        fill(&store, &env, id, FEW).await;
    }
}

fn ctx(env: &Arc<dyn Env>, tenant: &TenantId) -> Ctx {
    Ctx::new(Arc::clone(env), tenant.clone(), Actor::system("seed"))
}

async fn fill(store: &Store, env: &Arc<dyn Env>, tenant: TenantId, users: usize) {
    for first in (0..users).step_by(BATCH) {
        let numbers = first..users.min(first + BATCH);
        let make = async move |ctx: &Ctx, tx: &mut Tx| {
            for number in numbers {
                assert!(tx.insert_user(&user(ctx, number)).await?);
            }
            let data = TenantCreated { slug: "seeded".into(), tier: "FREE" };
            Ok::<_, StoreError>(Audited::new((), Event::new(ctx.tenant.as_str(), &data)))
        };
        store.write(ctx(env, &tenant), make).await.unwrap();
    }
}

fn user(ctx: &Ctx, number: usize) -> User {
    let name = format!("user-{number:06}");
    let body = json!({
        "userName": format!("{name}@example.com"),
        "externalId": format!("ext-{number:06}"),
        "name": { "givenName": "Ada", "familyName": format!("Lovelace {}", number % 1000) },
        "emails": [
            { "value": format!("{name}@example.com"), "type": "work", "primary": true },
            { "value": format!("{name}@home.example"), "type": "home" },
        ],
        "active": !number.is_multiple_of(100),
    });
    User::new(ctx, UserDraft::read(&body).unwrap()).unwrap()
}
