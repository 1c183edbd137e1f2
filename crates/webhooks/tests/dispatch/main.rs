//! Dispatcher tests with a simulated clock: timing, fairness, concurrency limits, and that nothing is lost.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

mod memory;
mod support;

use std::{
    collections::BTreeSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use kernel::Env;
use support::{Does, Network, World, keys, rate};
use webhooks::{
    DisabledReason, Dispatcher, Limits, PATIENCE, STEPS, SubscriptionChange, SubscriptionStore, Wakeups,
    client::AddressGuard,
};

const URL: &str = "https://one.example/";
const OTHER: &str = "https://other.example/";
const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

#[tokio::test(start_paused = true)]
async fn failed_deliveries_are_retried_by_schedule_and_then_given_up() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(500, Duration::from_millis(20)));
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 1);
    // The first two steps, then the others minute by minute: the schedule takes at most 33.1 hours.
    world.pass(7 * MINUTE).await;
    for _ in 0..34 * 60 {
        world.skip(MINUTE).await;
    }
    let sent = world.network.to(URL);
    assert_eq!(sent.iter().map(|sent| sent.number).collect::<Vec<_>>(), (1..=8).collect::<Vec<_>>());
    assert!(sent.iter().all(|each| each.event == sent[0].event));
    for (pair, step) in sent.windows(2).zip(STEPS) {
        let waited = pair[1].at.unix_millis() - pair[0].at.unix_millis();
        // Polling for due deliveries adds up to a second, and up to a minute when minutes are skipped.
        let delay = if step < STEPS[2] { 1_100 } else { 63_000 };
        assert!(
            (step * 4 / 5..=step * 6 / 5 + delay).contains(&waited),
            "waited {waited} ms for a step of {step} ms"
        );
    }
    let kept = world.queue.queue.deliveries(&key);
    assert_eq!((kept.len(), world.pending(&key)), (8, 0));
    assert!(kept[..7].iter().all(|one| one.next_at.is_some()) && kept[7].next_at.is_none());
}

#[tokio::test(start_paused = true)]
async fn retry_after_delays_a_retry_up_to_twice_the_step() {
    let world = World::new();
    let tenant = world.tenant();
    world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(429, Duration::ZERO));
    *world.network.retry_after.lock().unwrap() = Some("9".into());
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 1);
    world.pass(15 * SECOND).await;
    let sent = world.network.to(URL);
    let waited = sent[1].at.unix_millis() - sent[0].at.unix_millis();
    assert!((9_000..=10_100).contains(&waited), "{waited}");
}

#[tokio::test(start_paused = true)]
async fn status_410_disables_until_enabled_again_and_keeps_pending_deliveries() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(410, Duration::from_millis(5)));
    let _at_work = world.start(Limits { subscription: 1, ..Limits::default() });
    world.publish(&tenant, 20);
    world.pass(HOUR).await;
    assert_eq!(world.network.to(URL).len(), 1);
    let mut store = world.queue.queue.of(&tenant);
    let gone = store.subscription(&key.subscription).await.unwrap().unwrap();
    assert_eq!((gone.enabled, gone.disabled_reason), (false, Some(DisabledReason::Gone)));
    assert_eq!(*world.watcher.disabled.lock().unwrap(), [(key.clone(), DisabledReason::Gone)]);
    assert_eq!(world.pending(&key), 19);
    assert_eq!(world.publish(&tenant, 1).len(), 1);
    assert_eq!(world.pending(&key), 19, "the other events are not delivered to it");
    world.network.does(URL, Does::Answer(200, Duration::ZERO));
    let on = SubscriptionChange { enabled: Some(true), ..SubscriptionChange::default() };
    let guard = AddressGuard::new(Vec::new(), false);
    webhooks::change(&world.ctx(&tenant), &mut store, &guard, &key.subscription, on).await.unwrap();
    world.pass(3 * SECOND).await;
    assert_eq!((world.network.to(URL).len(), world.pending(&key)), (20, 0));
}

