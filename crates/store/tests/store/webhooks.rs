//! Deliveries on both databases: created with their change, leased by one dispatcher, recorded once.

use std::sync::{Arc, Mutex};

use ::webhooks::{
    Attempt, AttemptError, Batch, DeliveryStatus, DisabledReason, Key, Lease, LeaseOutcome, NextAttempt,
    Outcome, Queue, Report, SecretKeys, Subscription, SubscriptionId, client::AddressGuard,
};
use audit::{Audited, Event, Unaudited, events::users::UserDeactivated, log::CheckpointKeys};
use kernel::{Ctx, Id, MasterKeys, Secret, StoreError, TenantId, Timestamp};
use store::{DispatchQueue, Tx, WebhookUpkeep, testing::TestDatabase};

use crate::support::{World, on_both};

/// Matches the event of a new checkpoint.
const CHECKPOINTS: &str = "ACCOUNT_AUDIT_CHECKPOINT_*";

fn lease(world: &World, owner: &str) -> Lease {
    let now = world.env.now();
    Lease::new(owner, now)
}

async fn subscribe(world: &World, filter: &str) -> Subscription {
    subscribe_in(world, &world.ctx().tenant, filter).await
}

async fn subscribe_in(world: &World, tenant: &TenantId, filter: &str) -> Subscription {
    subscribe_with(world, tenant, filter, false).await
}

async fn subscribe_with(world: &World, tenant: &TenantId, filter: &str, ordered: bool) -> Subscription {
    let filters = vec![filter.to_owned()];
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let keys =
            SecretKeys::new(&MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![7; 32]))]).unwrap());
        let new = ::webhooks::New {
            name: "x".into(),
            url: "https://x.example/".into(),
            event_filters: filters,
            ordered,
        };
        let (made, _) = ::webhooks::create(ctx, tx, (&AddressGuard::default(), &keys), new).await.unwrap();
        Ok(made)
    };
    world.change(tenant, work).await.unwrap()
}

fn checkpoint_keys() -> CheckpointKeys {
    CheckpointKeys::derive(&MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![7; 32]))]).unwrap())
}

async fn seal_log(world: &World, tenant: &TenantId) {
    let now = world.env.now();
    let lease = audit::log::Lease { owner: "s".into(), now, until: now };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (checkpoints, entries) = (&checkpoint_keys(), &store::testing::entry_keys());
        let policy = audit::log::SealPolicy { checkpoints, entries, accepts_missing_macs: false };
        audit::log::seal(tx, policy, &ctx.tenant, &lease, None).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::Sealed))
    };
    let ctx = Ctx { tenant: tenant.clone(), ..world.ctx() };
    world.store.write(ctx, work).await.unwrap();
}

async fn to_publish(world: &World, after: Option<&TenantId>, since: Timestamp, limit: i64) -> Vec<TenantId> {
    let after = after.cloned();
    let look =
        async move |across: &mut store::Across| across.tenants_to_publish(after.as_ref(), since, limit).await;
    world.store.across(look).await.unwrap()
}

/// Deactivates a user with its audit entry.
async fn happens(world: &World) {
    world.change(&world.ctx().tenant, async |_: &Ctx, _: &mut Tx| Ok(())).await.unwrap();
}

async fn take(world: &World, of: &Subscription, lease: Lease, is_held: bool) -> LeaseOutcome {
    let id = of.id.clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        if !is_held {
            tx.lease_webhook(&id, &lease).await?;
        }
        Ok::<_, StoreError>(Audited::without(
            tx.take_webhook(&id, &lease, 100).await?.unwrap(),
            Unaudited::Delivered,
        ))
    };
    world.store.write(world.ctx(), work).await.unwrap()
}

async fn fresh(world: &World, of: &Subscription, owner: &str) -> Vec<Attempt> {
    match take(world, of, lease(world, owner), false).await {
        LeaseOutcome::Ours { fresh, .. } => fresh,
        other => panic!("{other:?}"),
    }
}

async fn record(world: &World, of: &Subscription, reports: Vec<Report>) {
    record_all(world, reports.into_iter().map(|report| (of.id.clone(), report)).collect()).await;
}

async fn record_all(world: &World, reports: Vec<(SubscriptionId, Report)>) {
    let batch =
        Batch { tenant: world.ctx().tenant, reports, failing_since: Vec::new(), disabled: Vec::new() };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        tx.record_webhooks(ctx, &batch).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
    };
    world.store.write(world.ctx(), work).await.unwrap();
}

fn report(world: &World, attempt: &Attempt, status: u16, next: Option<Timestamp>) -> Report {
    let outcome = Outcome { status: Some(status), error: None, ..Outcome::failed(AttemptError::Connect, 5) };
    let next = next.map(|at| NextAttempt { id: Id::new(&*world.env), at });
    Report { attempt: attempt.clone(), outcome, attempted_at: world.env.now(), next }
}

