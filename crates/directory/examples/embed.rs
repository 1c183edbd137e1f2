//! The directory inside a service of your own: bring a store; make a tenant and its first administrator.
//!
//! `cargo run -p directory --example embed`

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use directory::{NewPerson, NewTenant, PeopleStore, Person, Role, Tenant, TenantStore, Tier};
use kernel::{Actor, Ctx, StoreError, SystemEnv};

/// Tenants by slug, people by the key of their address.
#[derive(Default)]
struct Directory {
    tenants: BTreeMap<String, Tenant>,
    people: BTreeMap<String, Person>,
}

#[async_trait]
impl TenantStore for Directory {
    async fn insert_tenant(&mut self, tenant: &Tenant) -> Result<bool, StoreError> {
        let free = !self.tenants.contains_key(&tenant.slug);
        self.tenants.entry(tenant.slug.clone()).or_insert_with(|| tenant.clone());
        Ok(free)
    }
}

#[async_trait]
impl PeopleStore for Directory {
    async fn insert_person(&mut self, person: &Person) -> Result<bool, StoreError> {
        let free = !self.people.contains_key(&person.email.key());
        self.people.entry(person.email.key()).or_insert_with(|| person.clone());
        Ok(free)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let env = Arc::new(SystemEnv::default());
    let mut store = Directory::default();
    let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
    let acme = Tenant::new(&*env, new)?;
    directory::create_tenant(&mut store, &acme).await?;

    let ctx = Ctx::new(env, acme.id.clone(), Actor::system("example"));
    let new = || NewPerson {
        email: "Ada@Example.com".parse().unwrap_or_else(|_| unreachable!()),
        role: Role::Admin,
    };
    let ada = directory::create_person(&ctx, &mut store, new()).await?;
    println!("{} ({}) administers {}", ada.email, ada.id, acme.slug);
    assert!(
        directory::create_person(&ctx, &mut store, new()).await.is_err(),
        "an address belongs to one person"
    );
    Ok(())
}