#[tokio::test(start_paused = true)]
async fn five_days_without_success_disable_and_a_success_resets_the_period() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(500, Duration::ZERO));
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 1);
    world.skip(4 * 24 * HOUR).await;
    world.network.does(URL, Does::Answer(200, Duration::ZERO));
    world.publish(&tenant, 1);
    world.pass(SECOND).await;
    assert_eq!(world.queue.queue.failing_since(&key), None);
    world.network.does(URL, Does::Answer(500, Duration::ZERO));
    world.publish(&tenant, 1);
    world.pass(SECOND).await;
    let since = world.queue.queue.failing_since(&key).unwrap();
    let is_enabled = async || {
        let mut store = world.queue.queue.of(&tenant);
        store.subscription(&key.subscription).await.unwrap().unwrap().enabled
    };
    while is_enabled().await {
        world.publish(&tenant, 1);
        world.skip(HOUR).await;
    }
    let last = world.network.to(URL).last().unwrap().at;
    let failing = last.unix_millis() - since.unix_millis();
    assert!((PATIENCE..PATIENCE + 3_700_000).contains(&failing), "{failing}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_receiver_delays_no_other() {
    let world = World::new();
    let (bad, good) = (world.tenant(), world.tenant());
    let slow = world.subscribe(&bad, URL).await;
    world.subscribe(&bad, "https://bad-too.example/").await;
    world.subscribe(&good, OTHER).await;
    world.network.does(URL, Does::Answer(200, Duration::from_secs(10)));
    let _at_work = world.start(Limits::default());
    world.publish(&bad, 2_000);
    world.pass(SECOND).await;
    for _ in 0..20 {
        let before = world.network.to(OTHER).len();
        world.publish(&good, 1);
        world.pass(Duration::from_millis(20)).await;
        assert_eq!(world.network.to(OTHER).len(), before + 1, "the event is sent immediately");
    }
    assert_eq!(
        world.network.to("https://bad-too.example/").len(),
        2_000,
        "another webhook of the same tenant is not delayed"
    );
    assert_eq!(world.network.most.lock().unwrap()[URL], 4);
    // After nine responses of ten seconds each, deliveries are sent one at a time.
    world.pass(MINUTE).await;
    let before = world.network.to(URL).len();
    world.pass(100 * SECOND).await;
    let meanwhile = world.network.to(URL).len() - before;
    assert!((9..=11).contains(&meanwhile), "{meanwhile}");
    world.network.does(URL, Does::Answer(200, Duration::from_millis(1)));
    world.pass(30 * SECOND).await;
    assert_eq!(world.pending(&slow), 0, "the receiver has recovered");
}

#[tokio::test(start_paused = true)]
async fn concurrency_limits_hold_and_capacity_is_reserved_for_retries() {
    let world = World::new();
    let limits = Limits { subscription: 4, tenant: 6, total: 20, rate: None };
    let tenants: Vec<_> = (0..8).map(|_| world.tenant()).collect();
    for (number, tenant) in tenants.iter().enumerate() {
        for one in 0..3 {
            let url = format!("https://r{number}-{one}.example/");
            world.network.does(&url, Does::Answer(500, Duration::from_secs(2)));
            world.subscribe(tenant, &url).await;
        }
    }
    let _at_work = world.start(limits);
    for tenant in &tenants {
        world.publish(tenant, 10);
    }
    world.pass(Duration::from_secs(600)).await;
    let most = world.network.most.lock().unwrap().clone();
    assert!(most.values().all(|count| *count <= 4), "{most:?}");
    assert!(world.network.most_of_all.load(Ordering::SeqCst) <= 20);
    assert!(world.network.most_of_all.load(Ordering::SeqCst) >= 16, "the allowed concurrency is used");
    let events = world.network.sent.lock().unwrap().iter().filter(|sent| sent.number == 1).count();
    assert_eq!(events, 8 * 3 * 10);
    // First attempts cannot use the total limit alone: a fifth is reserved for retries.
    let fresh = World::new();
    let tenant = fresh.tenant();
    for one in 0..10 {
        let url = format!("https://f{one}.example/");
        fresh.network.does(&url, Does::Answer(200, Duration::from_secs(5)));
        fresh.subscribe(&tenant, &url).await;
    }
    let _at_work = fresh.start(Limits { tenant: 100, ..limits });
    fresh.publish(&tenant, 10);
    fresh.pass(4 * SECOND).await;
    assert_eq!(fresh.network.most_of_all.load(Ordering::SeqCst), 16);
}

#[tokio::test(start_paused = true)]
async fn rate_limit_is_respected() {
    let world = World::new();
    let tenant = world.tenant();
    world.subscribe(&tenant, URL).await;
    let _at_work = world.start(rate(10));
    world.publish(&tenant, 100);
    world.pass(Duration::from_millis(5_050)).await;
    let sent = world.network.to(URL).len();
    assert!((58..=61).contains(&sent), "one second's worth immediately, then ten per second: {sent}");
}

