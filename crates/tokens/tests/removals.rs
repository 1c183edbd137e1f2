//! A SCIM token that removes too many users is paused.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use kernel::{Actor, Ctx, Env, ManualEnv, TenantId, Timestamp, UserId};
use tokens::{
    ScimTokenId,
    removals::{
        Admission, MemoryRemovals, Removal, RemovalKind, RemovalLimit, RemovalStore, WINDOW, admit, resume,
    },
};

struct World {
    ctx: Ctx,
    store: MemoryRemovals,
    token: ScimTokenId,
    /// The age of the users in milliseconds.
    age: i64,
}

impl World {
    fn of_users(count: usize) -> Self {
        let env: Arc<dyn Env> = Arc::new(ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap()));
        let store = MemoryRemovals::default();
        let token = ScimTokenId::new(&*env);
        let tenant = TenantId::new(&*env);
        let mut world = Self { ctx: Ctx::new(env, tenant, Actor::system("test")), store, token, age: WINDOW };
        world.add_users(count, world.ctx.now.plus_millis(-WINDOW - 1));
        world
    }

    fn add_users(&mut self, count: usize, created: Timestamp) {
        self.store.active.extend((0..count).map(|_| (UserId::new(&*self.ctx.env), created)));
    }

    async fn ask(&mut self, user: &UserId, kind: RemovalKind) -> Admission {
        let was_active = self.store.active.contains_key(user);
        let created = self.ctx.now.plus_millis(-self.age);
        let removal = Removal { user: user.clone(), was_active, created, kind };
        let admission = admit(&self.ctx, &mut self.store, &self.token, &removal).await.unwrap();
        if admission == Admission::Admitted {
            self.store.active.remove(user);
        }
        admission
    }

    /// Removes users who are older than an hour until the token is paused, and returns how many were removed.
    async fn remove_all(&mut self) -> usize {
        let since = self.ctx.now.plus_millis(-WINDOW);
        let old = self.store.active.iter().filter(|(_, created)| **created < since);
        let users: Vec<_> = old.map(|(user, _)| user.clone()).collect();
        for (count, user) in users.iter().enumerate() {
            if self.ask(user, RemovalKind::Deactivate).await != Admission::Admitted {
                return count;
            }
        }
        users.len()
    }

    async fn held(&mut self) -> Vec<(UserId, RemovalKind)> {
        let held = self.store.held_removals(&self.token, None, u32::MAX).await.unwrap();
        held.into_iter().map(|held| (held.user, held.kind)).collect()
    }

    fn later(&mut self, millis: i64) {
        self.ctx.now = self.ctx.now.plus_millis(millis);
    }
}

#[tokio::test]
async fn token_is_paused_only_above_the_share_and_the_number() {
    // 20 percent of 30 users are 6, but 10 may always be removed.
    for (users, expected) in
        [(1, 1), (10, 10), (11, 10), (30, 10), (50, 10), (54, 10), (55, 11), (100, 20), (1000, 200)]
    {
        let mut world = World::of_users(users);
        assert_eq!(world.remove_all().await, expected, "of {users} users");
    }
}

#[tokio::test]
async fn paused_token_holds_further_removals_and_a_deletion_wins() {
    let mut world = World::of_users(30);
    assert_eq!(world.remove_all().await, 10);
    let users: Vec<_> = world.store.active.keys().cloned().collect();
    assert_eq!(world.held().await, [(users[0].clone(), RemovalKind::Deactivate)]);
    for kind in [RemovalKind::Delete, RemovalKind::Deactivate] {
        assert_eq!(world.ask(&users[0], kind).await, Admission::Held);
    }
    assert_eq!(world.ask(&users[1], RemovalKind::Deactivate).await, Admission::Held);
    let expected = [(users[0].clone(), RemovalKind::Delete), (users[1].clone(), RemovalKind::Deactivate)];
    assert_eq!(world.held().await, expected);
    world.later(10 * WINDOW);
    assert_eq!(world.ask(&users[2], RemovalKind::Deactivate).await, Admission::Held, "time ends no pause");
}

#[tokio::test]
async fn removals_of_the_last_hour_count_once_per_user_and_token() {
    let mut world = World::of_users(30);
    let users: Vec<_> = world.store.active.keys().cloned().collect();
    for user in &users[..10] {
        assert_eq!(world.ask(user, RemovalKind::Deactivate).await, Admission::Admitted);
        assert_eq!(world.ask(user, RemovalKind::Delete).await, Admission::Admitted, "counted already");
    }
    let first = world.token.clone();
    world.token = ScimTokenId::new(&*world.ctx.env);
    assert_eq!(world.ask(&users[10], RemovalKind::Delete).await, Admission::Admitted, "another token");
    world.token = first;
    world.later(WINDOW);
    assert_eq!(world.ask(&users[11], RemovalKind::Delete).await, Admission::Admitted, "an hour later");
}

