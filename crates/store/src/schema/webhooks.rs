//! Webhooks.

diesel::table! {
    webhook_subscriptions (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        url -> Text,
        event_filters -> Json,
        ordered -> Bool,
        enabled -> Bool,
        disabled_reason -> Nullable<Text>,
        secrets -> Json,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        is_deleted -> Bool,
        routed -> BigInt,
    }
}

diesel::table! {
    webhook_routes (tenant_id, event_type, subscription_id) {
        tenant_id -> Text,
        event_type -> Text,
        subscription_id -> Text,
        ordered -> Bool,
    }
}

diesel::table! {
    webhook_queues (tenant_id, subscription_id) {
        tenant_id -> Text,
        subscription_id -> Text,
        lease_owner -> Text,
        lease_until -> Timestamp,
        next_retry -> Nullable<Timestamp>,
        failing_since -> Nullable<Timestamp>,
        notified_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    webhook_deliveries (tenant_id, subscription_id, id) {
        tenant_id -> Text,
        subscription_id -> Text,
        id -> Text,
        event_id -> Text,
        event_type -> Text,
        payload -> Nullable<Text>,
        attempt -> BigInt,
        is_fresh -> Bool,
        due_at -> Nullable<Timestamp>,
        http_status -> Nullable<BigInt>,
        error -> Nullable<Text>,
        duration_ms -> Nullable<BigInt>,
        response_body -> Nullable<Binary>,
        attempted_at -> Nullable<Timestamp>,
        next_id -> Nullable<Text>,
        next_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    // The columns of `webhook_deliveries` without outcomes, and one more: diesel supports tables of more than 16 columns
    // only at the cost of build time.
    #[sql_name = "webhook_deliveries"]
    pending_deliveries (tenant_id, subscription_id, id) {
        tenant_id -> Text,
        subscription_id -> Text,
        id -> Text,
        event_id -> Text,
        event_type -> Text,
        subject -> Nullable<Text>,
        payload -> Nullable<Text>,
        attempt -> BigInt,
        is_fresh -> Bool,
        due_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    webhook_hours (tenant_id, subscription_id, hour) {
        tenant_id -> Text,
        subscription_id -> Text,
        hour -> Timestamp,
        succeeded -> BigInt,
        failed -> BigInt,
    }
}

diesel::table! {
    dispatchers (id) {
        id -> Text,
        seen_at -> Timestamp,
    }
}
