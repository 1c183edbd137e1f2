//! Webhooks.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::event;

const RESOURCE_TYPE: &str = "webhook";
const EXAMPLE_ID: &str = "whk_01jz3333333333333333333333";
const EXAMPLE_ACTOR: (&str, &str) = ("usr_01jz2222222222222222222222", "USER");

/// Defines an event about a webhook: type, code, description, fields with help and examples.
macro_rules! about_webhooks {
    ($($name:ident $code:literal $description:literal {
        $($(#[$doc:meta])+ $field:ident: $kind:ty = $example:expr,)*
    })+) => { $(
        #[doc = $description]
        #[derive(Debug, Clone, Serialize, ToSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct $name { $($(#[$doc])+ pub $field: $kind,)* }

        event! { $name = $code, about (RESOURCE_TYPE, EXAMPLE_ID), by EXAMPLE_ACTOR; $description; Self { $($field: $example,)* } }
    )+ };
}

about_webhooks! {
    WebhookCreated "ACCOUNT_WEBHOOK_CREATED" "A webhook was added." {
        /// Event type patterns.
        event_filters: Vec<String> = vec!["ACCOUNT_USER_*".into()],
    }
    WebhookUpdated "ACCOUNT_WEBHOOK_UPDATED" "A webhook was changed." {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["url".into()],
    }
    WebhookDeleted "ACCOUNT_WEBHOOK_DELETED" "A webhook was removed." {}
    WebhookDisabled "ACCOUNT_WEBHOOK_DISABLED" "The server disabled a webhook because of its receiver's responses." {
        /// `GONE`: the receiver answered 410. `FAILING`: no success for five days.
        reason: String = "FAILING".into(),
    }
    WebhookSecretRotated "ACCOUNT_WEBHOOK_SECRET_ROTATED" "The signing secret of a webhook was rotated." {
        /// Number of the secret, from 1.
        generation: u64 = 2,
        /// Hours in which the previous secret also signs.
        overlap_hours: u32 = 24,
    }
    WebhookRotationCompleted "ACCOUNT_WEBHOOK_ROTATION_COMPLETED" "The rotation of a signing secret was completed. Only the new secret signs." {
        /// Number of the secret, from 1.
        generation: u64 = 2,
    }
    WebhookReplayed "ACCOUNT_WEBHOOK_REPLAYED" "Past events were replayed to a webhook." {
        /// Start of the time range, inclusive.
        from: String = "2026-01-30T00:00:00.000Z".into(),
        /// End of the time range, exclusive.
        to: String = "2026-01-31T00:00:00.000Z".into(),
        /// Number of events that are delivered again.
        events: u64 = 204,
    }
    WebhookDeliveryRetried "ACCOUNT_WEBHOOK_DELIVERY_RETRIED" "A delivery was retried." {
        /// ID of the scheduled attempt.
        delivery: String = "dlv_01jz4444444444444444444444".into(),
        /// ID of the event that is delivered again.
        event: String = "evt_01jz3q4v5w6x7y8z9a0b1c2d3e".into(),
    }
}
