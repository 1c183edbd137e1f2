//! Tenants, users, groups and links.

diesel::table! {
    tenants (id) {
        id -> Text,
        slug -> Text,
        name -> Text,
        tier -> Text,
        created_at -> Timestamp,
        sign_in_policy -> Nullable<Json>,
        network_policy -> Nullable<Json>,
        attestation_policy -> Nullable<Json>,
        audit_days -> Nullable<BigInt>,
    }
}

diesel::table! {
    tenant_slugs (slug) {
        slug -> Text,
        tenant_id -> Text,
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
        sessions_after -> Nullable<Timestamp>,
        break_glass -> Bool,
    }
}

diesel::table! {
    // More columns of `users`: diesel supports tables of more than 16 columns only at the cost of build time.
    #[sql_name = "users"]
    user_roles (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        role -> Text,
        break_glass -> Bool,
        deleted_at -> Nullable<Timestamp>,
        other_role -> Nullable<Text>,
    }
}

diesel::table! {
    roles (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        name_key -> Text,
        description -> Nullable<Text>,
        permissions -> Text,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    role_rules (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        role -> Text,
        group_id -> Nullable<Text>,
        provider_id -> Nullable<Text>,
        value -> Nullable<Text>,
        created_at -> Timestamp,
    }
}

diesel::table! {
    connection_accounts (tenant_id, provider_id) {
        tenant_id -> Text,
        provider_id -> Text,
        groups_claim -> Nullable<Text>,
        new_user_role -> Nullable<Text>,
        new_user_domains -> Nullable<Text>,
    }
}

diesel::table! {
    claimed_groups (tenant_id, user_id, provider_id, value) {
        tenant_id -> Text,
        user_id -> Text,
        provider_id -> Text,
        value -> Text,
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
    sign_in_names (email_key, tenant_id) {
        email_key -> Text,
        tenant_id -> Text,
        user_id -> Text,
    }
}

diesel::table! {
    links (tenant_id, hash) {
        tenant_id -> Text,
        hash -> Binary,
        kind -> Text,
        user_id -> Text,
        created_at -> Timestamp,
        email_key -> Nullable<Text>,
        role -> Nullable<Text>,
    }
}
