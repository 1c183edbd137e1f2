//! Subscriptions as the API shows them.

use kernel::Timestamp;
use serde::Serialize;

use crate::{DisabledReason, EventFilter, PublicKey, SigningSecret, Subscription, SubscriptionId};

/// A webhook.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = WebhookSubscription))]
pub struct SubscriptionView {
    /// `whk_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    id: SubscriptionId,
    name: String,
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    url: String,
    /// Patterns of event types; `*` matches any characters.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    event_filters: Vec<EventFilter>,
    /// Whether the events of a subject, such as a user, are delivered one after the other.
    ordered: bool,
    /// Whether events are delivered. Pending deliveries wait while it is disabled.
    enabled: bool,
    /// Why the server disabled it: `GONE` (the receiver answered 410) or `FAILING` (no success for five days).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    disabled_reason: Option<DisabledReason>,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    created_at: Timestamp,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    updated_at: Timestamp,
    /// End of the overlap in which the previous secret also signs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    rotating_until: Option<Timestamp>,
    /// `whpk_…`: the keys that verify the `v1a` signatures, newest first. Two during a rotation.
    public_keys: Vec<String>,
    /// `whsec_…`. Only in the response to its creation or rotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    secret: Option<String>,
    /// Filters that match no existing event type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl SubscriptionView {
    /// Shows a subscription. `types` are the existing event types, `keys` the public keys that verify its signatures,
    /// `secret` is the secret that was just generated.
    pub fn new(
        subscription: &Subscription,
        types: &[&str],
        now: Timestamp,
        keys: &[PublicKey],
        secret: Option<&SigningSecret>,
    ) -> Self {
        let warning = |filter: &EventFilter| format!("eventFilters: {filter} matches no existing event type");
        Self {
            id: subscription.id.clone(),
            name: subscription.name.clone(),
            url: subscription.url.clone(),
            event_filters: subscription.event_filters.clone(),
            ordered: subscription.ordered,
            enabled: subscription.enabled,
            disabled_reason: subscription.disabled_reason,
            created_at: subscription.created_at,
            updated_at: subscription.updated_at,
            rotating_until: subscription.secrets.overlapping(now).map(|previous| previous.until),
            public_keys: keys.iter().map(ToString::to_string).collect(),
            secret: secret.map(|secret| secret.text().to_owned()),
            warnings: subscription.idle_filters(types).map(warning).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{Id, ManualEnv, TenantId};
    use serde_json::{json, to_value};

    use super::*;
    use crate::{PreviousSecret, SecretKeys, Secrets};

    #[test]
    fn a_view_shows_rotation_keys_and_filters_without_effect() {
        let now: Timestamp = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let (env, until) = (ManualEnv::at(now), now.plus_millis(1));
        let (tenant, id) = (TenantId::new(&env), Id::new(&env));
        let keys = SecretKeys::sample();
        let (previous, _) = keys.generate(&env, (&tenant, &id), 1).unwrap();
        let (current, secret) = keys.generate(&env, (&tenant, &id), 2).unwrap();
        let previous = Some(PreviousSecret { generation: previous, until });
        let secrets = Secrets { current, previous };
        let public = keys.signers((&tenant, &id), &secrets, now).unwrap().public_keys();
        let subscription = Subscription {
            id,
            name: "a".into(),
            url: "https://one.example/".into(),
            event_filters: ["A_*", "B"].map(|filter| filter.parse().unwrap()).into(),
            ordered: true,
            enabled: false,
            disabled_reason: Some(DisabledReason::Gone),
            secrets,
            created_at: now,
            updated_at: until,
        };
        let shown =
            |at, keys, secret| to_value(SubscriptionView::new(&subscription, &["A_1"], at, keys, secret));
        let mut expected = json!({
            "id": subscription.id,
            "name": "a",
            "url": "https://one.example/",
            "eventFilters": ["A_*", "B"],
            "ordered": true,
            "enabled": false,
            "disabledReason": "GONE",
            "createdAt": now,
            "updatedAt": until,
            "rotatingUntil": until,
            "publicKeys": [public[0].to_string(), public[1].to_string()],
            "secret": secret.text(),
            "warnings": ["eventFilters: B matches no existing event type"],
        });
        assert_eq!(shown(now, &public, Some(&secret)).unwrap(), expected);
        for member in ["rotatingUntil", "secret"] {
            expected.as_object_mut().unwrap().remove(member);
        }
        assert_eq!(shown(until, &public, None).unwrap(), expected);
    }
}
