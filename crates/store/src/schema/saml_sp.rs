//! Identity providers and domains.

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
        token -> Nullable<Text>,
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
