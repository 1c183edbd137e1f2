//! The tables, as both dialects' migrations make them.

diesel::table! {
    tenants (id) {
        id -> Text,
        slug -> Text,
        name -> Text,
        tier -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    users (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_name -> Text,
        user_name_key -> Text,
        external_id -> Nullable<Text>,
        active -> Bool,
        role -> Text,
        sign_in_email_key -> Nullable<Text>,
        attributes -> Json,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        folded -> Nullable<Json>,
        has_groups -> Bool,
        deleted_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    groups (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        display_name -> Text,
        display_name_key -> Text,
        external_id -> Nullable<Text>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    group_members (tenant_id, group_id, user_id) {
        tenant_id -> Text,
        group_id -> Text,
        user_id -> Text,
    }
}

diesel::table! {
    user_emails (tenant_id, user_id, position) {
        tenant_id -> Text,
        user_id -> Text,
        position -> BigInt,
        value_key -> Text,
    }
}

diesel::table! {
    scim_tokens (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        hash -> Binary,
        create_conflict -> Bool,
        created_at -> Timestamp,
        revoked_at -> Nullable<Timestamp>,
    }
}

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
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    tenants,
    users,
    user_emails,
    groups,
    group_members,
    scim_tokens,
    audit_entries
);