#[tokio::test]
async fn resumed_token_starts_a_new_window_and_a_discarded_pause_returns() {
    let mut world = World::of_users(60);
    assert_eq!(world.remove_all().await, 12);
    resume(&mut world.store, &world.token, false).await.unwrap();
    assert_eq!(world.remove_all().await, 0, "the limit is still exceeded");
    resume(&mut world.store, &world.token, true).await.unwrap();
    assert_eq!(world.remove_all().await, 10, "20 percent of 48 users are 9");
}

#[tokio::test]
async fn deletion_of_inactive_users_counts_too() {
    let mut world = World::of_users(20);
    let inactive: Vec<_> = (0..20).map(|_| UserId::new(&*world.ctx.env)).collect();
    for user in &inactive[..10] {
        assert_eq!(world.ask(user, RemovalKind::Delete).await, Admission::Admitted);
    }
    assert!(matches!(
        world.ask(&inactive[10], RemovalKind::Delete).await,
        Admission::Paused { removed: 10, .. }
    ));
}

#[tokio::test]
async fn disabled_limit_pauses_nobody_and_numbers_out_of_range_are_refused() {
    let mut world = World::of_users(40);
    let limit = RemovalLimit { enabled: false, ..RemovalLimit::default() };
    world.store.set_removal_limit(&limit).await.unwrap();
    assert_eq!(world.remove_all().await, 40);
    for (percent, users, is_valid) in [
        (1, 1, true),
        (100, 1_000_000, true),
        (0, 1, false),
        (101, 1, false),
        (1, 0, false),
        (1, 1_000_001, false),
    ] {
        assert_eq!(RemovalLimit { enabled: true, percent, users }.check().is_ok(), is_valid);
    }
}

#[tokio::test]
async fn users_who_are_younger_than_an_hour_do_not_count() {
    let mut world = World::of_users(40);
    world.age = WINDOW - 1;
    assert_eq!(world.remove_all().await, 40);
    assert!(world.held().await.is_empty());
}

#[tokio::test]
async fn share_is_of_the_users_an_hour_ago_and_is_counted_once_an_hour() {
    let mut world = World::of_users(100);
    let users: Vec<_> = world.store.active.keys().cloned().collect();
    for user in &users[..11] {
        assert_eq!(world.ask(user, RemovalKind::Deactivate).await, Admission::Admitted);
    }
    // 300 more users do not count before the hour is over, although they are old.
    world.add_users(300, world.ctx.now.plus_millis(-WINDOW - 1));
    assert_eq!(world.remove_all().await, 9, "20 percent of 100 users");

    // An hour later, users are counted again: those who are older than an hour.
    let mut world = World::of_users(100);
    let users: Vec<_> = world.store.active.keys().cloned().collect();
    for user in &users[..11] {
        assert_eq!(world.ask(user, RemovalKind::Deactivate).await, Admission::Admitted);
    }
    world.later(WINDOW);
    world.add_users(111, world.ctx.now.plus_millis(-WINDOW - 1));
    world.add_users(500, world.ctx.now);
    assert_eq!(world.remove_all().await, 40, "20 percent of 200 users");
}

#[tokio::test]
async fn inactive_user_counts_as_one_of_the_users() {
    let mut world = World::of_users(54);
    let users: Vec<_> = world.store.active.keys().cloned().collect();
    for user in &users[..10] {
        assert_eq!(world.ask(user, RemovalKind::Delete).await, Admission::Admitted);
    }
    let inactive = UserId::new(&*world.ctx.env);
    assert_eq!(world.ask(&inactive, RemovalKind::Delete).await, Admission::Admitted, "11 of 55");
    assert!(matches!(world.ask(&users[10], RemovalKind::Delete).await, Admission::Paused { .. }));
}

#[test]
fn both_numbers_have_to_be_exceeded() {
    let limit = RemovalLimit { enabled: true, percent: 20, users: 10 };
    for (removed, users, is_exceeded) in [(10, 10, false), (11, 10, true), (11, 54, true), (11, 55, false)] {
        assert_eq!(limit.is_exceeded(removed, users), is_exceeded, "{removed} of {users}");
    }
    assert_eq!(
        [RemovalKind::Deactivate, RemovalKind::Delete].map(RemovalKind::as_str),
        ["DEACTIVATE", "DELETE"]
    );
}
