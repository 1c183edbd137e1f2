//! Limits the number and duration of concurrent scans.
//!
//! A scan is a read whose work grows with the tenant: see [`crate::Cost`]. All reads share a few connections. Each
//! tenant runs at most [`OF_TENANT`] scans at a time on one instance, and all tenants together use at most half of
//! the connections. A scan waits at most [`WAIT`] for its turn and runs at most [`LIMIT`]. It is cancelled when its
//! client disconnects, and keeps its turn until the database has stopped.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use kernel::{StoreError, StoreResult, TenantId};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use super::tenant_limits::{TenantLimits, TenantTurn};

/// Time limit of a scan.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);
/// Concurrent scans per tenant.
const OF_TENANT: usize = 2;
/// How long a scan waits for its turn. Most scans take milliseconds, so all requests of a short burst are served. A
/// longer wait behind slow scans would only tie up clients and memory.
const WAIT: Duration = Duration::from_secs(1);
/// Scans that may wait per tenant.
const WAITING: usize = 32;

/// The scans of one instance.
pub(crate) struct Scans {
    pub(crate) turns: Arc<TenantLimits>,
    running: AtomicUsize,
    outcomes: [AtomicU64; Outcome::ALL.len()],
}

/// How a scan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It completed, possibly with an error.
    Completed,
    /// It exceeded its time limit.
    TooLong,
    /// Its client disconnected.
    Abandoned,
    /// It did not get its turn in time.
    Refused,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Completed, Self::TooLong, Self::Abandoned, Self::Refused];

    /// Returns the label of the outcome in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TooLong => "too_long",
            Self::Abandoned => "abandoned",
            Self::Refused => "refused",
        }
    }
}

/// Metrics of scans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanMetrics {
    /// Scans that are running.
    pub running: usize,
    /// Scans that have ended, by [`Outcome`].
    pub ended: Vec<(Outcome, u64)>,
}

/// Permission to run a scan. Held until the database has stopped; dropping it lets the next scan run.
pub(crate) struct ScanPermit {
    scans: Arc<Scans>,
    outcome: Outcome,
    tenant: TenantId,
    _of_tenant: TenantTurn,
    _of_all: OwnedSemaphorePermit,
}

impl Default for Scans {
    fn default() -> Self {
        Self {
            turns: Arc::new(TenantLimits::new(OF_TENANT, WAITING)),
            running: AtomicUsize::new(0),
            outcomes: Default::default(),
        }
    }
}

impl Scans {
    /// Waits for a turn: first one of the tenant's, then one of `all`, the turns of this database.
    pub(crate) async fn turn(
        self: &Arc<Self>,
        tenant: &TenantId,
        all: &Arc<Semaphore>,
    ) -> StoreResult<ScanPermit> {
        let turn = self.wait(tenant, all).await;
        if turn.is_none() {
            self.count(Outcome::Refused);
        }
        turn.ok_or(StoreError::TenantBusy("searches"))
    }

    async fn wait(self: &Arc<Self>, tenant: &TenantId, all: &Arc<Semaphore>) -> Option<ScanPermit> {
        let place = self.turns.queue.join();
        let both = async {
            let of_tenant = self.turns.turn(tenant).await?;
            Some((of_tenant, Arc::clone(all).acquire_owned().await.ok()?))
        };
        let (of_tenant, of_all) = timeout(WAIT, both).await.ok()??;
        drop(place);
        self.running.fetch_add(1, Ordering::AcqRel);
        Some(ScanPermit {
            scans: Arc::clone(self),
            // The outcome if no other is recorded.
            outcome: Outcome::Abandoned,
            tenant: tenant.clone(),
            _of_tenant: of_tenant,
            _of_all: of_all,
        })
    }

    fn count(&self, outcome: Outcome) {
        if let Some(counter) = self.outcomes.get(outcome as usize) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the current metrics.
    pub(crate) fn scan_metrics(&self) -> ScanMetrics {
        let ended = Outcome::ALL.into_iter().zip(&self.outcomes);
        ScanMetrics {
            running: self.running.load(Ordering::Acquire),
            ended: ended.map(|(outcome, counter)| (outcome, counter.load(Ordering::Relaxed))).collect(),
        }
    }
}

impl ScanPermit {
    /// Records how the scan ended.
    pub(crate) fn ended(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for ScanPermit {
    fn drop(&mut self) {
        self.scans.running.fetch_sub(1, Ordering::AcqRel);
        self.scans.count(self.outcome);
        if self.outcome == Outcome::TooLong {
            tracing::warn!(tenant = %self.tenant, limit = ?LIMIT, "stopped a scan at its time limit");
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use kernel::{Id, SystemEnv};

    use super::*;

    fn tenant() -> TenantId {
        Id::new(&SystemEnv::default())
    }

    #[tokio::test]
    async fn third_scan_of_a_tenant_waits_while_other_tenants_proceed() {
        let (scans, all, acme) = (Arc::<Scans>::default(), Arc::new(Semaphore::new(4)), tenant());
        let one = scans.turn(&acme, &all).await.unwrap();
        let _other = scans.turn(&acme, &all).await.unwrap();
        let mut third = Box::pin(scans.turn(&acme, &all));
        assert!(third.as_mut().now_or_never().is_none());
        let _of_neighbour = scans.turn(&tenant(), &all).await.unwrap();
        assert_eq!(scans.scan_metrics().running, 3);
        drop(one);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn scans_of_all_tenants_use_at_most_half_of_the_connections() {
        let (scans, all) = (Arc::<Scans>::default(), Arc::new(Semaphore::new(1)));
        let running = scans.turn(&tenant(), &all).await.unwrap();
        let other = tenant();
        let mut waiting = Box::pin(scans.turn(&other, &all));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(running);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn waiting_scans_of_a_tenant_are_limited_and_cleaned_up() {
        let (scans, all, acme) = (Arc::<Scans>::default(), Arc::new(Semaphore::new(4)), tenant());
        let mut waiting: Vec<_> =
            (0..OF_TENANT + WAITING).map(|_| Box::pin(scans.turn(&acme, &all))).collect();
        let running: Vec<_> = waiting.iter_mut().filter_map(|one| one.as_mut().now_or_never()).collect();
        assert_eq!(running.len(), OF_TENANT);
        let more = scans.turn(&acme, &all).now_or_never();
        assert!(matches!(more, Some(Err(StoreError::TenantBusy(_)))), "rejected at once");
        drop((running, waiting));
        assert_eq!(scans.scan_metrics().running, 0);
    }
}
