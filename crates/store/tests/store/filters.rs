//! Filters mean the same in memory and in both databases.

use std::collections::BTreeSet;

use kernel::StoreError;
use scim_core::{
    Draft, Filter, Page, Query, Start, User, UserStore,
    conformance::generate::Random,
    schema::{GROUPS, USERS},
};
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
        let draft = Draft::read(&random.user(&USERS, &format!("-{number}"))).unwrap();
        let mut user = User::new(&world.ctx(), draft).unwrap();
        // Sign-in addresses are unique; each user has one of its own, beside those that many share.
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

/// 200 users and 1,000 filters, on each database.
#[tokio::test(flavor = "multi_thread")]
async fn memory_and_storage_agree() {
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
        // A property that nothing ever meets proves nothing.
        assert!((20_000..180_000).contains(&matched), "{matched} of {pairs} pairs match");
    })
    .await;
}

async fn found(world: &World, filter: &Filter) -> BTreeSet<kernel::UserId> {
    let page = Page { start: Start::Index(1), count: u32::try_from(USERS_MADE).unwrap() };
    let query = Query { filter: Some(filter.clone()), page };
    let text = filter.to_string();
    let find = async move |tx: &mut Tx| tx.find_users(&query, false).await;
    let found = world.store.read(world.ctx().tenant, find).await;
    let found = found.unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(found.total, found.resources.len() as u64, "{text}");
    found.resources.into_iter().map(|user| user.id).collect()
}

/// What a filter over groups becomes is a statement that both databases take.
#[tokio::test(flavor = "multi_thread")]
async fn filters_over_groups_are_statements() {
    use scim_core::GroupStore;
    on_both(async |world: World| {
        let mut random = Random::new(2);
        let ctx = world.ctx();
        for number in 0..300 {
            let filter = random.filter(&GROUPS, number % 5, &["grp_1".into()], ctx.now);
            let text = filter.to_string();
            let query = Query { filter: Some(filter), ..Query::default() };
            let find = async move |tx: &mut Tx| tx.find_groups(&query).await;
            let found: Result<_, StoreError> = world.store.read(ctx.tenant.clone(), find).await;
            assert_eq!(found.unwrap_or_else(|error| panic!("{text}: {error}")).total, 0);
        }
    })
    .await;
}
