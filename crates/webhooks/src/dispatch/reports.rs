//! Collects outcomes and records them in batches, so that delivery is not limited by one commit per attempt.

use std::{collections::HashMap, time::Duration};

use kernel::{Env, TenantId, Timestamp};
use tokio::time::Instant;

use super::queue::{Batch, Key};
use crate::{
    delivery::{Attempt, AttemptError, DeliveryId, NextAttempt, Outcome, Report},
    schedule::{PATIENCE, next_attempt},
    subscription::{DisabledReason, SubscriptionId},
};

/// Maximum number of outcomes per batch.
const AT_ONCE: usize = 100;
/// How long an outcome waits for others.
const LINGER: Duration = Duration::from_millis(5);

/// Outcomes to record, by tenant, because a transaction belongs to one tenant.
#[derive(Default)]
pub(super) struct Reports(HashMap<TenantId, PendingReports>);

#[derive(Default)]
struct PendingReports {
    reports: Vec<(SubscriptionId, Report)>,
    failing_since: HashMap<SubscriptionId, Option<Timestamp>>,
    disabled: Vec<(SubscriptionId, DisabledReason)>,
    /// When the oldest outcome was added.
    since: Option<Instant>,
    /// A batch is being recorded.
    is_recording: bool,
}

/// The consequences of an outcome.
pub(super) struct AddedReport {
    pub(super) report: Report,
    /// Start of the current period without success.
    pub(super) failing_since: Option<Timestamp>,
    /// Whether the subscription is disabled.
    pub(super) ends: bool,
}

impl Reports {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an outcome and decides its consequences. `before` is the start of the period without success so far.
    pub(super) fn add(
        &mut self,
        env: &dyn Env,
        key: &Key,
        (attempt, outcome, attempted_at): (Attempt, Outcome, Timestamp),
        before: Option<Timestamp>,
    ) -> AddedReport {
        let now = env.now();
        let has_failed = !outcome.is_success();
        // An event that is no longer stored is not the receiver's failure.
        let is_dropped = outcome.error == Some(AttemptError::EventDropped);
        let failing_since =
            if is_dropped { before } else { has_failed.then(|| before.unwrap_or(attempted_at)) };
        let reason = if outcome.is_gone() {
            Some(DisabledReason::Gone)
        } else {
            let is_hopeless = |since: Timestamp| since.plus_millis(PATIENCE) <= now;
            failing_since.filter(|since| !is_dropped && is_hopeless(*since)).map(|_| DisabledReason::Failing)
        };
        let may_follow = has_failed && !outcome.is_gone() && !is_dropped;
        let at = may_follow
            .then(|| next_attempt(env, attempt.number, outcome.retry_after.as_deref(), now))
            .flatten();
        let next = at.map(|at| NextAttempt { id: DeliveryId::new(env), at });
        let report = Report { attempt, outcome, attempted_at, next };
        let waiting = self.0.entry(key.tenant.clone()).or_default();
        waiting.since.get_or_insert_with(Instant::now);
        waiting.reports.push((key.subscription.clone(), report.clone()));
        if failing_since != before {
            waiting.failing_since.insert(key.subscription.clone(), failing_since);
        }
        if let Some(reason) = reason {
            waiting.disabled.push((key.subscription.clone(), reason));
        }
        AddedReport { report, failing_since, ends: reason.is_some() }
    }

    /// Returns a batch to record now, of a tenant without a batch in progress.
    pub(super) fn next(&mut self, now: Instant) -> Option<Batch> {
        let is_due = |waiting: &PendingReports| {
            let has_waited = waiting.since.is_some_and(|since| now >= since + LINGER);
            !waiting.is_recording && (waiting.reports.len() >= AT_ONCE || has_waited)
        };
        let (tenant, waiting) = self.0.iter_mut().find(|(_, waiting)| is_due(waiting))?;
        waiting.is_recording = true;
        let rest = waiting.reports.split_off(waiting.reports.len().min(AT_ONCE));
        waiting.since = if rest.is_empty() { None } else { Some(now) };
        Some(Batch {
            tenant: tenant.clone(),
            reports: std::mem::replace(&mut waiting.reports, rest),
            failing_since: waiting.failing_since.drain().collect(),
            disabled: std::mem::take(&mut waiting.disabled),
        })
    }

