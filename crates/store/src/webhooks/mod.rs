//! Webhooks: subscriptions, deliveries and their outcomes.

mod backlog;
mod checkpoints;
mod deliveries;
mod delivery_row;
mod dispatch_queue;
mod dispatchers;
mod fan_out;
mod history;
mod notices;
mod order;
mod queue;
mod record;
mod retry;
mod subscriptions;
mod upkeep;

use std::sync::Arc;

use ::webhooks::Key;
use kernel::{Actor, Ctx, Env, StoreResult, TenantId};

use crate::error::corrupt;

pub(crate) use self::delivery_row::{PendingRow, event_of, insert_delivery};
pub(crate) use self::fan_out::{FanOut, FannedOut, Listeners, Woken};
pub use self::{
    backlog::WebhookBacklog,
    deliveries::event_payload,
    dispatch_queue::DispatchQueue,
    history::{MAX_REPLAYED, PastEvent},
    notices::WebhookNotice,
    queue::{DueRetry, PendingSubscription},
    upkeep::{FailingWebhook, NoticedFailures, WebhookUpkeep},
};

/// Parses the IDs of a tenant and its subscription, read from this table.
fn key(table: &str, (tenant, subscription): (&str, &str)) -> StoreResult<Key> {
    Ok(Key {
        tenant: tenant.parse().map_err(|error| corrupt(&format!("{table}.tenant_id"), error))?,
        subscription: subscription
            .parse()
            .map_err(|error| corrupt(&format!("{table}: ID of a subscription"), error))?,
    })
}

/// Creates the context of a unit of work for deliveries.
fn ctx(env: &Arc<dyn Env>, tenant: &TenantId) -> Ctx {
    Ctx::new(Arc::clone(env), tenant.clone(), Actor::system("webhooks"))
}