async fn deliveries(world: &World, of: &Subscription) -> Vec<::webhooks::Delivered> {
    let id = of.id.clone();
    let read = async move |tx: &mut Tx| tx.deliveries(&id, 100).await;
    world.store.read::<_, StoreError>(world.ctx().tenant, read).await.unwrap()
}

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
async fn filters_are_expanded_again_after_an_upgrade() {
    on_both(async |world| {
        let one = subscribe(&world, "*").await;
        let id = &one.id;
        // The state left by a version with fewer event types.
        world.raw(&format!("DELETE FROM webhook_routes WHERE subscription_id = '{id}' AND event_type LIKE 'ACCOUNT_USER%'; UPDATE webhook_subscriptions SET routed = 3 WHERE id = '{id}'")).await;
        let before = deliveries(&world, &one).await.len();
        happens(&world).await;
        assert_eq!(deliveries(&world, &one).await.len(), before);
        let next = async || {
            let look = async |across: &mut store::Across| across.tenants_to_route(None).await;
            world.store.across(look).await.unwrap()
        };
        assert_eq!(next().await, [world.ctx().tenant]);
        let upkeep = WebhookUpkeep::new(Arc::new(world.reopened()), world.env.clone());
        upkeep.expand_filters(|_, error| panic!("{error}")).await.unwrap();
        assert_eq!(next().await, []);
        happens(&world).await;
        assert_eq!(deliveries(&world, &one).await.len(), before + 1);
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

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_are_published_hourly_to_subscribers() {
    on_both(async |world| {
        let tenant = world.ctx().tenant;
        let one = subscribe(&world, CHECKPOINTS).await;
        subscribe(&world, CHECKPOINTS).await;
        let seal = async || seal_log(&world, &tenant).await;
        let publish = async |since: Timestamp| {
            let due = to_publish(&world, None, since, 10).await;
            assert!(
                due.is_empty() || due == std::slice::from_ref(&tenant),
                "each tenant is listed once: {due:?}"
            );
            let is_due = !due.is_empty();
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                tx.publish_checkpoint(ctx, since).await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
            };
            world.store.write(world.ctx(), work).await.unwrap();
            is_due
        };
        let hour_ago = world.env.now().plus_millis(-3_600_000);
        assert!(!publish(hour_ago).await, "nothing is sealed yet");
        seal().await;
        assert!(publish(hour_ago).await);
        assert!(!publish(hour_ago).await, "the log has not grown");
        happens(&world).await;
        seal().await;
        assert!(!publish(hour_ago).await, "the last publication is less than an hour old");
        assert_eq!(deliveries(&world, &one).await.len(), 1);
        assert!(publish(world.env.now()).await);
        let attempts = fresh(&world, &one, "a").await;
        let sizes: Vec<u64> = attempts
            .iter()
            .map(|attempt| {
                let body: serde_json::Value = serde_json::from_slice(attempt.body.as_ref().unwrap()).unwrap();
                let note = body["data"]["note"].as_str().unwrap().to_owned();
                let known = checkpoint_keys().of(tenant.as_str());
                audit::log::Checkpoint::verified(&note, &known).unwrap().size
            })
            .collect();
        assert_eq!(sizes, [2, 3]);
        // The event is not an audit entry.
        let entries = world.store.read::<_, StoreError>(world.ctx().tenant, async |tx: &mut Tx| {
            audit::AuditStore::latest(tx, 100).await
        });
        assert!(entries.await.unwrap().iter().all(|entry| !entry.action.contains("CHECKPOINT")));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn log_that_cannot_be_published_does_not_stop_the_others() {
    on_both(async |world| {
        let mut tenants = [world.ctx().tenant, world.other_tenant()];
        tenants.sort();
        for tenant in &tenants {
            subscribe_in(&world, tenant, CHECKPOINTS).await;
            seal_log(&world, tenant).await;
        }
        let [first, second] = &tenants;
        let now = world.env.now();
        assert_eq!(to_publish(&world, None, now, 1).await, std::slice::from_ref(first));
        assert_eq!(to_publish(&world, Some(first), now, 1).await, std::slice::from_ref(second));
        assert_eq!(to_publish(&world, Some(second), now, 1).await, []);

        world
            .raw(&format!("UPDATE webhook_routes SET subscription_id = 'x' WHERE tenant_id = '{first}'"))
            .await;
        let upkeep = WebhookUpkeep::new(Arc::new(world.reopened()), world.env.clone());
        let failed = Mutex::new(Vec::new());
        let note = |tenant: &TenantId, _: &StoreError| failed.lock().unwrap().push(tenant.clone());
        upkeep.publish_checkpoints(note).await.unwrap();
        assert_eq!(failed.into_inner().unwrap(), std::slice::from_ref(first));
        assert_eq!(
            to_publish(&world, None, now, 10).await,
            std::slice::from_ref(first),
            "the other one is published"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_webhook_is_noticed_after_an_hour_and_a_day_before_its_end() {
    on_both(async |world| {
        let subscribed = subscribe(&world, "ACCOUNT_USER_*").await;
        let upkeep = WebhookUpkeep::new(Arc::new(world.reopened()), world.env.clone());
        let now = world.env.now();
        let hours_ago = |hours: i64| now.plus_millis(-hours * 3_600_000);
        let failing_since = async |since: Option<Timestamp>| {
            let failing_since = vec![(subscribed.id.clone(), since)];
            let tenant = world.ctx().tenant;
            let batch = Batch { tenant, reports: Vec::new(), failing_since, disabled: Vec::new() };
            let work = async move |ctx: &Ctx, tx: &mut Tx| {
                tx.record_webhooks(ctx, &batch).await?;
                Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
            };
            world.store.write(world.ctx(), work).await.unwrap();
        };
        let noticed = async || {
            let (mut new, mut after, mut count) = (Vec::new(), None, 0);
            loop {
                let some = upkeep.notice_failures(after, |_, error| panic!("{error}")).await.unwrap();
                new.extend(some.new);
                count += some.count;
                after = some.last;
                if after.is_none() {
                    return (count, new);
                }
            }
        };
        assert_eq!(noticed().await.0, 0);
        failing_since(Some(now)).await;
        let (count, new) = noticed().await;
        assert!(count == 1 && new.is_empty(), "it fails, but not for an hour");
        failing_since(Some(hours_ago(2))).await;
        let (count, new) = noticed().await;
        let [failing] = new.as_slice() else { panic!("{new:?}") };
        assert_eq!((count, &failing.notice.webhook.id, failing.since), (1, &subscribed.id, hours_ago(2)));
        assert_eq!(failing.disabled_after, hours_ago(2 - 5 * 24));
        assert!(noticed().await.1.is_empty(), "once");
        failing_since(None).await;
        assert_eq!(noticed().await.0, 0);
        // No server was running for four days.
        failing_since(Some(hours_ago(4 * 24 + 1))).await;
        world.raw("UPDATE webhook_queues SET notified_at = NULL").await;
        assert_eq!(noticed().await.1.len(), 1);
        assert!(noticed().await.1.is_empty(), "one that is due twice is reported once");
        // A webhook that is disabled together with its first failure does not fail afterwards.
        let id = subscribed.id.clone();
        let (failing_since, disabled) =
            (vec![(id.clone(), Some(hours_ago(2)))], vec![(id, DisabledReason::Gone)]);
        let tenant = world.ctx().tenant;
        let batch = Batch { tenant, reports: Vec::new(), failing_since, disabled };
        let queue = DispatchQueue::new(Arc::new(world.reopened()), world.env.clone());
        assert_eq!(queue.record(&batch).await.unwrap().disabled.len(), 1);
        world.raw("UPDATE webhook_queues SET notified_at = NULL").await;
        let (count, new) = noticed().await;
        assert!(count == 0 && new.is_empty(), "{new:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn backlog_counts_the_pending_deliveries_of_enabled_webhooks() {
    on_both(async |world| {
        let backlog = async || {
            let now = world.env.now();
            world
                .store
                .across(async move |across: &mut store::Across| across.webhook_backlog(now).await)
                .await
        };
        let empty = backlog().await.unwrap();
        assert_eq!((empty.pending, empty.due_since, empty.oldest_event), (0, None, None));
        let before = world.env.now();
        let subscribed = subscribe(&world, "ACCOUNT_USER_*").await;
        happens(&world).await;
        // The first event is the creation of the subscription.
        let two = backlog().await.unwrap();
        let (due, oldest) = (two.due_since.unwrap(), two.oldest_event.unwrap());
        assert_eq!(two.pending, 2);
        assert!(before <= due && due <= world.env.now(), "{two:?}");
        assert!(before <= oldest && oldest <= world.env.now(), "{two:?}");
        let attempts = fresh(&world, &subscribed, "a").await;
        let later = world.env.now().plus_millis(60_000);
        record(&world, &subscribed, vec![report(&world, &attempts[0], 503, Some(later))]).await;
        record(&world, &subscribed, vec![report(&world, &attempts[1], 200, None)]).await;
        let retried = backlog().await.unwrap();
        assert_eq!((retried.pending, retried.due_since), (1, None), "the retry is not due");
        assert_eq!(retried.oldest_event, two.oldest_event);
        let id = subscribed.id.clone();
        let pause = async move |ctx: &Ctx, tx: &mut Tx| {
            ::webhooks::disable(ctx, tx, &id, DisabledReason::Gone).await.unwrap();
            Ok(())
        };
        world.change(&world.ctx().tenant, pause).await.unwrap();
        assert_eq!(backlog().await.unwrap().pending, 0);
    })
    .await;
}

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
