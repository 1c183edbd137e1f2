//! Who is told of events.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::event;

const RESOURCE_TYPE: &str = "webhook";
const EXAMPLE_ID: &str = "whk_01jz3333333333333333333333";
const EXAMPLE_ACTOR: (&str, &str) = ("usr_01jz2222222222222222222222", "USER");

/// Defines an event about a subscription: its type, code, description, fields with their words and examples.
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
    WebhookCreated "ACCOUNT_WEBHOOK_CREATED" "A webhook subscription was added." {
        /// What it is told of.
        event_filters: Vec<String> = vec!["ACCOUNT_USER_*".into()],
    }
    WebhookUpdated "ACCOUNT_WEBHOOK_UPDATED" "A webhook subscription was changed." {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["url".into()],
    }
    WebhookDeleted "ACCOUNT_WEBHOOK_DELETED" "A webhook subscription was removed." {}
    WebhookDisabled "ACCOUNT_WEBHOOK_DISABLED" "A webhook subscription was disabled because of what its receiver answered." {
        /// `GONE`: it answered 410. `FAILING`: nothing succeeded for five days.
        reason: String = "FAILING".into(),
    }
    WebhookSecretRotated "ACCOUNT_WEBHOOK_SECRET_ROTATED" "A webhook subscription got a new signing secret." {
        /// How many secrets it has had.
        generation: u64 = 2,
        /// Hours that the one before signs beside it.
        overlap_hours: u32 = 24,
    }
    WebhookRotationCompleted "ACCOUNT_WEBHOOK_ROTATION_COMPLETED" "The new signing secret of a webhook subscription alone signs." {
        /// How many secrets it has had.
        generation: u64 = 2,
    }
    WebhookReplayed "ACCOUNT_WEBHOOK_REPLAYED" "A webhook subscription is told again of events of the past." {
        /// The first moment.
        from: String = "2026-01-30T00:00:00.000Z".into(),
        /// The first moment that is not in it any more.
        to: String = "2026-01-31T00:00:00.000Z".into(),
        /// Number of events that are delivered again.
        events: u64 = 204,
    }
    WebhookDeliveryRetried "ACCOUNT_WEBHOOK_DELIVERY_RETRIED" "Somebody had a delivery of a webhook sent again." {
        /// The attempt that is to come.
        delivery: String = "dlv_01jz4444444444444444444444".into(),
        /// Id of the event that is delivered again.
        event: String = "evt_01jz3q4v5w6x7y8z9a0b1c2d3e".into(),
    }
}
