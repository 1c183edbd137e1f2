//! Tokens, people, entries and tenants, as the areas need them, on both databases.

use std::collections::BTreeSet;

use crate::support::{World, on_both};
use audit::{AuditStore, Audited, Event, events::users::UserDeactivated};
use directory::{NewPerson, NewTenant, PeopleStore, Role, Tenant, TenantStore, Tier};
use kernel::{StoreError, StoreResult};
use scim_core::{
    Filter, Group, GroupDraft, GroupStore, MemberChanges, Query, UserDraft, UserStore,
    schema::{GROUPS, USERS},
};
use serde_json::json;
use store::testing::{Kind, TestDatabase};
use tokens::{NewScimToken, ScimTokenStore};

#[tokio::test(flavor = "multi_thread")]
async fn tenants_tokens_and_people() {
    on_both(async |world: World| {
        let env = world.env.clone();
        let new = NewTenant { slug: "acme".into(), name: "Acme".into(), tier: Tier::Standard };
        let acme = Tenant::new(&*env, new.clone()).unwrap();
        let again = Tenant::new(&*env, new).unwrap();
        for (tenant, free) in [(&acme, true), (&again, false)] {
            let tenant = tenant.clone();
            let inserted =
                world.change(&tenant.id.clone(), async move |_, tx| tx.insert_tenant(&tenant).await).await;
            assert_eq!(inserted.unwrap(), free);
        }
        let other = world.ctx().tenant;
        let stray = world.change(&other, async move |_, tx| tx.insert_tenant(&again).await).await;
        assert!(
            matches!(stray, Err(StoreError::Aborted(_))),
            "a tenant is stored only in its own unit of work"
        );

        let found = world.store.across(async |across| across.tenant_of_slug("acme").await).await.unwrap();
        assert_eq!(found.as_ref(), Some(&acme));

        let new = NewScimToken { name: "Okta".into(), create_conflict: true, dry_run: false };
        let minted =
            world.change(&acme.id, async move |ctx, tx| Ok(tokens::mint(ctx, tx, new).await.unwrap())).await;
        let (token, raw) = minted.unwrap();
        let (tenant, key) = (acme.id.clone(), store::CredentialKey::ScimToken(raw.hash()));
        let find = async |across: &mut store::Across| across.credential(&tenant, &key).await;
        let Some(store::Credential::ScimToken(found, network)) = world.store.across(find).await.unwrap()
        else {
            panic!("the token was not found")
        };
        assert_eq!((&found, network), (&token, store::NetworkMark::default()));
        let elsewhere = async |across: &mut store::Across| across.credential(&other, &key).await;
        assert!(
            world.store.across(elsewhere).await.unwrap().is_none(),
            "a token is valid only in its own tenant"
        );
        let owner = async |across: &mut store::Across| across.tenant_of_scim_token(&token.id).await;
        assert_eq!(world.store.across(owner).await.unwrap().as_ref(), Some(&acme.id));

        let listed = world.change(&acme.id, async move |_, tx| tx.scim_tokens().await).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(&token));

        for (revoked, at) in [(true, world.ctx().now), (false, world.ctx().now)] {
            let id = token.id.clone();
            let done = world.change(&acme.id, async move |_, tx| tx.revoke_scim_token(&id, at).await).await;
            assert_eq!(done.unwrap(), revoked, "a token is revoked once");
        }
        let id = token.id.clone();
        let kept =
            world.change(&acme.id, async move |_, tx| tx.scim_token(&id).await).await.unwrap().unwrap();
        assert!(kept.revoked_at.is_some());

        let new =
            NewPerson { email: "Ada@Example.com".parse().unwrap(), role: Role::Admin, display_name: None };
        let made = world.change(&acme.id, async move |ctx, tx| {
            let ada = directory::create_person(ctx, tx, new).await.unwrap();
            assert!(
                !tx.insert_person(&directory::Person { id: kernel::UserId::new(&*ctx.env), ..ada.clone() })
                    .await?
            );
            let user = tx.user(&ada.id).await?.unwrap();
            assert_eq!(user.user_name, "Ada@Example.com");
            assert_eq!(user.sign_in_email().unwrap(), ada.email.clone().unwrap());
            Ok(())
        });
        made.await.unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_are_stored_as_they_were_hashed() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let tenant = ctx.tenant.clone();
        let event = audit::Event::new(
            "usr_1",
            &audit::events::users::UserUpdated { changed: vec!["title\"é".into()] },
        );
        let entry = audit::Entry::new(&ctx, event);
        let (leaf, kept) = (entry.leaf(), entry.clone());
        world.change(&tenant, async move |_, tx| tx.append(&[kept]).await).await.unwrap();
        let read = world.store.read(tenant, async |tx: &mut store::Tx| tx.latest(10).await).await.unwrap();
        let read: Vec<_> = read.into_iter().filter(|read| read.action == "ACCOUNT_USER_UPDATED").collect();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].id, entry.id.to_string());
        assert_eq!(read[0].timestamp, entry.timestamp);
        assert_eq!(read[0].metadata, entry.event.data, "byte for byte");
        assert_eq!(read[0].leaf, leaf);

        let stray = world.change(&world.other_tenant(), async move |_, tx| tx.append(&[entry]).await).await;
        assert!(
            matches!(stray, Err(StoreError::Aborted(_))),
            "an entry is recorded in its own tenant's log only"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_isolated() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let draft =
            UserDraft::read(&json!({ "userName": "ada", "externalId": "1", "emails": ["ada@x.example"] }))
                .unwrap();
        let ada = scim_core::User::new(&ctx, draft.clone()).unwrap();
        let kept = ada.clone();
        let engines = GroupDraft::read(&json!({ "displayName": "Engines" })).unwrap();
        let engines = Group::new(&ctx, &engines).unwrap();
        let (group, joining) = (engines.clone(), MemberChanges::exactly([ada.id.clone()].into()));
        let made = world.change(&ctx.tenant, async move |_, tx| {
            assert!(tx.insert_user(&kept).await?);
            assert!(tx.insert_group(&group).await?);
            tx.change_members(&group.id, &joining).await
        });
        assert_eq!(made.await.unwrap().joined, std::slice::from_ref(&ada.id));
        let other = world.other_tenant();
        let mine = scim_core::User::new(&ctx, draft).unwrap();
        let seen = world.change(&other, async move |_, tx| {
            assert!(tx.user(&ada.id).await?.is_none());
            assert!(tx.user_for_update(&ada.id).await?.is_none());
            assert!(tx.user_of_name("ada").await?.is_none());
            assert!(tx.user_of_sign_in_email("ada@x.example").await?.is_none());
            let mut renamed = ada.clone();
            renamed.user_name = "eve".into();
            assert!(matches!(tx.update_user(&ada, &renamed).await, Err(StoreError::Aborted(_))));
            assert!(matches!(tx.delete_user(&ada, ada.created).await, Err(StoreError::Aborted(_))));
            for filter in [
                None,
                Some(r#"userName eq "ada""#),
                Some(r#"externalId eq "1""#),
                Some(r#"emails.value eq "ada@x.example""#),
                Some(r#"emails[value eq "ada@x.example" and not (type pr)]"#),
                Some("not (title pr) or groups pr"),
            ] {
                let filter = filter.map(|text| Filter::parse(&USERS, text).unwrap());
                let query = Query { filter, ..Query::default() };
                assert_eq!(tx.find_users(&query, true).await?.total, 0, "{query:?}");
            }
            assert!(tx.group(&engines.id).await?.is_none());
            assert!(tx.group_for_update(&engines.id).await?.is_none());
            assert_eq!(tx.find_groups(&Query::default()).await?.total, 0);
            let filter = Filter::parse(&GROUPS, &format!(r#"members eq "{}""#, ada.id)).unwrap();
            let query = Query { filter: Some(filter), ..Query::default() };
            assert_eq!(tx.find_groups(&query).await?.total, 0);
            assert!(tx.members(std::slice::from_ref(&engines.id), 10).await?.is_empty());
            assert_eq!(tx.strangers(std::slice::from_ref(&ada.id)).await?, std::slice::from_ref(&ada.id));
            assert!(matches!(tx.update_group(&engines).await, Err(StoreError::Aborted(_))));
            assert!(matches!(tx.delete_group(&engines.id).await, Err(StoreError::Aborted(_))));
            let no_members = MemberChanges::exactly(BTreeSet::default());
            assert!(tx.change_members(&engines.id, &no_members).await?.is_empty());
            // The same names are free in this tenant.
            assert!(tx.insert_user(&mine).await?);
            Ok(ada)
        });
        let ada = seen.await.unwrap();
        let kept = world
            .store
            .read(ctx.tenant, async move |tx: &mut store::Tx| tx.user(&ada.id).await)
            .await
            .unwrap();
        assert_eq!(kept.unwrap().user_name, "ada", "the other tenant is unchanged");
    })
    .await;
}

#[test]
fn both_databases_are_tested() {
    assert_eq!(Kind::ALL, [Kind::Sqlite, Kind::Postgres]);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_without_folded_attributes_are_found_after_migration() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let body = json!({ "userName": "ada", "name": { "familyName": "ÉCLAIR" } });
        let ada = scim_core::User::new(&ctx, UserDraft::read(&body).unwrap()).unwrap();
        world.change(&ctx.tenant, async move |_, tx| tx.insert_user(&ada).await).await.unwrap();
        let total = async || {
            let filter = Filter::parse(&USERS, r#"name.familyName eq "éclair""#).unwrap();
            let query = Query { filter: Some(filter), ..Query::default() };
            let find = async move |tx: &mut store::Tx| tx.find_users(&query, false).await;
            world.store.read(ctx.tenant.clone(), find).await.unwrap().total
        };
        assert_eq!(total().await, 1);
        world.raw("UPDATE users SET folded = NULL").await;
        assert_eq!(total().await, 0);
        if world.kind == Kind::Postgres {
            // A distributed database is not searched, because a node may be down.
            let refuses = world.store.is_behind().await.unwrap();
            assert_eq!(refuses, !TestDatabase::is_distributed(), "a server refuses to start");
        }
        // Migrating, or opening an SQLite database, fills the column.
        world.reopened().migrate().await.unwrap();
        assert_eq!(total().await, 1);
        assert!(!world.store.is_behind().await.unwrap());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn user_deleted_while_joining_is_in_no_group() {
    on_both(async |world: World| {
        for round in 0..20 {
            let ctx = world.ctx();
            let ada = UserDraft::read(&json!({ "userName": format!("ada-{round}") })).unwrap();
            let ada = scim_core::User::new(&ctx, ada).unwrap();
            let group = GroupDraft::read(&json!({ "displayName": format!("g-{round}") })).unwrap();
            let group = Group::new(&ctx, &group).unwrap();
            let (user, made) = (ada.clone(), group.clone());
            let make = world.change(&ctx.tenant, async move |_, tx| {
                assert!(tx.insert_user(&user).await? && tx.insert_group(&made).await?);
                Ok(())
            });
            make.await.unwrap();
            let (joining, into) = (ada.id.clone(), group.id.clone());
            let join = world.store.write(world.ctx(), async move |ctx, tx| {
                let add = json!({ "Operations": [{ "op": "add", "path": "members", "value": [joining] }] });
                let add = scim_core::Patch::read(&GROUPS, &add)?;
                scim_core::groups::patch(ctx, tx, &into, &add).await?;
                Ok::<_, scim_core::Error>(Audited::new((), Event::new("test", &UserDeactivated {})))
            });
            let leaving = ada.id.clone();
            let delete = world.store.write(world.ctx(), async move |ctx, tx| {
                scim_core::users::delete(ctx, tx, &leaving).await?;
                Ok::<_, scim_core::Error>(Audited::new((), Event::new("test", &UserDeactivated {})))
            });
            let (joined, deleted) = tokio::join!(join, delete);
            deleted.unwrap();
            // Either the user joined first and was removed again, or the join failed because the user no longer
            // exists.
            assert!(matches!(joined, Ok(()) | Err(scim_core::Error::InvalidValue { .. })), "{joined:?}");
            let id = group.id.clone();
            let read = async move |tx: &mut store::Tx| tx.members(&[id], 10).await;
            let members: StoreResult<_> = world.store.read(ctx.tenant, read).await;
            assert_eq!(members.unwrap(), [], "round {round}");
        }
    })
    .await;
}
