//! OpenID providers and pending requests.

diesel::table! {
    oidc_providers (tenant_id, id) {
        tenant_id -> Text,
        id -> Text,
        document -> Json,
        due_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
    }
}

diesel::table! {
    oidc_requests (tenant_id, state) {
        tenant_id -> Text,
        state -> Binary,
        provider_id -> Text,
        browser -> Binary,
        return_to -> Text,
        trial_id -> Nullable<Text>,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        is_claimed -> Bool,
    }
}