#[tokio::test(start_paused = true)]
async fn two_dispatchers_send_each_event_once() {
    let world = World::new();
    let tenants: Vec<_> = (0..5).map(|_| world.tenant()).collect();
    let mut keys = Vec::new();
    for (number, tenant) in tenants.iter().enumerate() {
        keys.push(world.subscribe(tenant, &format!("https://r{number}.example/")).await);
    }
    for number in 0..5 {
        world
            .network
            .does(&format!("https://r{number}.example/"), Does::Answer(200, Duration::from_millis(2)));
    }
    let _both = (world.start(Limits::default()), world.start(Limits::default()));
    for _ in 0..50 {
        for tenant in &tenants {
            world.publish(tenant, 20);
        }
        world.pass(Duration::from_millis(7)).await;
    }
    world.pass(20 * SECOND).await;
    let sent = world.network.sent.lock().unwrap().clone();
    let events: BTreeSet<_> = sent.iter().map(|sent| sent.event.clone()).collect();
    assert_eq!((sent.len(), events.len()), (5_000, 5_000));
    assert!(keys.iter().all(|key| world.pending(key) == 0));
}

#[tokio::test(start_paused = true)]
async fn only_deliveries_in_flight_are_repeated_after_a_crash() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(200, Duration::from_millis(50)));
    let first = world.start(Limits::default());
    world.publish(&tenant, 40);
    world.pass(Duration::from_millis(220)).await;
    first.abort();
    let before = world.network.to(URL);
    let unknown: BTreeSet<_> = world
        .queue
        .queue
        .deliveries(&key)
        .into_iter()
        .filter(|one| one.due_at.is_some())
        .map(|one| one.attempt.event_id)
        .collect();
    let in_flight: BTreeSet<_> =
        before.iter().map(|sent| sent.event.clone()).filter(|event| unknown.contains(event)).collect();
    assert!(!in_flight.is_empty() && in_flight.len() <= 8, "{in_flight:?}");
    let _second = world.start(Limits::default());
    world.pass(30 * SECOND).await;
    assert_eq!(world.network.to(URL).len(), before.len(), "the lease is still valid");
    world.pass(MINUTE).await;
    assert_eq!(world.pending(&key), 0);
    let after = world.network.to(URL);
    let again: BTreeSet<_> = after[before.len()..]
        .iter()
        .map(|sent| sent.event.clone())
        .filter(|event| before.iter().any(|sent| sent.event == *event))
        .collect();
    assert_eq!(again, in_flight);
}

#[tokio::test(start_paused = true)]
async fn shutdown_completes_deliveries_in_flight_and_releases_leases() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(200, Duration::from_secs(2)));
    let (end, ended) = tokio::sync::oneshot::channel::<()>();
    let dispatcher = world.dispatcher(Limits::default());
    let running = tokio::spawn(async move {
        dispatcher.run(async { drop(ended.await) }).await;
    });
    world.publish(&tenant, 10);
    world.pass(SECOND).await;
    end.send(()).unwrap();
    let before = world.env.now();
    running.await.unwrap();
    // Deliveries in flight end after a second, long before the limit of ten.
    let took = world.env.now().unix_millis() - before.unix_millis();
    assert!((900..2_000).contains(&took), "{took}");
    assert_eq!((world.network.to(URL).len(), world.pending(&key)), (4, 6));
    let _next = world.start(Limits::default());
    world.pass(8 * SECOND).await;
    assert_eq!(
        (world.network.to(URL).len(), world.pending(&key)),
        (10, 0),
        "released leases are available immediately"
    );
}

#[tokio::test(start_paused = true)]
async fn a_wrong_master_key_sends_nothing_and_loses_nothing() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    *world.network.keys.lock().unwrap() = keys(2);
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 3);
    world.pass(HOUR).await;
    assert!(world.network.to(URL).is_empty());
    assert!(world.watcher.unsigned.load(Ordering::SeqCst) > 0);
    assert_eq!(world.pending(&key), 3);
    *world.network.keys.lock().unwrap() = keys(1);
    world.pass(40 * SECOND).await;
    assert_eq!((world.network.to(URL).len(), world.pending(&key)), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_cannot_be_signed_for_is_left_to_another_dispatcher() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    let without_key = Network::new(world.env.clone(), keys(2));
    let dispatcher = Dispatcher { deliver: Arc::new(without_key), ..world.dispatcher(Limits::default()) };
    let _first = tokio::spawn(async move { dispatcher.run(std::future::pending()).await });
    world.publish(&tenant, 1);
    world.pass(SECOND).await;
    assert_eq!((world.watcher.unsigned.load(Ordering::SeqCst), world.pending(&key)), (1, 1));
    let _second = world.start(Limits::default());
    world.pass(2 * SECOND).await;
    assert_eq!(world.pending(&key), 0, "the lease was returned");
}

