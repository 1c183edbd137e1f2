//! Subscriptions and deliveries.

use audit::{AuditStore, Entry, Event, events::users::UserDeactivated};
use kernel::{Ctx, Id, StoreResult};
use store::Tx;
use webhooks::SubscriptionStore;

/// Runs subscriptions and deliveries with their outcomes.
pub(super) async fn run(ctx: &Ctx, tx: &mut Tx) -> StoreResult<()> {
    let keys = webhooks::SecretKeys::new(
        &kernel::MasterKeys::new(vec![("test".to_owned(), kernel::Secret::new(vec![7; 32]))]).unwrap(),
    );
    let guard = webhooks::client::AddressGuard::new(Vec::new(), false);
    let new = |name: &str| webhooks::New {
        name: name.into(),
        url: "https://hooks.example.com/".into(),
        event_filters: Vec::new(),
        ordered: true,
    };
    let (made, _) = webhooks::create(ctx, tx, (&guard, &keys), new("one")).await.unwrap();
    let id = &made.id;
    assert_eq!(tx.subscriptions().await?, std::slice::from_ref(&made));
    let event = || Event::new("test", &UserDeactivated {});
    tx.append(&Entry::all(ctx, vec![event(), event()])).await?;
    tx.latest(1).await?;
    let lease = webhooks::Lease::new("test", ctx.env.now());
    tx.see_dispatcher("test", ctx.now).await?;
    assert!(tx.lease_webhook(id, &lease).await?);
    let webhooks::LeaseOutcome::Ours { fresh, .. } = tx.take_webhook(id, &lease, 10).await?.unwrap() else {
        panic!("the lease was refused")
    };
    assert_eq!(fresh.len(), 1, "the second event waits");
    let outcome = webhooks::Outcome::failed(webhooks::AttemptError::Timeout, 15_000);
    let next = Some(webhooks::NextAttempt { id: Id::new(&*ctx.env), at: ctx.now });
    let report = webhooks::Report { attempt: fresh[0].clone(), outcome, attempted_at: ctx.now, next };
    let batch = webhooks::Batch {
        tenant: ctx.tenant.clone(),
        reports: vec![(id.clone(), report)],
        failing_since: vec![(id.clone(), Some(ctx.now))],
        disabled: Vec::new(),
    };
    tx.record_webhooks(ctx, &batch).await?;
    let first = fresh[0].id.as_str();
    assert_eq!(tx.deliveries(id, 100).await?.len(), 3);
    assert!(tx.delivery_body(id, first).await?.is_some());
    // A pending attempt is moved forward; for a finished one, a new attempt is created.
    let brought = tx.retry_delivery(ctx, id, first).await?.unwrap();
    assert_eq!(brought.attempt, 2);
    let last = webhooks::Attempt { id: brought.id.parse().unwrap(), ..fresh[0].clone() };
    let outcome = webhooks::Outcome::failed(webhooks::AttemptError::Timeout, 15_000);
    let report = webhooks::Report { attempt: last, outcome, attempted_at: ctx.now, next: None };
    let batch = webhooks::Batch { reports: vec![(id.clone(), report)], ..batch };
    assert_eq!(tx.record_webhooks(ctx, &batch).await?, std::slice::from_ref(id));
    let past = tx.past_events(&made, (ctx.now, ctx.now.plus_millis(1))).await?;
    tx.replay_webhook(ctx, id, past)?;
    tx.hours_of_deliveries(id, ctx.now).await?;
    tx.delivery_counts(ctx.now).await?;
    tx.publish_checkpoint(ctx, ctx.now).await?;
    tx.route_again().await?;
    for (ordered, enabled) in [(true, false), (true, true), (false, true)] {
        tx.update_subscription(&webhooks::Subscription { ordered, enabled, ..made.clone() }).await?;
    }
    tx.release_webhooks(std::slice::from_ref(id), "test", ctx.now).await?;
    tx.purge_deliveries(id, ctx.now).await?;
    webhooks::remove(tx, id).await.unwrap();
    while tx.purge_deliveries(id, ctx.now).await? {}
    assert_eq!(tx.deliveries(id, 100).await?, []);
    Ok(())
}
