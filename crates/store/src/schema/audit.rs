//! The audit log.

diesel::table! {
    audit_entries (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        created_at -> Timestamp,
        actor_type -> Text,
        actor_id -> Text,
        action -> Text,
        resource_type -> Text,
        resource_id -> Text,
        ip -> Nullable<Text>,
        metadata -> Json,
        salt -> Nullable<Binary>,
        leaf -> Binary,
        ip_commitment -> Nullable<Binary>,
        mac_key -> Nullable<Text>,
        mac -> Nullable<Binary>,
    }
}

diesel::table! {
    audit_unsealed (tenant_id, entry_id) {
        tenant_id -> Text,
        entry_id -> Text,
    }
}

diesel::table! {
    audit_sealed (tenant_id, sequence) {
        tenant_id -> Text,
        sequence -> BigInt,
        entry_id -> Text,
        leaf -> Binary,
    }
}

diesel::table! {
    audit_subtrees (tenant_id, level, number) {
        tenant_id -> Text,
        level -> BigInt,
        number -> BigInt,
        hash -> Binary,
    }
}

diesel::table! {
    audit_logs (tenant_id) {
        tenant_id -> Text,
        size -> BigInt,
        frontier -> Binary,
        lease_owner -> Text,
        lease_until -> Timestamp,
        published_size -> BigInt,
        published_at -> Nullable<Timestamp>,
        mac_start -> Nullable<Text>,
    }
}

diesel::table! {
    audit_checkpoints (tenant_id, size) {
        tenant_id -> Text,
        size -> BigInt,
        created_at -> Timestamp,
        note -> Text,
    }
}

diesel::table! {
    audit_drops (tenant_id, before_sequence) {
        tenant_id -> Text,
        before_sequence -> BigInt,
        created_at -> Timestamp,
    }
}

diesel::table! {
    audit_statements (tenant_id, kind, number) {
        tenant_id -> Text,
        kind -> Text,
        number -> BigInt,
        created_at -> Timestamp,
        note -> Text,
    }
}