#[tokio::test(start_paused = true)]
async fn the_owner_is_notified_of_deliveries_unless_it_said_so_itself() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    let _owner = world.start(Limits::default());
    world.publish(&tenant, 1);
    world.pass(SECOND).await;
    // What this process wrote itself, and what other processes said. The owner knows of the latter already.
    let (news, heard) = (Wakeups::default(), Wakeups::default());
    let other =
        Dispatcher { news: news.clone(), heard: heard.clone(), ..world.dispatcher(Limits::default()) };
    let _other = tokio::spawn(async move { other.run(std::future::pending()).await });
    let mut passed_on = 0;
    for (wakeups, has_changed, is_passed_on) in
        [(&heard, false, false), (&news, false, true), (&heard, true, false), (&news, true, true)]
    {
        wakeups.notify(key.clone(), has_changed);
        world.pass(SECOND).await;
        let before = std::mem::replace(&mut passed_on, world.watcher.elsewhere.load(Ordering::SeqCst));
        assert_eq!(passed_on > before, is_passed_on, "changed: {has_changed}, {before}, {passed_on}");
    }
}

#[tokio::test(start_paused = true)]
async fn four_subscriptions_are_read_at_once() {
    let world = World::new();
    let tenant = world.tenant();
    for number in 0..20 {
        world.subscribe(&tenant, &format!("https://r{number}.example/")).await;
    }
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 1);
    world.pass(SECOND).await;
    assert_eq!(world.queue.most_reads.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_storage_failure_loses_and_repeats_nothing() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Answer(200, Duration::from_millis(10)));
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 1_000);
    world.pass(Duration::from_millis(300)).await;
    world.queue.is_down.store(true, Ordering::SeqCst);
    world.pass(15 * SECOND).await;
    assert!(world.watcher.failed.load(Ordering::SeqCst) > 0);
    world.queue.is_down.store(false, Ordering::SeqCst);
    world.pass(MINUTE).await;
    assert_eq!(world.pending(&key), 0);
    let sent = world.network.to(URL);
    let events: BTreeSet<_> = sent.iter().map(|sent| sent.event.clone()).collect();
    assert_eq!((sent.len(), events.len()), (1_000, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_never_responds_gets_one_delivery_at_a_time() {
    let world = World::new();
    let tenant = world.tenant();
    world.subscribe(&tenant, URL).await;
    world.network.does(URL, Does::Never);
    let _at_work = world.start(Limits::default());
    world.publish(&tenant, 500);
    world.pass(120 * SECOND).await;
    let before = world.network.to(URL).len();
    world.pass(150 * SECOND).await;
    let meanwhile = world.network.to(URL).len() - before;
    assert!((9..=11).contains(&meanwhile), "{meanwhile}");
}

#[tokio::test(start_paused = true)]
async fn ordered_subscription_delays_only_events_of_the_same_subject() {
    let world = World::new();
    let tenant = world.tenant();
    let key = world.subscribe_ordered(&tenant, URL, true).await;
    world.network.does(URL, Does::Answer(500, Duration::ZERO));
    let ada = world.publish_about(&tenant, "user:usr_ada", 3);
    let bob = world.publish_about(&tenant, "user:usr_bob", 2);
    let _at_work = world.start(Limits::default());
    world.pass(SECOND).await;
    let events = || world.network.to(URL).into_iter().map(|sent| sent.event).collect::<Vec<_>>();
    assert_eq!(events(), [ada[0].clone(), bob[0].clone()]);
    let answer = 20;
    world.network.does(URL, Does::Answer(204, Duration::from_millis(answer)));
    let carol = world.publish_about(&tenant, "user:usr_carol", 1);
    world.pass(SECOND).await;
    assert_eq!(events()[2..], carol, "the failed ones hold back only their own subjects");
    world.pass(10 * SECOND).await;
    assert_eq!((events().len(), world.pending(&key)), (8, 0));
    for of_one in [&ada, &bob] {
        let sent: Vec<_> =
            world.network.to(URL).into_iter().filter(|sent| of_one.contains(&sent.event)).skip(1).collect();
        assert!(sent.iter().map(|sent| &sent.event).eq(of_one.iter()));
        for pair in sent.windows(2) {
            assert!(pair[1].at >= pair[0].at.plus_millis(answer.cast_signed()), "{sent:?}");
        }
    }
}
