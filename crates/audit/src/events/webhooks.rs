//! Webhooks.

use super::define::{BY_USER, Resource, events};

const WEBHOOK: Resource = ("webhook", "whk_01jz3333333333333333333333");

events! {
    /// A webhook was added.
    WebhookCreated = "ACCOUNT_WEBHOOK_CREATED" (WEBHOOK, BY_USER) {
        /// Event type patterns.
        event_filters: Vec<String> = vec!["ACCOUNT_USER_*".into()],
    }
    /// A webhook was changed.
    WebhookUpdated = "ACCOUNT_WEBHOOK_UPDATED" (WEBHOOK, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["url".into()],
    }
    /// A webhook was removed.
    WebhookDeleted = "ACCOUNT_WEBHOOK_DELETED" (WEBHOOK, BY_USER) {}
    /// A webhook has had no success for an hour, or is going to be disabled in a day.
    WebhookFailing = "ACCOUNT_WEBHOOK_FAILING" (WEBHOOK, BY_USER) {
        /// First failure since the last success.
        failing_since: String = "2026-01-30T00:00:00.000Z".into(),
        /// An attempt that fails at this time or later disables the webhook.
        disabled_after: String = "2026-02-04T00:00:00.000Z".into(),
    }
    /// The server disabled a webhook because of its receiver's responses.
    WebhookDisabled = "ACCOUNT_WEBHOOK_DISABLED" (WEBHOOK, BY_USER) {
        /// `GONE`: the receiver answered 410. `FAILING`: no success for five days.
        reason: String = "FAILING".into(),
    }
    /// The signing secret of a webhook was rotated.
    WebhookSecretRotated = "ACCOUNT_WEBHOOK_SECRET_ROTATED" (WEBHOOK, BY_USER) {
        /// Number of the secret, from 1.
        generation: u64 = 2,
        /// Hours in which the previous secret also signs.
        overlap_hours: u32 = 24,
    }
    /// The rotation of a signing secret was completed. Only the new secret signs.
    WebhookRotationCompleted = "ACCOUNT_WEBHOOK_ROTATION_COMPLETED" (WEBHOOK, BY_USER) {
        /// Number of the secret, from 1.
        generation: u64 = 2,
    }
    /// Past events were replayed to a webhook.
    WebhookReplayed = "ACCOUNT_WEBHOOK_REPLAYED" (WEBHOOK, BY_USER) {
        /// Start of the time range, inclusive.
        from: String = "2026-01-30T00:00:00.000Z".into(),
        /// End of the time range, exclusive.
        to: String = "2026-01-31T00:00:00.000Z".into(),
        /// Number of events that are delivered again.
        events: u64 = 204,
    }
    /// A delivery was retried.
    WebhookDeliveryRetried = "ACCOUNT_WEBHOOK_DELIVERY_RETRIED" (WEBHOOK, BY_USER) {
        /// ID of the scheduled attempt.
        delivery: String = "dlv_01jz4444444444444444444444".into(),
        /// ID of the event that is delivered again.
        event: String = "evt_01jz3q4v5w6x7y8z9a0b1c2d3e".into(),
    }
}
