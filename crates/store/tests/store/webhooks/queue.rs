//! Deliveries: created with their change, leased by one dispatcher, recorded once.

use std::sync::Arc;

use ::webhooks::{Batch, DeliveryStatus, DisabledReason, Key, Lease, LeaseOutcome, Queue};
use audit::Audited;
use kernel::{Ctx, StoreError, Timestamp};
use store::{DispatchQueue, Tx, testing::TestDatabase};

use super::{deliveries, fresh, happens, lease, record, record_all, report, subscribe, take};
use crate::support::on_both;

#[tokio::test(flavor = "multi_thread")]
async fn delivery_commits_with_its_change() {
    on_both(async |world| {
        let subscribed = subscribe(&world, "ACCOUNT_USER_*").await;
        let other = subscribe(&world, "ACCOUNT_GROUP_*").await;
        // The first subscription received the event about the creation of the second.
        let before = deliveries(&world, &subscribed).await.len();
        let wakeups = world.store.wakeups();
        happens(&world).await;
        let keys = wakeups.next().await;
        assert!(
            keys.iter().any(|(key, _)| key.subscription == subscribed.id),
            "the process that commits wakes the dispatcher"
        );
        assert!(!keys.iter().any(|(key, has_changed)| key.subscription == other.id && !has_changed));
        let refused = async |_: &Ctx, _: &mut Tx| Err::<Audited<()>, _>(StoreError::Aborted("no"));
        world.store.write(world.ctx(), refused).await.unwrap_err();
        assert_eq!(deliveries(&world, &subscribed).await.len(), before + 1);
        assert_eq!(deliveries(&world, &other).await, []);
        let attempts = fresh(&world, &subscribed, "a").await;
        let last = attempts.last().unwrap();
        let body: serde_json::Value = serde_json::from_slice(last.body.as_ref().unwrap()).unwrap();
        assert_eq!(
            (&body["type"], &body["id"]),
            (&last.event_type.as_str().into(), &last.event_id.as_str().into())
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_dispatcher_leases_a_subscription() {
    on_both(async |world| {
        let one = subscribe(&world, "*").await;
        happens(&world).await;
        let all = (0..16).map(async |number| {
            matches!(
                take(&world, &one, lease(&world, &format!("d{number}")), false).await,
                LeaseOutcome::Ours { .. }
            )
        });
        let won = futures_util::future::join_all(all).await;
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let owner = format!("d{}", won.iter().position(|won| *won).unwrap());
        assert!(matches!(take(&world, &one, lease(&world, &owner), true).await, LeaseOutcome::Ours { .. }));
        assert_eq!(take(&world, &one, lease(&world, "another"), true).await, LeaseOutcome::Elsewhere);
        // After the lease ends, any dispatcher can take it.
        let later = lease(&world, "another").now.plus_millis(Lease::LENGTH + 1);
        let late = Lease::new("another", later);
        assert!(matches!(take(&world, &one, late, false).await, LeaseOutcome::Ours { .. }));
        assert_eq!(
            take(&world, &one, lease(&world, &owner), true).await,
            LeaseOutcome::Elsewhere,
            "the previous owner learns that it lost the lease"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_of_a_dispatcher_that_is_not_seen_are_free() {
    on_both(async |world| {
        let one = subscribe(&world, "ACCOUNT_USER_*").await;
        happens(&world).await;
        let see = async |owner: &'static str, now: Timestamp| {
            let see = async move |_: &Ctx, tx: &mut Tx| tx.see_dispatcher(owner, now).await;
            world.change(&world.ctx().tenant, see).await.unwrap()
        };
        let now = world.env.now();
        assert_eq!(see("killed", now).await, []);
        assert!(matches!(
            take(&world, &one, Lease::new("killed", now), false).await,
            LeaseOutcome::Ours { .. }
        ));
        let later = now.plus_millis(9_000);
        assert_eq!(see("next", later).await, [("killed".to_owned(), now)]);
        let mut next = Lease::new("next", later);
        assert_eq!(take(&world, &one, next.clone(), false).await, LeaseOutcome::Elsewhere);
        next.stopped = vec!["killed".to_owned()].into();
        let look = next.clone();
        let look = async |across: &mut store::Across| across.next_with_fresh(None, &look).await;
        assert!(world.store.across(look).await.unwrap().unwrap().is_open);
        let taken = take(&world, &one, next, false).await;
        assert!(matches!(taken, LeaseOutcome::Ours { .. }), "{taken:?}");

        // The row is removed when no lease of it can be left.
        assert_eq!(see("next", now.plus_millis(6 * 60_000)).await, []);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcome_is_recorded_once_with_its_retry() {
    on_both(async |world| {
        let one = subscribe(&world, "ACCOUNT_USER_*").await;
        happens(&world).await;
        happens(&world).await;
        let attempts = fresh(&world, &one, "a").await;
        let soon = world.env.now().plus_millis(5_000);
        let [first, second] = [&attempts[0], &attempts[1]];
        record(&world, &one, vec![report(&world, first, 500, Some(soon)), report(&world, second, 204, None)])
            .await;
        let before = deliveries(&world, &one).await;
        // The previous lease owner reports other outcomes too late.
        record(&world, &one, vec![report(&world, first, 204, None), report(&world, second, 500, Some(soon))])
            .await;
        assert_eq!(deliveries(&world, &one).await, before);
        let failed = before.iter().find(|one| one.id == first.id.as_str()).unwrap();
        assert_eq!(
            (failed.status, failed.is_final, failed.next_attempt_at),
            (DeliveryStatus::Failed, false, Some(soon))
        );
        let follows = before.iter().find(|one| one.attempt == 2).unwrap();
        assert_eq!((follows.status, follows.next_attempt_at), (DeliveryStatus::Pending, Some(soon)));
        assert_eq!(follows.event_id, first.event_id);
        // The retry is found when it is due, and not before.
        let found = async |now: Timestamp| {
            let lease = Lease { until: now, ..Lease::new("b", now) };
            let look = async move |across: &mut store::Across| across.with_retries(&lease, None, 10).await;
            world.store.across(look).await.unwrap()
        };
        assert!(found(soon.plus_millis(-1)).await.is_empty());
        let held = found(soon).await;
        assert_eq!((held.len(), held[0].due_at, held[0].is_open), (1, soon, false), "{held:?}");
        let free = found(soon.plus_millis(Lease::LENGTH)).await;
        let key = Key { tenant: world.ctx().tenant, subscription: one.id.clone() };
        assert!(free[0].is_open && free[0].key == key, "{free:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_of_subscriptions_are_independent() {
    on_both(async |world| {
        let (one, other) =
            (subscribe(&world, "ACCOUNT_USER_*").await, subscribe(&world, "ACCOUNT_USER_*").await);
        happens(&world).await;
        let first = fresh(&world, &one, "a").await.pop().unwrap();
        let second = fresh(&world, &other, "a").await.pop().unwrap();
        assert_eq!(first.id, second.id, "the first attempts of an event have one id");
        record(&world, &one, vec![report(&world, &first, 204, None)]).await;
        // A stale dispatcher reports a failure for the first and the correct outcome for the second.
        let soon = Some(world.env.now().plus_millis(5_000));
        let (stale, good) = (report(&world, &first, 500, soon), report(&world, &second, 204, None));
        record_all(&world, vec![(one.id.clone(), stale), (other.id.clone(), good)]).await;
        for of in [&one, &other] {
            let all = deliveries(&world, of).await;
            let of_event: Vec<_> = all.iter().filter(|one| one.event_id == first.event_id).collect();
            assert_eq!((of_event.len(), of_event[0].status), (1, DeliveryStatus::Succeeded));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_has_one_owner_and_reports_what_it_disabled() {
    on_both(async |world| {
        let one = subscribe(&world, "ACCOUNT_USER_*").await;
        happens(&world).await;
        let new_queue = || DispatchQueue::new(Arc::new(world.reopened()), world.env.clone());
        let queue = new_queue();
        let key = Key { tenant: world.ctx().tenant, subscription: one.id.clone() };
        let only = std::slice::from_ref(&key);
        let [mine, theirs] = ["a", "b"].map(|owner| lease(&world, owner));
        assert_eq!(queue.due(&mine).await.unwrap(), only);
        let taken = queue.take(&key, &mine, false, 10).await.unwrap();
        let LeaseOutcome::Ours { fresh, .. } = taken else { panic!("{taken:?}") };
        assert_eq!(queue.due(&theirs).await.unwrap(), []);
        assert_eq!(queue.take(&key, &theirs, false, 10).await.unwrap(), LeaseOutcome::Elsewhere);
        queue.release(only, "a", mine.now).await.unwrap();
        // On a distributed database a queue asks all shards when it starts, and again only later.
        let queue = if TestDatabase::is_distributed() { new_queue() } else { queue };
        assert_eq!(queue.due(&theirs).await.unwrap(), only);
        let disabled = vec![(one.id.clone(), DisabledReason::Gone)];
        let reports = vec![(one.id.clone(), report(&world, &fresh[0], 410, None))];
        let batch = Batch {
            tenant: key.tenant.clone(),
            reports,
            failing_since: Vec::new(),
            disabled: disabled.clone(),
        };
        assert_eq!(queue.record(&batch).await.unwrap().disabled, disabled);
        assert_eq!(queue.record(&batch).await.unwrap().disabled, [], "it is disabled already");
        assert_eq!(queue.due(&theirs).await.unwrap(), []);
        assert_eq!(queue.take(&key, &theirs, false, 10).await.unwrap(), LeaseOutcome::Nothing);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn manual_retry_replaces_the_scheduled_one() {
    on_both(async |world| {
        let one = subscribe(&world, "ACCOUNT_USER_*").await;
        happens(&world).await;
        let first = fresh(&world, &one, "a").await.pop().unwrap();
        let later = world.env.now().plus_millis(36_000_000);
        record(&world, &one, vec![report(&world, &first, 500, Some(later))]).await;
        let (of, id) = (one.id.clone(), first.id.clone());
        let retry = async move |ctx: &Ctx, tx: &mut Tx| tx.retry_delivery(ctx, &of, id.as_str()).await;
        world.change(&world.ctx().tenant, retry).await.unwrap().unwrap();
        let again = fresh(&world, &one, "a").await.into_iter().find(|attempt| attempt.number == 2).unwrap();
        record(&world, &one, vec![report(&world, &again, 204, None)]).await;
        let lease = Lease { until: later, ..Lease::new("a", later.plus_millis(1)) };
        let look = async |across: &mut store::Across| across.with_retries(&lease, None, 10).await;
        assert!(world.store.across(look).await.unwrap().is_empty());
    })
    .await;
}
