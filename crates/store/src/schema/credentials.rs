//! Passwords, factors, tickets and attempts.

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
