//! Filters match the same resources in memory and in both databases.

use std::collections::BTreeSet;

use kernel::StoreResult;
use scim_core::{
    Filter, Group, GroupDraft, GroupStore, MemberChanges, Membership, Page, Query, Start, User, UserDraft,
    UserStore,
    conformance::generate::Random,
    schema::{GROUPS, USERS},
};
use serde_json::json;
use store::Tx;

use crate::support::{World, on_both};

const USERS_MADE: usize = 200;
const FILTERS: usize = 1_000;

fn random_users(world: &World, random: &mut Random) -> Vec<User> {
    let mut users = Vec::new();
    let mut addresses = BTreeSet::new();
    for number in 0.. {
        if users.len() == USERS_MADE {
            break;
        }
        let draft = UserDraft::read(&random.user(&USERS, &format!("-{number}"))).unwrap();
        let mut user = User::new(&world.ctx(), draft).unwrap();
        // Sign-in addresses are unique, so each user gets its own in addition to shared addresses.
        let own = serde_json::json!({ "value": format!("{number}@own.example"), "primary": true });
        let mut attributes = user.attributes.into_map();
        if let Some(emails) = attributes.get_mut("emails") {
            emails.as_array_mut().unwrap().push(own);
        }
        user.attributes = attributes.into();
        if user.sign_in_email().is_none_or(|email| addresses.insert(email.key())) {
            let offset = i64::try_from(random.below(5)).unwrap() - 2;
            user.last_modified = user.created.plus_millis(offset);
            users.push(user);
        }
    }
    users
}

/// Compares 200 users with 1,000 filters on each database.
#[tokio::test(flavor = "multi_thread")]
async fn filters_match_the_same_users_in_memory_and_storage() {
    on_both(async |world: World| {
        let mut random = Random::new(7_061_746_568);
        let users = random_users(&world, &mut random);
        let (tenant, now) = (world.ctx().tenant, users[0].created);
        let mut ids: Vec<_> = users.iter().map(|user| user.id.to_string()).collect();
        ids.truncate(5);
        let filters: Vec<_> =
            (0..FILTERS).map(|number| random.filter(&USERS, number % 5, &ids, now)).collect();
        let kept = users.clone();
        let keep = world.change(&tenant, async move |_, tx| {
            for user in &kept {
                assert!(tx.insert_user(user).await?);
            }
            Ok(())
        });
        keep.await.unwrap();

        let (mut pairs, mut matched) = (0, 0);
        for filter in filters {
            let expected: BTreeSet<_> = users
                .iter()
                .filter(|user| filter.matches(&(*user).clone().into_json("")))
                .map(|user| user.id.clone())
                .collect();
            let found = found(&world, &filter).await;
            assert_eq!(found, expected, "{filter}");
            pairs += users.len();
            matched += expected.len();
        }
        assert_eq!(pairs, 200_000);
        // Guards against filters that match everything or nothing.
        assert!((20_000..180_000).contains(&matched), "{matched} of {pairs} pairs match");
    })
    .await;
}

async fn found(world: &World, filter: &Filter) -> BTreeSet<kernel::UserId> {
    let page = Page { start: Start::Index(1), count: u32::try_from(USERS_MADE).unwrap() };
    let query = Query { filter: Some(filter.clone()), page, ..Query::default() };
    let text = filter.to_string();
    let find = async move |tx: &mut Tx| tx.find_users(&query, false).await;
    let found = world.store.read(world.ctx().tenant, find).await;
    let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(found.total, found.resources.len() as u64, "{text}");
    found.resources.into_iter().map(|user| user.id).collect()
}

/// Compares a dozen groups, filtered by their members and by the groups of their members.
#[tokio::test(flavor = "multi_thread")]
async fn filters_match_the_same_groups_in_memory_and_storage() {
    on_both(async |world: World| {
        let ctx = world.ctx();
        let mut random = Random::new(3);
        let mut users = random_users(&world, &mut random);
        users.truncate(40);
        let mut groups = Vec::new();
        for number in 0..12 {
            let name = format!("{}{number}", ["É", "b", "Ab", "%"][random.below(4)]);
            let external_id = ["a", "A", "b"][random.below(3)];
            let body = json!({ "displayName": name, "externalId": external_id });
            let group = Group::new(&ctx, &GroupDraft::read(&body).unwrap()).unwrap();
            let members: BTreeSet<_> =
                users.iter().filter(|_| random.once_in(6)).map(|user| user.id.clone()).collect();
            groups.push((group, if number == 0 { BTreeSet::new() } else { members }));
        }
        for user in &mut users {
            let of = groups.iter().filter(|(_, members)| members.contains(&user.id));
            let membership = |(group, _): &(Group, _)| Membership {
                group: group.id.clone(),
                display: group.display_name.clone(),
            };
            user.groups = of.map(membership).collect();
        }
        let (kept_users, kept_groups) = (users.clone(), groups.clone());
        let keep = world.change(&ctx.tenant, async move |_, tx| {
            for user in &kept_users {
                assert!(tx.insert_user(user).await?);
            }
            for (group, members) in kept_groups {
                assert!(tx.insert_group(&group).await?);
                tx.change_members(&group.id, &MemberChanges::exactly(members)).await?;
            }
            Ok(())
        });
        keep.await.unwrap();

        let ids: Vec<_> = groups.iter().map(|(group, _)| group.id.to_string()).collect();
        let mut matched = 0;
        for number in 0..400 {
            let inner = random.filter(&USERS, number % 3, &ids, ctx.now);
            // Most filters should be about groups.
            let about = random.filter_about(&USERS, "groups", &ids, ctx.now);
            let filter =
                if number % 2 == 0 { about } else { Filter::Or(vec![inner, Filter::Not(Box::new(about))]) };
            let holds = |user: &&User| filter.matches(&(*user).clone().into_json(""));
            let expected: BTreeSet<_> = users.iter().filter(holds).map(|user| user.id.clone()).collect();
            assert_eq!(found(&world, &filter).await, expected, "{filter}");
            matched += expected.len();
        }
        let people: Vec<_> = users.iter().take(5).map(|user| user.id.to_string()).chain(ids).collect();
        for number in 0..800 {
            let filter = random.filter(&GROUPS, number % 4, &people, ctx.now);
            let holds = |(group, members): &&(Group, BTreeSet<_>)| {
                filter.matches(&group.to_json(&members.iter().cloned().collect::<Vec<_>>(), ""))
            };
            let expected: BTreeSet<_> =
                groups.iter().filter(holds).map(|(group, _)| group.id.clone()).collect();
            let query = Query { filter: Some(filter.clone()), ..Query::default() };
            let find = async move |tx: &mut Tx| tx.find_groups(&query).await;
            let found: StoreResult<_> = world.store.read(ctx.tenant.clone(), find).await;
            let found = found.unwrap_or_else(|error| panic!("{filter}: {error}"));
            let found: BTreeSet<_> = found.resources.into_iter().map(|group| group.id).collect();
            assert_eq!(found, expected, "{filter}");
            matched += expected.len();
        }
        assert!(matched > 2_000, "{matched}");
    })
    .await;
}
