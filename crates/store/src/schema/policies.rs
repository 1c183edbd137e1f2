//! Policies.

diesel::table! {
    network_rules (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        cidr -> Text,
        label -> Text,
        created_at -> Timestamp,
    }
}
