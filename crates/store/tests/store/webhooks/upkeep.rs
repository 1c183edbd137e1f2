//! Upkeep: filters after an upgrade, failing webhooks and the backlog.

use std::sync::Arc;

use ::webhooks::{Batch, DisabledReason, Queue};
use audit::{Audited, Unaudited};
use kernel::{Ctx, StoreError, Timestamp};
use store::{DispatchQueue, Tx, WebhookUpkeep};

use super::{deliveries, fresh, happens, record, report, subscribe};
use crate::support::on_both;

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
