//! Receivers of shared signals, their streams, and events that wait.

diesel::table! {
    signal_receivers (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        audience -> Text,
        event_types -> Json,
        subject_format -> Text,
        enabled -> Bool,
        hash -> Binary,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        last_used_at -> Nullable<Timestamp>,
        last_used_ip -> Nullable<Text>,
    }
}

diesel::table! {
    signal_streams (tenant_id, receiver_id) {
        tenant_id -> Text,
        receiver_id -> Text,
        id -> Text,
        endpoint_url -> Nullable<Text>,
        sealed -> Nullable<Text>,
        requested -> Nullable<Json>,
        description -> Nullable<Text>,
        status -> Text,
        reason -> Nullable<Text>,
        verified_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    signal_stream_states (tenant_id, stream_id) {
        tenant_id -> Text,
        stream_id -> Text,
        receiver_id -> Text,
        pushes -> Bool,
        enabled -> Bool,
        due_at -> Timestamp,
        lease_owner -> Text,
        lease_until -> Timestamp,
        delivered_at -> Nullable<Timestamp>,
        failing_since -> Nullable<Timestamp>,
        problem -> Nullable<Json>,
    }
}

diesel::table! {
    signal_routes (tenant_id, audit_code, stream_id, event_type) {
        tenant_id -> Text,
        audit_code -> Text,
        stream_id -> Text,
        event_type -> Text,
        number -> Text,
    }
}

diesel::table! {
    signal_events (tenant_id, stream_id, jti) {
        tenant_id -> Text,
        stream_id -> Text,
        jti -> Text,
        entry_id -> Nullable<Text>,
        event_type -> Text,
        user_id -> Text,
        former_email -> Nullable<Text>,
        new_email -> Nullable<Text>,
        control -> Nullable<Json>,
        created_at -> Timestamp,
    }
}

diesel::table! {
    signal_removed_subjects (tenant_id, stream_id, user_id) {
        tenant_id -> Text,
        stream_id -> Text,
        user_id -> Text,
    }
}

diesel::table! {
    signal_keys (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        jwk -> Json,
        sealed -> Text,
        created_at -> Timestamp,
        replaced_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    signal_transmitters (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        issuer -> Text,
        audience -> Text,
        connection_id -> Text,
        jwks_uri -> Nullable<Text>,
        consequences -> Json,
        enabled -> Bool,
        hash -> Nullable<Binary>,
        keys -> Json,
        state -> Json,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    received_signals (tenant_id, transmitter_id, token_hash) {
        tenant_id -> Text,
        transmitter_id -> Text,
        token_hash -> Binary,
        state_key -> Nullable<Binary>,
        occurred_at -> Timestamp,
        expires_at -> Timestamp,
    }
}
