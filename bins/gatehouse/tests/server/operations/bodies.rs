//! A body for each operation that it accepts.

use serde_json::{Value, json};

use super::list::Operation;
use crate::support::{Idp, OpenIdProvider, oidc_body};

/// A well-formed group ID that does not exist.
const NO_GROUP: &str = "grp_06gzkadrwwt5d9z93ens6801xc";

/// Returns a body that the operation accepts.
pub(crate) fn body(operation: &Operation) -> Option<Value> {
    match operation.id.as_str() {
        "create_user" => Some(json!({ "userName": "new@example.com" })),
        "replace_user" => Some(json!({ "userName": "ada", "title": "Countess" })),
        "patch_user" => Some(json!({ "Operations": [{ "op": "replace", "path": "title", "value": "x" }] })),
        "search_users" | "search_groups" | "search_all" => Some(json!({ "filter": "meta pr" })),
        "create_group" => Some(json!({ "displayName": "Engines" })),
        "replace_group" => Some(json!({ "displayName": "Looms" })),
        "patch_group" => Some(json!({ "Operations": [{ "op": "remove", "path": "externalId" }] })),
        "sign_in" => Some(json!({ "email": "nobody@example.com", "password": "x" })),
        "sign_in_providers" | "forgotten_password" => Some(json!({ "email": "nobody@example.com" })),
        "choose_tenant" => Some(json!({ "ticket": "tkt_x", "tenant": "acme" })),
        "verify_factor" => Some(json!({ "ticket": "tkt_x", "factor": "TOTP", "code": "000000" })),
        "finish_passkey_sign_in" | "verify_passkey" => Some(json!({ "challengeId": "x", "credential": {} })),
        "redeem_link" => Some(json!({ "token": "lnk_x", "password": "a password of some length" })),
        "set_up" => Some(json!({
            "token": "1.0.x", "name": "Acme", "slug": "acme", "email": "ada@example.com",
            "password": "a password of some length",
        })),
        "rename_tenant" => Some(json!({ "name": "Acme Ltd" })),
        "patch_me" => Some(json!({ "displayName": "Augusta" })),
        "change_password" => Some(
            json!({ "currentPassword": "correct horse and more", "newPassword": "another one that is long" }),
        ),
        "rename_factor" => Some(json!({ "name": "Telephone" })),
        "verify_totp" => Some(json!({ "id": "fac_x", "code": "000000" })),
        "create_token" => Some(json!({ "name": "CI", "scopes": ["read:hcm"] })),
        "step_up_challenge_options" | "consume_step_up" => Some(json!({ "purpose": "PAYROLL_SEAL" })),
        "verify_step_up" => Some(json!({ "challengeId": "x", "factor": "TOTP", "code": "000000" })),
        "create_saml_provider" => Some(json!({
            "name": "Corp",
            "emailDomains": ["corp.example"],
            "metadataXml": Idp::new("idp.example.com").metadata(),
        })),
        "create_oidc_provider" => Some(oidc_body(OpenIdProvider::shared(), &["oidc.example"])),
        "put_oidc_provider" => Some(oidc_body(OpenIdProvider::shared(), &["other-oidc.example"])),
        "put_saml_provider" => Some(json!({ "name": "Other", "emailDomains": ["other.example"] })),
        "create_webhook" => Some(json!({ "name": "test", "url": "http://127.0.0.1:9/" })),
        "change_webhook" => Some(json!({ "name": "other" })),
        "rotate_webhook_secret" => Some(json!({ "overlapHours": 1 })),
        "replay_webhook" => Some(json!({ "from": "2026-01-01T00:00:00Z" })),
        "create_scim_token" => Some(json!({ "name": "Okta" })),
        "patch_person" => Some(json!({ "title": "Countess" })),
        "invite_user" => Some(json!({ "email": "invited@example.com" })),
        "invite_users" => Some(json!({ "emails": ["first@example.com", "second@example.com"] })),
        "patch_settings_user" => Some(json!({ "active": false })),
        "put_sign_in_policy" | "sign_in_policy_impact" => Some(json!({
            "signInMode": "CREDENTIALS_ONLY",
            "mfa": { "required": false, "acceptedFactors": ["WEBAUTHN", "TOTP"], "trustSsoMfa": false },
            "session": { "idleMinutes": 720, "absoluteDays": 30 },
        })),
        "put_network_policy" => Some(json!({
            "mode": "OFF",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": false, "API": true },
            "adminBypass": true,
        })),
        "network_policy_impact" => Some(json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": true },
            "adminBypass": true,
            "rules": ["203.0.113.0/24"],
        })),
        "put_attestation_policy" | "attestation_policy_impact" => Some(json!({
            "mode": "ALLOWLIST",
            "allowedGroups": ["HARDWARE"],
            "allowedAaguids": [],
            "allowSyncedPasskeys": false,
            "allowPlatformAuthenticators": false,
            "requireVerifiedAttestation": true,
        })),
        "test_attestation_policy" => Some(json!({ "aaguid": "73bb0cd4-e502-49b8-9c6f-b59445bf720b" })),
        "test_user_sign_in" => Some(json!({ "first": "PASSWORD" })),
        "test_network_policy" => Some(json!({ "ip": "203.0.113.7" })),
        "add_network_rules" => Some(json!({ "rules": [{ "cidr": "198.51.100.0/24", "label": "Branch" }] })),
        "add_network_rule" => Some(json!({ "cidr": "203.0.113.0/24", "label": "Office" })),
        "rename_network_rule" => Some(json!({ "label": "Head office" })),
        "begin_passkey_sign_in"
        | "continue_sign_in"
        | "resume_sign_in"
        | "sign_out"
        | "heartbeat"
        | "revoke_other_sessions"
        | "begin_totp"
        | "begin_passkey"
        | "generate_recovery_codes"
        | "reset_user_password"
        | "reset_user_factors"
        | "test_webhook"
        | "complete_webhook_rotation"
        | "test_saml_provider"
        | "refresh_saml_provider"
        | "rotate_saml_certificate"
        | "complete_saml_rotation"
        | "verify_domain"
        | "saml_acs"
        | "saml_slo"
        | "retry_webhook_delivery" => Some(json!({})),
        other if other.contains("oidc") && operation.method == "POST" => Some(json!({})),
        _ if matches!(operation.method.as_str(), "GET" | "DELETE") => None,
        other => Some(body_of_settings(other)),
    }
}

