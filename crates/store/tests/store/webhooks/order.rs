//! Webhooks that get the events of a user one after the other.

use ::webhooks::{Attempt, DeliveryStatus, Lease, LeaseOutcome, Subscription};
use audit::{Audited, Event, events::users::UserDeactivated};
use kernel::{Ctx, StoreError};
use store::Tx;

use super::{deliveries, fresh, record, report, subscribe_with, take};
use crate::support::{World, on_both};

/// Records events about users of the tenant in one unit of work.
async fn about_users(world: &World, users: &[&str]) {
    let users: Vec<String> = users.iter().map(|user| (*user).to_owned()).collect();
    let work = async move |_: &Ctx, _: &mut Tx| {
        let event = |user: &String| Event::new(user.as_str(), &UserDeactivated {});
        Ok::<_, StoreError>(Audited::of_changes((), users.iter().map(event).collect()))
    };
    world.store.write(world.ctx(), work).await.unwrap();
}

/// Creates an ordered subscription that has nothing to deliver.
async fn subscribe_in_order(world: &World) -> Subscription {
    let ordered = subscribe_with(world, &world.ctx().tenant, "ACCOUNT_USER_*", true).await;
    // It received the event about its own creation.
    let before = fresh(world, &ordered, "one").await;
    record(world, &ordered, before.iter().map(|attempt| report(world, attempt, 200, None)).collect()).await;
    ordered
}

/// Returns the IDs of a subscription's pending events, oldest first.
async fn event_ids(world: &World, of: &Subscription) -> Vec<String> {
    let pending = deliveries(world, of).await.into_iter().filter(|one| one.status == DeliveryStatus::Pending);
    let mut events: Vec<_> = pending.map(|one| one.event_id).collect();
    events.sort();
    events.dedup();
    events
}

/// Returns the first attempts of the second dispatcher, a minute later.
async fn first_attempts(world: &World, of: &Subscription) -> Vec<Attempt> {
    let late = Lease::new("two", world.env.now().plus_millis(61_000));
    match take(world, of, late, true).await {
        LeaseOutcome::Ours { fresh, .. } => fresh,
        other => panic!("{other:?}"),
    }
}

fn ids(attempts: &[Attempt]) -> Vec<&str> {
    attempts.iter().map(|attempt| attempt.event_id.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn ordered_webhook_gets_the_events_of_a_user_one_after_the_other() {
    on_both(async |world| {
        let ordered = subscribe_in_order(&world).await;
        about_users(&world, &["usr_a", "usr_a", "usr_b", "usr_a"]).await;
        let events = event_ids(&world, &ordered).await;
        let first = fresh(&world, &ordered, "one").await;
        assert_eq!(ids(&first), [&events[0], &events[2]], "each user's first event");
        // A retry keeps the others waiting, also for another dispatcher after a crash.
        let retry_at = world.env.now().plus_millis(1_000);
        record(&world, &ordered, vec![report(&world, &first[0], 500, Some(retry_at))]).await;
        let late = Lease::new("two", world.env.now().plus_millis(61_000));
        let LeaseOutcome::Ours { fresh: again, retries, .. } = take(&world, &ordered, late, false).await
        else {
            panic!("the lease has expired")
        };
        assert_eq!((ids(&again), ids(&retries)), (vec![events[2].as_str()], vec![events[0].as_str()]));
        let shown = deliveries(&world, &ordered).await;
        let waiting: Vec<_> = shown.iter().filter(|one| one.waiting).collect();
        assert_eq!(waiting.len(), 2);
        assert!(waiting.iter().all(|one| {
            (one.status, one.next_attempt_at, one.is_final) == (DeliveryStatus::Pending, None, false)
        }));
        // A success or the last failure releases the next, and only that.
        for (at, status) in [(0, 200), (1, 500)] {
            let attempts = if at == 0 { retries.clone() } else { first_attempts(&world, &ordered).await };
            let attempt = attempts.iter().find(|one| one.event_id == events[at]).unwrap();
            record(&world, &ordered, vec![report(&world, attempt, status, None)]).await;
            let next = first_attempts(&world, &ordered).await;
            let later = if at == 0 { &events[1] } else { &events[3] };
            assert_eq!(ids(&next), [&events[2], later], "after {status}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_events_are_released_with_the_order() {
    on_both(async |world| {
        let ordered = subscribe_in_order(&world).await;
        about_users(&world, &["usr_a", "usr_a", "usr_a"]).await;
        let events = event_ids(&world, &ordered).await;
        assert_eq!(ids(&fresh(&world, &ordered, "one").await), [&events[0]]);
        let unordered = Subscription { ordered: false, updated_at: world.env.now(), ..ordered.clone() };
        let work = async move |_: &Ctx, tx: &mut Tx| {
            ::webhooks::SubscriptionStore::update_subscription(tx, &unordered).await
        };
        world.change(&world.ctx().tenant, work).await.unwrap();
        let all = fresh(&world, &ordered, "one").await;
        let users = ids(&all).into_iter().filter(|id| events.iter().any(|event| event == id)).count();
        assert_eq!(users, 3);
        assert!(deliveries(&world, &ordered).await.iter().all(|one| !one.waiting));
    })
    .await;
}
