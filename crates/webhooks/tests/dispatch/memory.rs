//! The in-memory queue, without a dispatcher.

use kernel::{Env, Timestamp};
use webhooks::{
    Attempt, AttemptError, Batch, DeliveryId, DisabledReason, Key, Lease, LeaseOutcome, MemoryQueue,
    NextAttempt, Outcome, Queue, Report, SubscriptionStore,
};

use crate::{URL, support::World};

/// Reads the deliveries of a subscription as a dispatcher.
async fn take(queue: &MemoryQueue, key: &Key, lease: &Lease, is_held: bool) -> LeaseOutcome {
    queue.take(key, lease, is_held, 200).await.unwrap()
}

/// Returns the first attempts and retries that a dispatcher reads.
async fn read(queue: &MemoryQueue, key: &Key, lease: &Lease) -> (Vec<Attempt>, Vec<Attempt>) {
    let taken = take(queue, key, lease, false).await;
    let LeaseOutcome::Ours { fresh, retries, .. } = taken else { unreachable!("{taken:?}") };
    (fresh, retries)
}

fn failed(key: &Key, attempt: Attempt, now: Timestamp, next: Option<NextAttempt>) -> Batch {
    let outcome = Outcome::failed(AttemptError::Connect, 1);
    let report = Report { attempt, outcome, attempted_at: now, next };
    Batch {
        tenant: key.tenant.clone(),
        reports: vec![(key.subscription.clone(), report)],
        failing_since: vec![(key.subscription.clone(), Some(now))],
        disabled: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn due_subscriptions_are_enabled_and_free() {
    let world = World::new();
    let tenant = world.tenant();
    // The first is free, the others will be taken, disabled and done.
    let mut keys = Vec::new();
    for _ in 0..4 {
        keys.push(world.subscribe(&tenant, URL).await);
    }
    world.publish(&tenant, 1);
    let lease = |owner: &str| Lease::new(owner, world.env.now());
    let (attempts, _) = read(&world.queue.queue, &keys[3], &lease("dsp_1")).await;
    world.queue.queue.record(&failed(&keys[3], attempts[0].clone(), world.env.now(), None)).await.unwrap();
    world.queue.queue.release(&keys[3..], "dsp_1", world.env.now()).await.unwrap();
    take(&world.queue.queue, &keys[1], &lease("dsp_2"), false).await;
    let reasons = vec![(keys[2].subscription.clone(), DisabledReason::Gone)];
    let batch =
        Batch { tenant: tenant.clone(), reports: Vec::new(), failing_since: Vec::new(), disabled: reasons };
    world.queue.queue.record(&batch).await.unwrap();
    let due = async |owner: &str| world.queue.queue.due(&lease(owner)).await.unwrap();
    assert_eq!(due("dsp_1").await, keys[..1]);
    let mut own = keys[..2].to_vec();
    own.sort();
    assert_eq!(due("dsp_2").await, own);
    assert_eq!(take(&world.queue.queue, &keys[2], &lease("dsp_1"), false).await, LeaseOutcome::Nothing);
}

#[tokio::test(start_paused = true)]
async fn lease_is_held_until_it_expires_is_lost_or_is_released() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    let lease = |owner: &str| Lease::new(owner, world.env.now());
    let is_ours = |taken: &LeaseOutcome| matches!(taken, LeaseOutcome::Ours { .. });
    assert!(is_ours(&take(&world.queue.queue, &key, &lease("dsp_1"), false).await));
    assert!(is_ours(&take(&world.queue.queue, &key, &lease("dsp_1"), true).await));
    assert_eq!(take(&world.queue.queue, &key, &lease("dsp_2"), false).await, LeaseOutcome::Elsewhere);
    world.env.advance(Lease::LENGTH);
    assert!(is_ours(&take(&world.queue.queue, &key, &lease("dsp_2"), false).await), "it has expired");
    assert_eq!(
        take(&world.queue.queue, &key, &lease("dsp_1"), true).await,
        LeaseOutcome::Elsewhere,
        "it is lost"
    );
    world.env.advance(Lease::LENGTH);
    let held = take(&world.queue.queue, &key, &lease("dsp_1"), true).await;
    assert_eq!(held, LeaseOutcome::Elsewhere, "it is lost even when the other one has expired");
    assert!(is_ours(&take(&world.queue.queue, &key, &lease("dsp_2"), false).await));
    let keys = [key.clone()];
    world.queue.queue.release(&keys, "dsp_1", world.env.now()).await.unwrap();
    assert_eq!(take(&world.queue.queue, &key, &lease("dsp_1"), false).await, LeaseOutcome::Elsewhere);
    world.queue.queue.release(&keys, "dsp_2", world.env.now()).await.unwrap();
    assert!(is_ours(&take(&world.queue.queue, &key, &lease("dsp_1"), false).await));
}

#[test]
fn lease_of_another_is_free_if_it_is_over_impossible_or_its_owner_stopped() {
    let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
    let lease = Lease { stopped: ["dsp_2".to_owned()].into(), ..Lease::new("dsp_1", now) };
    assert_eq!(lease.until, now.plus_millis(60_000));
    for (owner, until, may) in [
        ("dsp_1", 60_000, true),
        ("dsp_2", 60_000, true),
        ("dsp_3", 60_000, false),
        ("dsp_3", 1, false),
        ("dsp_3", 0, true),
        ("dsp_3", 120_000, false),
        ("dsp_3", 120_001, true),
    ] {
        assert_eq!(lease.may_take(owner, now.plus_millis(until)), may, "{owner} {until}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_attempt_is_followed_by_a_retry_when_it_is_due() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.publish(&tenant, 1);
    let lease = || Lease::new("dsp_1", world.env.now());
    let (fresh, retries) = read(&world.queue.queue, &key, &lease()).await;
    assert_eq!((fresh.len(), retries.len(), fresh[0].number), (1, 0, 1));
    let next = NextAttempt { id: DeliveryId::new(&*world.env), at: world.env.now().plus_millis(5_000) };
    let batch = failed(&key, fresh[0].clone(), world.env.now(), Some(next.clone()));
    world.queue.queue.record(&batch).await.unwrap();
    // An outcome counts once.
    world.queue.queue.record(&batch).await.unwrap();
    assert_eq!(world.queue.queue.deliveries(&key).len(), 2);
    assert_eq!(read(&world.queue.queue, &key, &lease()).await, (Vec::new(), Vec::new()));
    world.env.advance(5_000);
    let (fresh, retries) = read(&world.queue.queue, &key, &lease()).await;
    assert_eq!((fresh.len(), retries.len()), (0, 1));
    assert_eq!((retries[0].number, &retries[0].id, retries[0].is_fresh), (2, &next.id, false));
}

#[tokio::test(start_paused = true)]
async fn subscriptions_are_those_of_the_tenant_and_keep_their_state() {
    let world = World::new();
    let (acme, other) = (world.tenant(), world.tenant());
    let [first, second] = [world.subscribe(&acme, URL).await, world.subscribe(&acme, URL).await];
    let theirs = world.subscribe(&other, URL).await;
    for tenant in [&acme, &other] {
        world.publish(tenant, 1);
    }
    let mut store = world.queue.queue.of(&acme);
    assert_eq!(
        (store.subscriptions().await.unwrap().len(), store.count_subscriptions().await.unwrap()),
        (2, 2)
    );
    assert!(store.subscription(&theirs.subscription).await.unwrap().is_none());

    let (fresh, _) = read(&world.queue.queue, &first, &Lease::new("dsp_1", world.env.now())).await;
    let since = world.env.now();
    world.queue.queue.record(&failed(&first, fresh[0].clone(), since, None)).await.unwrap();
    let mut subscription = store.subscription(&first.subscription).await.unwrap().unwrap();
    for (enabled, failing_since) in [(true, Some(since)), (false, Some(since)), (true, None)] {
        subscription.enabled = enabled;
        store.update_subscription(&subscription).await.unwrap();
        assert_eq!(world.queue.queue.failing_since(&first), failing_since, "{enabled}");
    }

    store.delete_subscription(&first.subscription).await.unwrap();
    assert!(store.subscription(&first.subscription).await.unwrap().is_none());
    let counts = [&first, &second, &theirs].map(|key| world.queue.queue.deliveries(key).len());
    assert_eq!(counts, [0, 1, 1]);
}
