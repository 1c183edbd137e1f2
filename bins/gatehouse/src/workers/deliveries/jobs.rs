//! Periodic jobs beside the deliveries.

use std::time::Duration;

use kernel::{StoreError, StoreResult, TenantId};
use store::WebhookUpkeep;
use tokio::time::{MissedTickBehavior, interval};

/// Interval of the periodic jobs. Every round publishes checkpoints.
const EVERY: Duration = Duration::from_mins(1);
/// Expand filters and purge old attempts in every n-th round.
const TIDY: u32 = 10;

/// Runs the periodic jobs until cancelled.
pub(super) async fn run(upkeep: &WebhookUpkeep) {
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut rounds = 0_u32;
    loop {
        ticks.tick().await;
        let failed = log_tenant_problem("a checkpoint could not be published");
        log_problem("logs with new checkpoints could not be found", upkeep.publish_checkpoints(failed).await);
        if rounds.is_multiple_of(TIDY) {
            // After an upgrade, and again: an older instance that still runs may have expanded fewer filters.
            let failed =
                log_tenant_problem("event filters of a tenant's webhooks could not be expanded again");
            log_problem(
                "webhooks with older event filters could not be found",
                upkeep.expand_filters(failed).await,
            );
            let failed = log_tenant_problem("old deliveries of a webhook could not be purged");
            log_problem("webhooks could not be listed", upkeep.purge_expired(failed).await);
        }
        rounds = rounds.wrapping_add(1);
    }
}

/// Returns a function that logs the problem of one tenant.
pub(super) fn log_tenant_problem(problem: &'static str) -> impl Fn(&TenantId, &StoreError) {
    move |tenant, error| tracing::warn!(tenant = tenant.as_str(), %error, "{problem}")
}

pub(super) fn log_problem(problem: &'static str, done: StoreResult<()>) {
    if let Err(error) = done {
        tracing::warn!(%error, "{problem}");
    }
}
