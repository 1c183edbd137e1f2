//! Every operation of the API description: refused without permission, and recorded in the audit log.
//!
//! An operation without a recipe fails the test, and so does a credential kind without test callers.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    operations::{World, call, guarded, nobody, operations},
    support::{API, Server, Tenant, eventually, on_both},
};

/// Changes that may leave no audit entry, each with its reason. This list may only shrink.
const UNAUDITED: [(&str, &str); 5] = [
    ("begin_totp", "a step of an enrolment; its end is recorded"),
    ("begin_passkey", "a step of an enrolment; its end is recorded"),
    ("continue_sign_in", "a step of a sign-in; its end is recorded"),
    ("step_up_challenge_options", "a step of a step-up; its end is recorded"),
    ("heartbeat", "when and from where a session was last used"),
];

/// Operations that succeed only with a ceremony. The tests under `api/auth` cover them and their audit entries.
const CEREMONIES: [&str; 3] = ["verify_totp", "verify_passkey", "verify_step_up"];

/// Operations that only read although they have a body.
const READS: [&str; 13] = [
    "preview_role_rule",
    "test_user_sign_in",
    "search_users",
    "search_groups",
    "search_all",
    "test_network_policy",
    "network_policy_impact",
    "sign_in_policy_impact",
    "test_attestation_policy",
    "attestation_policy_impact",
    "test_webhook",
    "test_log_stream",
    "poll_ssf_stream",
];

/// Reads, and is recorded at its start and its end.
const EXPORT: &str = "export_audit_log";

/// Credential kinds in the API description for which there are test callers.
const KINDS: [&str; 4] = ["personalAccessToken", "receiverToken", "scimToken", "sessionCookie"];

/// Returns a well-formed token that was never issued.
fn never_minted(tenant: &Tenant, kind: tokens::TokenKind) -> String {
    let env = kernel::SystemEnv::default();
    tokens::RawToken::mint(&env, kind, &tenant.id).expose().to_owned()
}

#[test]
fn every_kind_of_credential_is_listed() {
    let schemes: BTreeSet<_> =
        API["components"]["securitySchemes"].as_object().unwrap().keys().cloned().collect();
    let used: BTreeSet<_> = operations().into_iter().flat_map(|operation| operation.credentials).collect();
    let listed: BTreeSet<_> = KINDS.iter().map(ToString::to_string).collect();
    assert_eq!((&schemes, &used), (&listed, &listed), "add callers of the new kind to this file");
}

#[test]
fn without_a_valid_credential_every_guarded_operation_answers_401() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let revoked = server.tenant("revoked");
        server.revoke(&revoked);
        // A token with the secret of one tenant and the key of another, with a matching checksum.
        let other = server.tenant("other");
        let body = format!("scim_{}{}", other.id.key(), &tenant.token[31..63]);
        let sum = data_encoding::BASE32_NOPAD.encode(&crc32fast::hash(body.as_bytes()).to_be_bytes());
        let elsewhere = format!("{body}{}", sum.to_ascii_lowercase());
        assert!(tokens::RawToken::parse(&elsewhere).is_ok());
        let anybody = server.anonymous();
        let minted = |kind| anybody.bearer(&never_minted(&tenant, kind));
        let callers = [
            ("none", anybody.clone()),
            ("malformed", anybody.bearer("scim_nonsense")),
            ("empty", anybody.with("Authorization", "Bearer ")),
            ("without a scheme", anybody.with("Authorization", &tenant.token)),
            ("of another scheme", anybody.with("Authorization", &format!("Basic {}", tenant.token))),
            ("an unknown SCIM token", minted(tokens::TokenKind::Scim)),
            ("an unknown personal token", minted(tokens::TokenKind::Pat)),
            ("an unknown token of a receiver", minted(tokens::TokenKind::Signals)),
            ("a ticket", minted(tokens::TokenKind::Ticket)),
            ("of another tenant", anybody.bearer(&elsewhere)),
            ("revoked", revoked.scim.clone()),
            ("given twice", tenant.scim.bearer(&tenant.token)),
            ("in a cookie", anybody.with("Cookie", &format!("authjs.session-token={}", tenant.token))),
            ("a cookie of nonsense", anybody.with("Cookie", "authjs.session-token=a.b.c.d.e; as_sid=x")),
        ];
        for operation in guarded() {
            for (kind, caller) in &callers {
                let answer = call(caller, &operation, &nobody());
                assert_eq!(answer.status, 401, "{} with a credential that is {kind}", operation.id);
                let body = answer.json();
                assert_eq!(body["code"], "UNAUTHENTICATED", "{} {kind}", operation.id);
                if operation.path.starts_with("/api/scim/") {
                    assert_eq!((&body["status"], &body["error"]), (&json!("401"), &body["detail"]));
                }
                assert_eq!(answer.header("www-authenticate"), "Bearer");
            }
        }
    });
}

#[test]
fn wrong_credential_kind_is_refused_with_its_reason() {
    on_both(|server| {
        let world = World::new(server, "acme");
        for operation in guarded() {
            for kind in KINDS.iter().filter(|kind| !operation.credentials.contains(**kind)) {
                let answer = world.call(kind, &operation, &nobody());
                let body = answer.json();
                assert_eq!(answer.status, 403, "{} by {kind}: {}", operation.id, answer.text);
                assert_eq!(
                    (&body["code"], &body["reason"]),
                    (&json!("FORBIDDEN"), &json!("CREDENTIAL_KIND"))
                );
            }
        }
    });
}

