//! Webhooks on both databases.

mod checkpoints;
mod order;
mod queue;
mod upkeep;

use ::webhooks::{
    Attempt, AttemptError, Batch, Lease, LeaseOutcome, NextAttempt, Outcome, Report, SecretKeys,
    Subscription, SubscriptionId, client::AddressGuard,
};
use audit::{Audited, Unaudited};
use kernel::{Ctx, Id, MasterKeys, Secret, StoreError, TenantId, Timestamp};
use store::Tx;

use crate::support::World;

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
