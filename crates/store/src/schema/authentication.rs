//! Sessions, tokens and step-ups.

diesel::table! {
    scim_tokens (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        hash -> Binary,
        create_conflict -> Bool,
        created_at -> Timestamp,
        revoked_at -> Nullable<Timestamp>,
        last_used_at -> Nullable<Timestamp>,
        last_used_ip -> Nullable<Text>,
        removals_paused_at -> Nullable<Timestamp>,
        removals_users -> Nullable<BigInt>,
        removals_counted_at -> Nullable<Timestamp>,
        dry_run -> Bool,
    }
}

diesel::table! {
    dry_run_changes (tenant_id, token_id, kind, id, member) {
        tenant_id -> Text,
        token_id -> Text,
        kind -> Text,
        id -> Text,
        member -> Text,
        document -> Nullable<Text>,
    }
}

diesel::table! {
    removal_limits (tenant_id) {
        tenant_id -> Text,
        enabled -> Bool,
        percent -> BigInt,
        users -> BigInt,
    }
}

diesel::table! {
    removals (tenant_id, token_id, user_id) {
        tenant_id -> Text,
        token_id -> Text,
        user_id -> Text,
        at -> Timestamp,
    }
}

diesel::table! {
    held_removals (tenant_id, token_id, user_id) {
        tenant_id -> Text,
        token_id -> Text,
        user_id -> Text,
        deletes -> Bool,
        at -> Timestamp,
    }
}

diesel::table! {
    scim_refusals (tenant_id, id) {
        tenant_id -> Text,
        id -> Binary,
        token_id -> Text,
        method -> Text,
        target -> Text,
        subject -> Nullable<Text>,
        status -> BigInt,
        scim_type -> Nullable<Text>,
        detail -> Text,
        times -> BigInt,
        last_at -> Timestamp,
    }
}

diesel::table! {
    sessions (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_id -> Text,
        created_at -> Timestamp,
        signed_in_at -> Timestamp,
        last_seen_at -> Timestamp,
        ip -> Nullable<Text>,
        device_label -> Text,
        location -> Nullable<Text>,
        standing -> Text,
        methods -> Json,
        grace -> Nullable<Json>,
        foreign_hash -> Nullable<Binary>,
        revoked_at -> Nullable<Timestamp>,
        not_after -> Nullable<Timestamp>,
        device -> Nullable<Json>,
    }
}

diesel::table! {
    // More columns of `sessions`: diesel supports tables of more than 16 columns only at the cost of build time.
    #[sql_name = "sessions"]
    provider_sessions (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_id -> Text,
        created_at -> Timestamp,
        revoked_at -> Nullable<Timestamp>,
        provider_id -> Nullable<Text>,
        provider_subject -> Nullable<Binary>,
        provider_session -> Nullable<Binary>,
        logout_hint -> Nullable<Text>,
        device -> Nullable<Json>,
        device_thumbprint -> Nullable<Binary>,
    }
}

diesel::table! {
    step_up_challenges (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_id -> Text,
        session_id -> Text,
        purpose -> Text,
        factors -> Json,
        state -> Json,
        created_at -> Timestamp,
        wrong_answers -> BigInt,
    }
}

diesel::table! {
    step_up_tokens (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_id -> Text,
        session_id -> Text,
        purpose -> Text,
        factor -> Text,
        ip -> Text,
        issued_at -> Timestamp,
        expires_at -> Timestamp,
        used_at -> Nullable<Timestamp>,
        revoked_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    personal_access_tokens (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_id -> Text,
        name -> Text,
        scopes -> Text,
        hash -> Binary,
        created_at -> Timestamp,
        expires_at -> Nullable<Timestamp>,
        revoked_at -> Nullable<Timestamp>,
        last_used_at -> Nullable<Timestamp>,
        last_used_ip -> Nullable<Text>,
    }
}
