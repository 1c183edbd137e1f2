//! How many scans run at the same time, and how long one may take.
//!
//! A scan is a read whose work grows with the tenant: see [`crate::Cost`]. All reads share a few connections, so a
//! tenant runs at most [`OF_TENANT`] scans at a time on one instance, and all tenants together leave half of the
//! connections to other reads. A scan waits at most [`WAIT`] for its turn and runs at most [`LIMIT`]; it is stopped
//! as soon as its client is gone, and keeps its turn until the database has really stopped.

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

/// How long a scan may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(2);
/// Scans of one tenant at the same time.
const OF_TENANT: usize = 2;
/// How long a scan waits for its turn. Most scans take milliseconds, so a client that sends a few at once gets all its
/// answers; behind slow ones a longer wait would only keep clients and memory.
const WAIT: Duration = Duration::from_secs(1);
/// Scans of one tenant that may wait.
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
    /// It was answered, also with an error.
    Completed,
    /// It took longer than it may.
    TooLong,
    /// Its client was gone.
    Abandoned,
    /// It did not get its turn in time.
    Refused,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Completed, Self::TooLong, Self::Abandoned, Self::Refused];

    /// As a label of a metric.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TooLong => "too_long",
            Self::Abandoned => "abandoned",
            Self::Refused => "refused",
        }
    }
}

/// Scans that run, and how those before have ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScanMetrics {
    /// How many run.
    pub running: usize,
    /// How many have ended, by [`Outcome`].
    pub ended: Vec<(Outcome, u64)>,
}

/// The right to run a scan. Dropped, another one may run, so it is kept until the database has stopped.
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
    /// Waits for a turn: one of the tenant's, then one of `all`, the turns of this database.
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
            // Unless it says otherwise before.
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

    /// What runs, and what has run.
    pub(crate) fn scan_metrics(&self) -> ScanMetrics {
        let ended = Outcome::ALL.into_iter().zip(&self.outcomes);
        ScanMetrics {
            running: self.running.load(Ordering::Acquire),
            ended: ended.map(|(outcome, counter)| (outcome, counter.load(Ordering::Relaxed))).collect(),
        }
    }
}

impl ScanPermit {
    /// Notes how the scan has ended.
    pub(crate) fn ended(&mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for ScanPermit {
    fn drop(&mut self) {
        self.scans.running.fetch_sub(1, Ordering::AcqRel);
        self.scans.count(self.outcome);
        if self.outcome == Outcome::TooLong {
            tracing::warn!(tenant = %self.tenant, limit = ?LIMIT, "a scan was stopped at its deadline");
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
    async fn tenant_runs_two_scans_and_a_third_waits_while_others_do_not() {
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
    async fn all_tenants_together_leave_the_other_half_free() {
        let (scans, all) = (Arc::<Scans>::default(), Arc::new(Semaphore::new(1)));
        let running = scans.turn(&tenant(), &all).await.unwrap();
        let other = tenant();
        let mut waiting = Box::pin(scans.turn(&other, &all));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(running);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn waiting_scans_of_a_tenant_have_a_bound_and_leave_nothing_behind() {
        let (scans, all, acme) = (Arc::<Scans>::default(), Arc::new(Semaphore::new(4)), tenant());
        let mut waiting: Vec<_> =
            (0..OF_TENANT + WAITING).map(|_| Box::pin(scans.turn(&acme, &all))).collect();
        let running: Vec<_> = waiting.iter_mut().filter_map(|one| one.as_mut().now_or_never()).collect();
        assert_eq!(running.len(), OF_TENANT);
        let more = scans.turn(&acme, &all).now_or_never();
        assert!(matches!(more, Some(Err(StoreError::TenantBusy(_)))), "refused at once");
        drop((running, waiting));
        assert_eq!(scans.scan_metrics().running, 0);
    }
}
