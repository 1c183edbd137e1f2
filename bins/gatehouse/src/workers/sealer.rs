//! Seals audit logs every second, independently of requests. Every instance with the worker role takes part.

use std::{sync::Arc, time::Duration};

use actix_web::web;
use audit::{
    MacProblem,
    log::{SealObserver, SealRules, Sealer},
};
use kernel::{Env, StoreError, TenantId, Timestamp};
use store::{AuditLogQueue, Store};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::{api::Site, area_metrics};

/// Polling interval.
const EVERY: Duration = Duration::from_secs(1);
/// Time limit of the last round at shutdown.
const LAST: Duration = Duration::from_secs(5);

/// The worker that seals audit logs.
pub(crate) struct SealWorker(Sealer);

impl SealWorker {
    pub(crate) fn new(store: Arc<Store>, env: Arc<dyn Env>, site: web::Data<Site>) -> Self {
        let rules = move |now: Timestamp| {
            let (checkpoints, entries) = site.pipeline.keys.sealing_keys();
            let accepts_missing_macs = site.audit.accept_missing_macs_until.is_some_and(|until| now < until);
            SealRules { checkpoints, entries, accepts_missing_macs }
        };
        let queue = AuditLogQueue::new(store, Arc::clone(&env), rules);
        Self(Sealer::new(Arc::new(queue), Arc::new(SealReporter), env))
    }

    /// Seals until it is dropped.
    pub(crate) async fn run(&self) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            while self.0.round().await {}
        }
    }

    /// Seals the pending entries once more at shutdown, and releases its leases.
    pub(crate) async fn finish(&self) {
        if timeout(LAST, self.0.last_round()).await.is_err() {
            tracing::info!("entries are still unsealed; another instance or the next start seals them");
        }
    }
}

/// Updates metrics and writes log lines.
struct SealReporter;

impl SealObserver for SealReporter {
    fn sealed(&self, entries: usize) {
        area_metrics::sealed(entries);
    }

    fn failed(&self, tenant: Option<&TenantId>, error: &StoreError) {
        area_metrics::sealing_failed();
        if let Some(tenant) = tenant {
            tracing::warn!(%error, tenant = tenant.as_str(), "an audit log could not be sealed");
        } else {
            tracing::warn!(%error, "audit logs with unsealed entries could not be listed");
        }
    }

    fn refused(&self, tenant: &TenantId, entries: usize, first: Option<&(String, MacProblem)>) {
        tracing::error!(
            tenant = tenant.as_str(),
            entries,
            first = first.map(|(entry, _)| entry),
            problem = first.map(|(_, problem)| problem.to_string()),
            "audit entries are not sealed, because their MACs are missing or wrong; list them with gatehouse audit verify"
        );
    }

    fn unauthenticated(&self, entries: usize) {
        area_metrics::unauthenticated(entries);
    }

    fn oldest_unsealed(&self, age: i64) {
        area_metrics::oldest_unsealed(age);
    }

    fn waits_long(&self, tenant: &TenantId, entry: &str, age: i64) {
        tracing::warn!(
            tenant = tenant.as_str(),
            entry,
            seconds = age / 1000,
            "an audit entry has been unsealed for more than a minute; run gatehouse doctor"
        );
    }
}
