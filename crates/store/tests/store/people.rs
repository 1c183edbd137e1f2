//! Lists of people, restricted by a query, and their summaries.

use std::collections::BTreeSet;

use credentials::{Factor, FactorData, FactorId, FactorStore};
use directory::{NewPerson, PeopleQuery, PeopleStore, Role, Source, create_person};
use kernel::{Ctx, GroupId, StoreResult, TenantId};
use scim_core::{Group, GroupDraft, GroupStore, MemberChanges, User, UserDraft, UserStore};
use serde_json::json;
use store::Tx;

use crate::support::{World, on_both};

/// Creates an administrator with a factor, a member, and a disabled user of the directory who is in a group.
async fn staff(ctx: &Ctx, tx: &mut Tx) -> StoreResult<GroupId> {
    let new = |email: &str, role| NewPerson {
        email: email.parse().unwrap(),
        role,
        display_name: Some(format!("Name of {email}")),
    };
    let ada = create_person(ctx, tx, new("ada@example.com", Role::Admin)).await.unwrap();
    create_person(ctx, tx, new("bob@EXAMPLE.com", Role::Member)).await.unwrap();
    for (name, verified_at) in [("app", Some(ctx.now)), ("pending", None)] {
        let factor = Factor {
            id: FactorId::new(&*ctx.env),
            user: ada.id.clone(),
            name: name.into(),
            created_at: ctx.now,
            verified_at,
            last_used_at: None,
            data: FactorData::Totp { sealed: vec![1], last_step: 0 },
        };
        assert!(tx.insert_factor(&factor).await?);
    }
    let carol = json!({
        "userName": "carol", "externalId": "C-1", "active": false, "displayName": "100% \"Cärol\"",
        "emails": [{ "value": "carol@works.example", "primary": true }],
    });
    let carol = User::new(ctx, UserDraft::read(&carol).unwrap()).unwrap();
    assert!(tx.insert_user(&carol).await?);
    let group = Group::new(ctx, &GroupDraft::read(&json!({ "displayName": "G" })).unwrap()).unwrap();
    assert!(tx.insert_group(&group).await?);
    let changes = MemberChanges::exactly([carol.id].into());
    tx.change_members(&group.id, &changes).await?;
    Ok(group.id)
}

/// Returns the names of the people who match, up to the first `@`.
async fn found(world: &World, tenant: TenantId, query: PeopleQuery) -> String {
    let find = async move |tx: &mut Tx| tx.people(&query, None, 10).await;
    let found = world.store.scan(tenant, find).await.unwrap();
    let name = |account: &str| account.split('@').next().unwrap().to_owned();
    // Users created in the same millisecond are in no particular order.
    let names: BTreeSet<_> = found.iter().map(|person| name(person.account())).collect();
    names.into_iter().collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_found_by_each_member_of_the_query() {
    on_both(async |world: World| {
        let tenant = world.ctx().tenant;
        let group = world.change(&tenant, async |ctx, tx| staff(ctx, tx).await).await.unwrap();
        let all = PeopleQuery::default;
        let text = |text: &str| PeopleQuery { text: Some(text.into()), ..all() };
        for (query, expected) in [
            (all(), "ada bob carol"),
            (text("NAME OF a"), "ada"),
            (text("@example.COM"), "ada bob"),
            (text("0% \"cÄ"), "carol"),
            (text("%"), "carol"),
            (text("_"), ""),
            (PeopleQuery { role: Some(Role::Admin), ..all() }, "ada"),
            (PeopleQuery { role: Some(Role::Member), ..all() }, "bob carol"),
            (PeopleQuery { active: Some(true), ..all() }, "ada bob"),
            (PeopleQuery { active: Some(false), ..all() }, "carol"),
            (PeopleQuery { has_factor: Some(true), ..all() }, "ada"),
            (PeopleQuery { has_factor: Some(false), ..all() }, "bob carol"),
            (PeopleQuery { source: Some(Source::Scim), ..all() }, "carol"),
            (PeopleQuery { source: Some(Source::Invited), ..all() }, "ada bob"),
            (PeopleQuery { uses_sso: Some(true), ..all() }, ""),
            (PeopleQuery { uses_sso: Some(false), ..all() }, "ada bob carol"),
            (PeopleQuery { group: Some(group.clone()), ..all() }, "carol"),
            (PeopleQuery { group: Some(GroupId::new(&*world.env)), ..all() }, ""),
            (PeopleQuery { role: Some(Role::Member), active: Some(true), ..text("b") }, "bob"),
        ] {
            assert_eq!(found(&world, tenant.clone(), query.clone()).await, expected, "{query:?}");
        }
        assert_eq!(found(&world, world.other_tenant(), text("a")).await, "");
        assert_eq!(
            found(&world, world.other_tenant(), PeopleQuery { group: Some(group), ..all() }).await,
            ""
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn summaries_count_verified_factors_and_members() {
    on_both(async |world: World| {
        let tenant = world.ctx().tenant;
        let group = world.change(&tenant, async |ctx, tx| staff(ctx, tx).await).await.unwrap();
        let read = async move |tx: &mut Tx| {
            let people = tx.people(&PeopleQuery::default(), None, 10).await?;
            let ids: Vec<_> = people.iter().map(|person| person.id.clone()).collect();
            let summaries = tx.summaries(&ids).await?;
            let of_admins = people.iter().filter(|person| person.role == Role::Admin);
            let with_factors: Vec<_> =
                of_admins.map(|person| summaries[person.id.as_str()].factors).collect();
            assert_eq!((with_factors, summaries.len()), (vec![1], 1));
            assert_eq!(tx.member_counts(std::slice::from_ref(&group)).await?[group.as_str()], 1);
            Ok::<_, kernel::StoreError>(())
        };
        world.store.read(tenant, read).await.unwrap();
        let of_other = async |tx: &mut Tx| tx.people(&PeopleQuery::default(), None, 10).await;
        assert_eq!(world.store.read(world.other_tenant(), of_other).await.unwrap(), []);
    })
    .await;
}
