//! The queue of a worker over the database.

use std::sync::Arc;

use async_trait::async_trait;
use audit::{Audited, Unaudited};
use diesel::{dsl::exists, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};
use signals::{Done, Key, Lease, Problem, STREAM_UPDATED, SignalQueue, Taken};

use crate::{
    Across, Store, Tx,
    conn::on,
    error::corrupt,
    schema::{signal_events as events, signal_stream_states as states},
    shards::{merge_first, select_of_shard},
};

/// The streams with push delivery of all tenants in a database.
pub struct PushQueue {
    store: Arc<Store>,
    env: Arc<dyn Env>,
}

impl PushQueue {
    /// Creates the queue.
    pub fn new(store: Arc<Store>, env: Arc<dyn Env>) -> Self {
        Self { store, env }
    }

    async fn write<T: Send + 'static>(
        &self,
        tenant: &TenantId,
        work: impl AsyncFnOnce(&mut Tx) -> StoreResult<T> + Send + 'static,
    ) -> StoreResult<T> {
        let ctx = Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("signals"));
        let work = async move |_: &Ctx, tx: &mut Tx| {
            Ok::<_, StoreError>(Audited::without(work(tx).await?, Unaudited::Delivered))
        };
        self.store.write(ctx, work).await
    }
}

#[async_trait]
impl SignalQueue for PushQueue {
    async fn due(&self, lease: &Lease, limit: usize) -> StoreResult<Vec<Key>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.store.across(async |across: &mut Across| across.due_pushes(lease, limit).await).await
    }

    async fn take(&self, key: &Key, lease: &Lease, limit: i64) -> StoreResult<Option<Taken>> {
        let (id, of) = (key.stream.clone(), lease.clone());
        let look = async move |tx: &mut Tx| tx.is_push_due(&id, &of).await;
        // Most streams that are announced poll.
        if !self.store.read::<_, StoreError>(key.tenant.clone(), look).await? {
            return Ok(None);
        }
        let (id, lease) = (key.stream.clone(), lease.clone());
        self.write(&key.tenant, async move |tx: &mut Tx| tx.take_push(&id, &lease, limit).await).await
    }

    async fn advance(&self, key: &Key, lease: &Lease, done: &[String], how: &Done) -> StoreResult<bool> {
        let (id, lease, done, how) = (key.stream.clone(), lease.clone(), done.to_vec(), how.clone());
        self.write(&key.tenant, async move |tx: &mut Tx| tx.advance_push(&id, &lease, (&done, &how)).await)
            .await
    }

    async fn fail(
        &self,
        key: &Key,
        lease: &Lease,
        problem: &Problem,
        next_attempt_at: Timestamp,
    ) -> StoreResult<Option<Timestamp>> {
        let (id, lease, problem) = (key.stream.clone(), lease.clone(), problem.clone());
        let work = async move |tx: &mut Tx| tx.fail_push(&id, &lease, (&problem, next_attempt_at)).await;
        self.write(&key.tenant, work).await
    }

    async fn release(&self, key: &Key, lease: &Lease) -> StoreResult<()> {
        let (id, lease) = (key.stream.clone(), lease.clone());
        self.write(&key.tenant, async move |tx: &mut Tx| tx.release_push(&id, &lease).await).await
    }
}

impl Across {
    /// Returns streams with events to push, whose next attempt is due and that no other worker has a lease of.
    async fn due_pushes(&mut self, lease: &Lease, limit: i64) -> StoreResult<Vec<Key>> {
        let now = lease.now.naive();
        let mut found: Vec<(String, String, String)> = if self.is_distributed {
            let owner = &lease.owner;
            let due = format!(
                "WHERE pushes AND due_at <= '{now}' AND (lease_owner IN ('', '{owner}') OR lease_until <= '{now}') \
                 AND (enabled AND EXISTS (SELECT FROM %2$s AS events WHERE events.tenant_id = states.tenant_id \
                 AND events.stream_id = states.stream_id) OR EXISTS (SELECT FROM %2$s AS events \
                 WHERE events.tenant_id = states.tenant_id AND events.stream_id = states.stream_id \
                 AND control IS NOT NULL AND event_type = '{STREAM_UPDATED}')) \
                 ORDER BY due_at LIMIT {limit}"
            );
            let due =
                select_of_shard("due_at::text, tenant_id, stream_id", &due).replace("%1$s", "%1$s AS states");
            self.on_shards_of_both(("signal_stream_states", "signal_events"), &due).await?
        } else {
            let is_free = states::lease_owner
                .eq("")
                .or(states::lease_owner.eq(&lease.owner))
                .or(states::lease_until.le(now));
            let of_stream = events::table
                .filter(events::tenant_id.eq(states::tenant_id))
                .filter(events::stream_id.eq(states::stream_id));
            // The index of events about streams themselves spares those that a paused stream holds.
            let updated =
                of_stream.filter(events::control.is_not_null()).filter(events::event_type.eq(STREAM_UPDATED));
            let is_pending = states::enabled.and(exists(of_stream)).or(exists(updated));
            let query = states::table
                .filter(states::pushes)
                .filter(states::due_at.le(now))
                .filter(is_free)
                .filter(is_pending)
                .order(states::due_at)
                .limit(limit)
                .select((states::tenant_id, states::stream_id));
            let found: Vec<(String, String)> = on!(&mut self.conn, c => query.load(c).await)?;
            found.into_iter().map(|(tenant, stream)| (String::new(), tenant, stream)).collect()
        };
        if self.is_distributed {
            // Those that wait for longest, of all shards.
            found = merge_first(found, limit);
        }
        let key = |(_, tenant, stream): &(String, String, String)| {
            Ok(Key {
                tenant: tenant.parse().map_err(|error| corrupt("signal_stream_states.tenant_id", error))?,
                stream: stream.parse().map_err(|error| corrupt("signal_stream_states.stream_id", error))?,
            })
        };
        found.iter().map(key).collect()
    }
}
