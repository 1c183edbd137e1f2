//! The tables, as both dialects' migrations make them.

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
        last_used_at -> Nullable<Timestamp>,
        last_used_ip -> Nullable<Text>,
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

diesel::table! {
    sign_in_names (email_key, tenant_id) {
        email_key -> Text,
        tenant_id -> Text,
        user_id -> Text,
    }
}

diesel::table! {
    password_salts (address) {
        address -> Binary,
        salt -> Binary,
    }
}

diesel::table! {
    wrong_codes (tenant_id, user_id) {
        tenant_id -> Text,
        user_id -> Text,
        in_a_row -> BigInt,
    }
}

diesel::table! {
    notices (tenant_id, user_id) {
        tenant_id -> Text,
        user_id -> Text,
        notice -> Text,
    }
}

diesel::table! {
    passwords (tenant_id, user_id) {
        tenant_id -> Text,
        user_id -> Text,
        hash -> Text,
        changed_at -> Timestamp,
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
    }
}

diesel::table! {
    factors (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        user_id -> Text,
        kind -> Text,
        name -> Text,
        created_at -> Timestamp,
        verified_at -> Nullable<Timestamp>,
        last_used_at -> Nullable<Timestamp>,
        sealed -> Nullable<Binary>,
        last_step -> BigInt,
        passkey -> Nullable<Json>,
        credential_id -> Nullable<Binary>,
    }
}

diesel::table! {
    recovery_codes (tenant_id, user_id, hash) {
        tenant_id -> Text,
        user_id -> Text,
        hash -> Binary,
        used_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    tickets (tenant_id, hash) {
        tenant_id -> Text,
        hash -> Binary,
        kind -> Text,
        user_id -> Text,
        state -> Json,
        created_at -> Timestamp,
        wrong_answers -> BigInt,
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

diesel::table! {
    known_origins (tenant_id, user_id, origin) {
        tenant_id -> Text,
        user_id -> Text,
        origin -> Text,
        seen_at -> Timestamp,
    }
}

diesel::table! {
    spent_challenges (tenant_id, hash) {
        tenant_id -> Text,
        hash -> Binary,
        until -> Timestamp,
    }
}

diesel::table! {
    attempts (key) {
        key -> Binary,
        times -> Json,
        until -> Timestamp,
    }
}

diesel::table! {
    network_rules (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        cidr -> Text,
        label -> Text,
        created_at -> Timestamp,
    }
}

diesel::table! {
    webhook_subscriptions (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        name -> Text,
        url -> Text,
        event_filters -> Json,
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
    webhook_hours (tenant_id, subscription_id, hour) {
        tenant_id -> Text,
        subscription_id -> Text,
        hour -> Timestamp,
        succeeded -> BigInt,
        failed -> BigInt,
    }
}

diesel::table! {
    saml_providers (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        document -> Json,
        expires_at -> Nullable<Timestamp>,
        due_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
    }
}

diesel::table! {
    saml_provider_domains (tenant_id, domain) {
        tenant_id -> Text,
        domain -> Text,
        provider_id -> Text,
    }
}

diesel::table! {
    verified_domains (domain) {
        domain -> Text,
        tenant_id -> Text,
        method -> Text,
        verified_at -> Timestamp,
        due_at -> Nullable<Timestamp>,
        missing_since -> Nullable<Timestamp>,
    }
}

diesel::table! {
    saml_subjects (tenant_id, provider_id, subject) {
        tenant_id -> Text,
        provider_id -> Text,
        subject -> Binary,
        user_id -> Text,
        pinned_at -> Timestamp,
    }
}

diesel::table! {
    saml_requests (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        provider_id -> Text,
        browser -> Binary,
        relay_key -> Binary,
        return_to -> Text,
        force_authn -> Bool,
        trial_id -> Nullable<Text>,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        is_claimed -> Bool,
    }
}

diesel::table! {
    saml_assertions (tenant_id, provider_id, assertion) {
        tenant_id -> Text,
        provider_id -> Text,
        assertion -> Binary,
        expires_at -> Timestamp,
    }
}

diesel::table! {
    saml_trials (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        provider_id -> Text,
        user_id -> Text,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        report -> Nullable<Json>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(
    tenants,
    users,
    user_emails,
    groups,
    group_members,
    scim_tokens,
    audit_entries,
    audit_unsealed,
    audit_sealed,
    audit_subtrees,
    audit_logs,
    audit_checkpoints,
    audit_drops,
    audit_statements,
    sign_in_names,
    password_salts,
    wrong_codes,
    notices,
    passwords,
    sessions,
    factors,
    recovery_codes,
    tickets,
    step_up_challenges,
    step_up_tokens,
    links,
    personal_access_tokens,
    known_origins,
    spent_challenges,
    attempts,
    network_rules,
    webhook_subscriptions,
    webhook_routes,
    webhook_queues,
    webhook_deliveries,
    webhook_hours,
    saml_providers,
    saml_provider_domains,
    verified_domains,
    saml_subjects,
    saml_requests,
    saml_assertions,
    saml_trials
);
