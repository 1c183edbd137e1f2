//! The directory inside your own service: provide a store, then create a tenant and its first administrator.
//!
//! `cargo run -p gatehouse-directory --example embed_directory`

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use directory::{
    HeldRoles, NewPerson, NewTenant, PeopleQuery, PeopleStore, Permissions, Person, Role, Tenant,
    TenantStore, Tier,
};
use kernel::{Actor, Ctx, Email, StoreResult, SystemEnv, Timestamp, UserId};

/// Stores tenants by slug and people by the key of their address.
#[derive(Default)]
struct Directory {
    tenants: BTreeMap<String, Tenant>,
    people: BTreeMap<String, Person>,
}

#[async_trait]
impl TenantStore for Directory {
    async fn insert_tenant(&mut self, tenant: &Tenant) -> StoreResult<bool> {
        let free = !self.tenants.contains_key(&tenant.slug);
        self.tenants.entry(tenant.slug.clone()).or_insert_with(|| tenant.clone());
        Ok(free)
    }

    // This example has one tenant. A service returns the tenant of the unit of work.
    async fn own_tenant(&mut self) -> StoreResult<Option<Tenant>> {
        Ok(self.tenants.values().next().cloned())
    }

    async fn rename_tenant(&mut self, name: &str) -> StoreResult<()> {
        if let Some(tenant) = self.tenants.values_mut().next() {
            name.clone_into(&mut tenant.name);
        }
        Ok(())
    }
}

#[async_trait]
impl PeopleStore for Directory {
    async fn insert_person(&mut self, person: &Person) -> StoreResult<bool> {
        let key = person.email.as_ref().map(Email::key).unwrap_or_default();
        let free = !self.people.contains_key(&key);
        self.people.entry(key).or_insert_with(|| person.clone());
        Ok(free)
    }

    async fn person(&mut self, id: &UserId) -> StoreResult<Option<Person>> {
        Ok(self.people.values().find(|person| person.id == *id).cloned())
    }

    async fn user_of_email(&mut self, key: &str) -> StoreResult<Option<UserId>> {
        Ok(self.people.get(key).map(|person| person.id.clone()))
    }

    async fn people(
        &mut self,
        query: &PeopleQuery,
        after: Option<&UserId>,
        limit: i64,
    ) -> StoreResult<Vec<Person>> {
        let mut people: Vec<_> = self
            .people
            .values()
            .filter(|person| after.is_none_or(|after| person.id > *after) && query.matches(person, &[]))
            .cloned()
            .collect();
        people.sort_by(|a, b| a.id.cmp(&b.id));
        people.truncate(usize::try_from(limit).unwrap_or_default());
        Ok(people)
    }

    async fn update_person(&mut self, before: &Person, after: &Person) -> StoreResult<bool> {
        self.people.retain(|_, person| person.id != before.id);
        self.insert_person(after).await
    }

    async fn delete_person(&mut self, person: &Person, _: Timestamp) -> StoreResult<()> {
        self.people.retain(|_, kept| kept.id != person.id);
        Ok(())
    }

    async fn held_roles(&mut self, person: &Person) -> StoreResult<HeldRoles> {
        // This service has no roles of its own, and no rules that give roles.
        Ok(HeldRoles::new(person.role.clone(), Vec::new(), Permissions::NONE))
    }

    async fn another_admin(&mut self, than: &UserId) -> StoreResult<bool> {
        Ok(self
            .people
            .values()
            .any(|person| person.role == Role::Admin && person.active && person.id != *than))
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
        display_name: None,
    };
    let ada = directory::create_person(&ctx, &mut store, new()).await?;
    println!("{} ({}) administers {}", ada.user_name, ada.id, acme.slug);
    let changes = directory::AccountChanges { role: Some(Role::Member), ..Default::default() };
    let refused = directory::change_person(&ctx, &mut store, &ada, changes).await;
    assert!(refused.is_err(), "the last administrator cannot become a member");
    assert!(directory::create_person(&ctx, &mut store, new()).await.is_err(), "email addresses are unique");
    Ok(())
}
