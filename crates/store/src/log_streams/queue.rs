//! The queue of a worker over the database.

use std::sync::Arc;

use ::log_streams::{FailureNote, Key, Lease, LogPage, Problem, StreamQueue, Taken};
use async_trait::async_trait;
use audit::{Audited, Event, Unaudited, events::log_streams::LogStreamFailing};
use kernel::{Actor, Ctx, Env, StoreError, StoreResult, TenantId, Timestamp};

use crate::{Across, Store, Tx};

/// The streams of all tenants in a database.
pub struct LogStreamQueue {
    store: Arc<Store>,
    env: Arc<dyn Env>,
}

impl LogStreamQueue {
    /// Creates the queue.
    pub fn new(store: Arc<Store>, env: Arc<dyn Env>) -> Self {
        Self { store, env }
    }

    fn ctx(&self, tenant: &TenantId) -> Ctx {
        Ctx::new(Arc::clone(&self.env), tenant.clone(), Actor::system("log-streams"))
    }
}

#[async_trait]
impl StreamQueue for LogStreamQueue {
    async fn due(&self, lease: &Lease, limit: usize) -> StoreResult<Vec<Key>> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.store.across(async |across: &mut Across| across.due_log_streams(lease, limit).await).await
    }

    async fn take(&self, key: &Key, lease: &Lease) -> StoreResult<Option<Taken>> {
        let (id, lease) = (key.stream.clone(), lease.clone());
        let work = async move |_: &Ctx, tx: &mut Tx| {
            let taken = tx.take_log_stream(&id, &lease).await?;
            Ok::<_, StoreError>(Audited::without(taken, Unaudited::Delivered))
        };
        self.store.write(self.ctx(&key.tenant), work).await
    }

    async fn read(&self, tenant: &TenantId, from: u64, limit: usize) -> StoreResult<LogPage> {
        let read = async move |tx: &mut Tx| tx.log_page(from, limit).await;
        self.store.read::<_, StoreError>(tenant.clone(), read).await
    }

    async fn advance(
        &self,
        key: &Key,
        lease: &Lease,
        range: (u64, u64),
        sent: Option<u64>,
    ) -> StoreResult<bool> {
        let (id, lease) = (key.stream.clone(), lease.clone());
        let work = async move |_: &Ctx, tx: &mut Tx| {
            let has_lease = tx.advance_log_stream(&id, &lease, range, sent).await?;
            Ok::<_, StoreError>(Audited::without(has_lease, Unaudited::Delivered))
        };
        self.store.write(self.ctx(&key.tenant), work).await
    }

    async fn fail(
        &self,
        key: &Key,
        lease: &Lease,
        problem: &Problem,
        next_attempt_at: Timestamp,
        repeats_last: bool,
    ) -> StoreResult<Option<FailureNote>> {
        let (id, lease, problem) = (key.stream.clone(), lease.clone(), problem.clone());
        let work = async move |_: &Ctx, tx: &mut Tx| {
            let note = tx.fail_log_stream(&id, &lease, &problem, next_attempt_at, repeats_last).await?;
            let due = note.filter(|note| note.is_notice_due);
            let event = due.map(|note| {
                let data =
                    LogStreamFailing { failing_since: note.since.to_string(), problem: problem.code.clone() };
                Event::new(id.as_str(), &data)
            });
            Ok::<_, StoreError>(Audited::of_changes(note, event.into_iter().collect()))
        };
        self.store.write(self.ctx(&key.tenant), work).await
    }

    async fn release(&self, key: &Key, lease: &Lease, due_at: Timestamp, is_done: bool) -> StoreResult<()> {
        let (id, lease) = (key.stream.clone(), lease.clone());
        let work = async move |_: &Ctx, tx: &mut Tx| {
            tx.release_log_stream(&id, &lease, due_at, is_done).await?;
            Ok::<_, StoreError>(Audited::without((), Unaudited::Delivered))
        };
        self.store.write(self.ctx(&key.tenant), work).await
    }
}