/// Returns the body of a new transmitter of signals about the users of this connection.
pub(crate) fn new_transmitter(connection: &str) -> Value {
    let issuer = &OpenIdProvider::shared().issuer;
    json!({
        "name": "Corp", "issuer": issuer, "jwksUri": format!("{issuer}/keys"),
        "audience": "https://gate.example/", "connectionId": connection,
    })
}

/// Returns a body that the operation about roles, removals, bound sessions, log streams or signals accepts.
fn body_of_settings(operation: &str) -> Value {
    match operation {
        "put_removal_limit" => json!({ "enabled": true, "percent": 30, "users": 20 }),
        "apply_removals" => json!({ "until": "2100-01-01T00:00:00.000Z" }),
        "discard_removals"
        | "bind_session"
        | "refresh_session"
        | "test_log_stream"
        | "replace_signal_token"
        | "replace_transmitter_token"
        | "receive_ssf_event"
        | "rotate_signal_key"
        | "create_ssf_stream" => json!({}),
        "verify_ssf_stream" => json!({ "stream_id": "sst_x" }),
        "create_log_stream" => json!({ "name": "test", "type": "HTTPS", "url": "http://127.0.0.1:9/" }),
        "change_log_stream" => json!({ "name": "other stream" }),
        "resend_log_stream" => json!({ "from": 0 }),
        "create_signal_receiver" => json!({ "name": "Payroll", "audience": "https://payroll.example/" }),
        "change_signal_receiver" => json!({ "name": "Wages" }),
        "create_signal_transmitter" => new_transmitter("oidc_x"),
        "change_signal_transmitter" => json!({ "name": "Okta" }),
        "update_ssf_stream" => json!({ "description": "Sessions" }),
        "replace_ssf_stream" => {
            json!({ "description": "Sessions", "delivery": { "method": "urn:ietf:rfc:8936" } })
        }
        "set_ssf_status" => json!({ "stream_id": "sst_x", "status": "paused" }),
        "add_ssf_subject" | "remove_ssf_subject" => {
            json!({
                "stream_id": "sst_x",
                "subject": { "format": "email", "email": "subject@example.com" },
            })
        }
        "poll_ssf_stream" => json!({ "returnImmediately": true }),
        "create_role" | "put_role" => json!({ "name": "Help desk", "permissions": ["support:users"] }),
        "create_role_rule" | "put_role_rule" => json!({ "role": "AUDITOR", "groupId": NO_GROUP }),
        "preview_role_rule" => json!({ "rule": { "role": "AUDITOR", "groupId": NO_GROUP } }),
        "put_sso_accounts" => json!({ "groupsClaim": "groups", "createUsers": null }),
        other => panic!("{other} has no body: add one here"),
    }
}