    /// Returns when the next batch is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let due = self.0.values().filter(|waiting| !waiting.is_recording).filter_map(|waiting| waiting.since);
        due.min().map(|since| since + LINGER)
    }

    /// Ends the recording of a tenant's batch.
    pub(super) fn recorded(&mut self, tenant: &TenantId) {
        let Some(waiting) = self.0.get_mut(tenant) else { return };
        waiting.is_recording = false;
        if waiting.reports.is_empty() {
            self.0.remove(tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    struct Desk {
        env: ManualEnv,
        key: Key,
        reports: Reports,
    }

    impl Desk {
        fn new() -> Self {
            let env = ManualEnv::at("2026-01-10T00:00:00.000Z".parse().unwrap());
            let key = Key { tenant: TenantId::new(&env), subscription: SubscriptionId::new(&env) };
            Self { env, key, reports: Reports::default() }
        }

        fn add(&mut self, outcome: Outcome, before: Option<Timestamp>) -> AddedReport {
            let attempt = Attempt::sample(&self.env, 1);
            let now = self.env.now();
            self.reports.add(&self.env, &self.key, (attempt, outcome, now), before)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn outcome_decides_on_retry_period_and_end() {
        let mut desk = Desk::new();
        let now = desk.env.now();
        let long_ago = now.plus_millis(-PATIENCE);
        let recently = long_ago.plus_millis(1);
        let (gone, failing) = (Some(DisabledReason::Gone), Some(DisabledReason::Failing));
        let dropped = Outcome::failed(AttemptError::EventDropped, 0);
        for (outcome, before, has_retry, since, reason) in [
            (Outcome::answered(204), None, false, None, None),
            (Outcome::answered(204), Some(long_ago), false, None, None),
            (Outcome::answered(500), None, true, Some(now), None),
            (Outcome::answered(500), Some(recently), true, Some(recently), None),
            (Outcome::answered(500), Some(long_ago), true, Some(long_ago), failing),
            (Outcome::answered(410), None, false, Some(now), gone),
            (Outcome::answered(410), Some(long_ago), false, Some(long_ago), gone),
            (dropped.clone(), None, false, None, None),
            (dropped, Some(long_ago), false, Some(long_ago), None),
        ] {
            let shown = format!("{outcome:?} {before:?}");
            let added = desk.add(outcome, before);
            assert_eq!(added.report.next.is_some(), has_retry, "{shown}");
            assert_eq!((added.failing_since, added.ends), (since, reason.is_some()), "{shown}");
            let batch = desk.reports.next(Instant::now() + LINGER).unwrap();
            assert_eq!(batch.reports, [(desk.key.subscription.clone(), added.report)]);
            let changed = (since != before).then(|| (desk.key.subscription.clone(), since));
            assert_eq!(batch.failing_since, changed.into_iter().collect::<Vec<_>>(), "{shown}");
            let disabled = reason.map(|reason| (desk.key.subscription.clone(), reason));
            assert_eq!(batch.disabled, disabled.into_iter().collect::<Vec<_>>(), "{shown}");
            desk.reports.recorded(&desk.key.tenant);
            assert!(desk.reports.is_empty());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn outcomes_are_recorded_after_five_milliseconds_or_by_the_hundred() {
        let mut desk = Desk::new();
        let start = Instant::now();
        assert!(desk.reports.is_empty() && desk.reports.next_due().is_none());
        for _ in 0..AT_ONCE - 1 {
            desk.add(Outcome::answered(204), None);
        }
        assert!(!desk.reports.is_empty());
        assert_eq!(desk.reports.next_due(), Some(start + LINGER));
        assert!(desk.reports.next(start + LINGER - Duration::from_nanos(1)).is_none());
        for _ in 0..2 {
            desk.add(Outcome::answered(204), None);
        }
        let batch = desk.reports.next(start).unwrap();
        assert_eq!((batch.tenant, batch.reports.len()), (desk.key.tenant.clone(), AT_ONCE));
        // One batch of a tenant at a time.
        assert!(desk.reports.next(start + LINGER).is_none() && desk.reports.next_due().is_none());
        desk.reports.recorded(&desk.key.tenant);
        assert!(!desk.reports.is_empty());
        assert_eq!(desk.reports.next_due(), Some(start + LINGER));
        assert_eq!(desk.reports.next(start + LINGER).unwrap().reports.len(), 1);
        desk.reports.recorded(&desk.key.tenant);
        assert!(desk.reports.is_empty());
    }
}
