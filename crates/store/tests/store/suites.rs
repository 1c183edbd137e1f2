//! Runs the conformance suites of the areas' storage traits on both databases.

use credentials::{Passkeys, conformance::Authenticator};
use directory::{NewTenant, Person, Role, Tenant, Tier};
use kernel::{Ctx, StoreResult, UserId};
use scim_core::{Group, GroupDraft, GroupStore, MemberChanges};
use serde_json::json;
use store::Tx;
use tokens::NewScimToken;

use crate::{
    saml::provider,
    support::{World, on_both},
};

/// Runs a suite in a unit of work of a tenant that exists.
async fn in_tenant(suite: impl AsyncFnOnce(&Ctx, &mut Tx) -> StoreResult<()> + Send + Copy + 'static) {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
        let acme = Tenant { id: ctx.tenant.clone(), ..Tenant::new(&*world.env, new).unwrap() };
        let run = async move |ctx: &Ctx, tx: &mut Tx| {
            directory::conformance::tenant(tx, &acme).await;
            suite(ctx, tx).await
        };
        world.change(&ctx.tenant, run).await.unwrap();
    })
    .await;
}

/// Creates two users.
async fn ada_and_bob(ctx: &Ctx, tx: &mut Tx) -> [Person; 2] {
    let ada = directory::conformance::person(ctx, tx, "ada@example.com", Role::Member).await;
    let bob = directory::conformance::person(ctx, tx, "bob@example.com", Role::Admin).await;
    [ada, bob]
}

#[tokio::test(flavor = "multi_thread")]
async fn users_and_groups() {
    in_tenant(async |ctx, tx| {
        scim_core::conformance::users(ctx, tx).await;
        scim_core::conformance::groups(ctx, tx).await;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn step_ups() {
    in_tenant(async |ctx, tx| {
        stepup::conformance::store(ctx, tx).await;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn network_policies() {
    in_tenant(async |ctx, tx| netpolicy::conformance::store(ctx, tx).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_and_removals() {
    in_tenant(async |ctx, tx| {
        let [ada, bob] = ada_and_bob(ctx, tx).await;
        let eve = directory::conformance::person(ctx, tx, "eve@example.com", Role::Member).await;
        tokens::conformance::pats(ctx, tx, &ada.id, &bob.id).await;
        tokens::conformance::scim_tokens(ctx, tx).await;
        let new = NewScimToken { name: "Okta".into(), create_conflict: false, dry_run: false };
        let (one, _) = tokens::mint(ctx, tx, new.clone()).await.unwrap();
        let (other, _) = tokens::mint(ctx, tx, new).await.unwrap();
        tokens::conformance::removals(ctx, tx, [&one.id, &other.id], [&ada.id, &bob.id, &eve.id]).await;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_users() {
    in_tenant(async |ctx, tx| {
        let [ada, bob] = ada_and_bob(ctx, tx).await;
        sessions::conformance::sessions(ctx, tx, &ada.id, &bob.id).await;
        sessions::conformance::bound_sessions(ctx, tx, &ada.id).await;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_users() {
    in_tenant(async |ctx, tx| {
        let users = ada_and_bob(ctx, tx).await.map(|person| person.id);
        let users: [&UserId; 2] = users.each_ref();
        let origin = "https://id.example.com";
        let relying_party = Passkeys::new("Gatehouse", origin, &[]).unwrap();
        let passkey = Authenticator::new(origin).enrol(&relying_party, b"handle", ctx.now);
        credentials::conformance::factors(ctx, tx, users, &passkey).await;
        credentials::conformance::tickets(ctx, tx, users[0], users[1]).await;
        credentials::conformance::sign_in(ctx, tx, users[0], users[1]).await;
        credentials::conformance::attempts(ctx, tx).await;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn people_and_links() {
    in_tenant(async |ctx, tx| {
        directory::conformance::people(ctx, tx).await;
        Ok(())
    })
    .await;
    in_tenant(async |ctx, tx| {
        let [ada, bob] = ada_and_bob(ctx, tx).await;
        directory::conformance::links(ctx, tx, &ada, &bob).await;
        directory::conformance::roles(ctx, tx, &ada).await;
        Ok(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_that_give_roles() {
    in_tenant(async |ctx, tx| {
        let [ada, bob] = ada_and_bob(ctx, tx).await;
        let group = Group::new(ctx, &GroupDraft::read(&json!({ "displayName": "Staff" })).unwrap()).unwrap();
        assert!(tx.insert_group(&group).await?);
        let members = MemberChanges::exactly([ada.id.clone(), bob.id.clone()].into());
        tx.change_members(&group.id, &members).await?;
        directory::conformance::rules(ctx, tx, &group.id, &ada, &bob).await;
        let provider = provider(&*ctx.env, &ctx.tenant, &["example.com"]);
        saml_sp::ProviderStore::insert_provider(tx, &provider).await?;
        directory::conformance::connections(ctx, tx, &provider.id.to_string(), &ada).await;
        Ok(())
    })
    .await;
}
