//! Webhooks: subscriptions, deliveries and their outcomes.

mod checkpoints;
mod deliveries;
mod delivery_row;
mod fan_out;
mod history;
mod queue;
mod record;
mod retry;
mod subscriptions;

pub(crate) use self::delivery_row::{DeliveryRow, insert_delivery};
pub(crate) use self::fan_out::{DeliveredRow, FanOut, WokenSubscriptions};
pub use self::{
    deliveries::event_payload,
    history::{MAX_REPLAYED, PastEvent},
    queue::{PendingSubscription, Retries},
};
