//! Streams of audit logs.

diesel::table! {
    log_streams (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        destination -> Json,
        sealed -> Nullable<Text>,
        event_filters -> Json,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    log_stream_states (tenant_id, stream_id) {
        tenant_id -> Text,
        stream_id -> Text,
        enabled -> Bool,
        position -> BigInt,
        range_from -> BigInt,
        last_from -> BigInt,
        due_at -> Timestamp,
        lease_owner -> Text,
        lease_until -> Timestamp,
        delivered_at -> Nullable<Timestamp>,
        failing_since -> Nullable<Timestamp>,
        problem -> Nullable<Json>,
        notified_at -> Nullable<Timestamp>,
    }
}