#[test]
fn public_operations_ignore_credentials() {
    on_both(|server| {
        for operation in operations().iter().filter(|operation| operation.credentials.is_empty()) {
            let answers = [server.anonymous(), server.anonymous().bearer("nonsense")]
                .map(|caller| call(&caller, operation, &["x".to_owned()]).status);
            assert_eq!(answers[0], answers[1], "{}", operation.id);
            let expected = match operation.id.as_str() {
                // The SSO connection does not exist, and the operations of POST need a form. Sessions are not bound.
                "saml_metadata" | "saml_login" | "saml_logout" | "saml_slo_redirect" | "oidc_login"
                | "oidc_callback" | "oidc_jwks" | "webhook_keys" | "ssf_configuration" | "ssf_jwks"
                | "bind_session" | "refresh_session" => 404,
                "saml_acs" | "saml_slo" | "oidc_backchannel_logout" | "receive_ssf_event" => 415,
                "sign_in_providers" => 200,
                // This server has no mail.
                "forgotten_password" => 409,
                begin if operation.method == "GET" || begin.starts_with("begin") => 200,
                _ => 401,
            };
            assert_eq!(answers[0], expected, "{}", operation.id);
        }
    });
}

#[test]
fn other_tenants_id_is_treated_as_unknown() {
    on_both(|server| {
        let (acme, globex) = (World::new(server, "acme"), World::new(server, "globex"));
        // A tile has no ID: it is one of the caller's log.
        let own = |id: &str| id == "get_audit_tile";
        for operation in guarded().filter(|one| one.path.contains('{') && !own(&one.id)) {
            let Some(ids) = globex.resources(server, &operation.path) else { continue };
            let before = server.entries(&globex.tenant).len();
            for kind in &operation.credentials {
                let foreign = acme.call(kind, &operation, &ids);
                let unknown = acme.call(kind, &operation, &nobody());
                assert_eq!((foreign.status, foreign.text), (404, unknown.text), "{} by {kind}", operation.id);
            }
            assert_eq!(server.entries(&globex.tenant).len(), before, "{}", operation.id);
        }
    });
}

#[test]
fn changes_are_recorded_and_reads_are_not() {
    let catalog = audit::events::catalog();
    let known: Vec<_> = catalog.specs().iter().map(|spec| spec.code).collect();
    on_both(|server: &Server| {
        for operation in guarded().filter(|operation| !CEREMONIES.contains(&operation.id.as_str())) {
            let world = World::new(server, &operation.id.replace('_', "-"));
            let ids = world.resources(server, &operation.path).unwrap_or_else(|| {
                let kind = if operation.path.contains("Schemas") {
                    "urn:ietf:params:scim:schemas:core:2.0:User"
                } else {
                    "User"
                };
                vec![kind.to_owned()]
            });
            // The test itself records entries when it gets a step-up token.
            let ours = |entry: &&audit::StoredEntry| entry.resource_id != "test";
            let before = server.entries(&world.tenant).iter().filter(ours).count();
            let kind = operation.credentials.last().unwrap();
            let answer = world.call(kind, &operation, &ids);
            assert!((200..300).contains(&answer.status), "{}: {}", operation.id, answer.text);
            if operation.id == EXPORT {
                // The end of the export is recorded later.
                eventually(|| server.entries(&world.tenant).iter().filter(ours).count() == before + 2);
                continue;
            }
            let mut entries = server.entries(&world.tenant);
            entries.retain(|entry| ours(&entry));
            for entry in &entries {
                assert!(known.contains(&entry.action.as_str()), "{} is not in the catalog", entry.action);
            }
            let new = entries.len() - before;
            let excepted = UNAUDITED.iter().any(|(id, _)| *id == operation.id);
            let reads = operation.method == "GET" || READS.contains(&operation.id.as_str());
            let expected = !reads && !excepted;
            assert_eq!(new > 0, expected, "{} left {new} entries", operation.id);
        }
    });
}

#[test]
fn repeated_change_is_accepted_and_recorded_once() {
    on_both(|server: &Server| {
        for operation in guarded().filter(|operation| ["PATCH", "PUT"].contains(&operation.method.as_str())) {
            let world = World::new(server, &operation.id.replace('_', "-"));
            let ids = world.resources(server, &operation.path).unwrap();
            let kind = operation.credentials.last().unwrap();
            // The second request needs a step-up again; nothing else is recorded.
            let recorded = || {
                let entries = server.entries(&world.tenant);
                let changes = entries.iter().filter(|entry| entry.resource_id != "test");
                changes.filter(|entry| !entry.action.starts_with("ACCOUNT_STEPUP_")).count()
            };
            let before = recorded();
            let first = world.call(kind, &operation, &ids);
            assert_eq!(first.status, 200, "{}: {}", operation.id, first.text);
            let after = recorded();
            assert!(after > before, "{}", operation.id);
            let second = world.call(kind, &operation, &ids);
            assert_eq!(second.status, 200, "{}: {}", operation.id, second.text);
            assert_eq!(recorded(), after, "{}", operation.id);
        }
    });
}
