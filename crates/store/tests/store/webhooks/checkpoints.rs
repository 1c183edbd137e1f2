//! Checkpoints of the audit log, published to subscribers.

use std::sync::{Arc, Mutex};

use audit::{Audited, Unaudited};
use kernel::{Ctx, StoreError, TenantId, Timestamp};
use store::{Tx, WebhookUpkeep};

use super::{deliveries, fresh, happens, subscribe, subscribe_in};
use crate::{
    audit_log::keys,
    support::{World, on_both},
};

/// Matches the event of a new checkpoint.
const CHECKPOINTS: &str = "ACCOUNT_AUDIT_CHECKPOINT_*";

async fn seal_log(world: &World, tenant: &TenantId) {
    let now = world.env.now();
    let lease = audit::log::Lease { owner: "s".into(), now, until: now };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (checkpoints, entries) = (&keys(), &store::testing::entry_keys());
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
                let known = keys().of(tenant.as_str());
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
