//! Every operation of the API description, proved: closed to who may not, and entered in the ledger.
//!
//! An operation without a recipe fails the test; so does a kind of credential without its callers.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Answer, Caller, Server, Tenant, ada, on_both};

/// Changes that may leave no entry, each with its reason. This list may only shrink.
const UNAUDITED: [(&str, &str); 0] = [];

/// Operations that read although they are sent a body.
const READS: [&str; 3] = ["search_users", "search_groups", "search_all"];

/// Kinds of credentials that the description knows, and that the callers below are made for.
const KINDS: [&str; 1] = ["scimToken"];

struct Operation {
    id: String,
    method: String,
    path: String,
    credential: Option<String>,
}

fn operations() -> Vec<Operation> {
    let document = gatehouse::http::document();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"][0].as_object().unwrap();
            operations.push(Operation {
                id: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_ascii_uppercase(),
                path: path.clone(),
                credential: security.keys().next().cloned(),
            });
        }
    }
    assert!(operations.len() >= 22, "the document lists the operations");
    operations
}

/// A body that the operation accepts.
fn body(operation: &str) -> Option<Value> {
    match operation {
        "create_user" => Some(json!({ "userName": "new@example.com" })),
        "replace_user" => Some(json!({ "userName": "ada", "title": "Countess" })),
        "patch_user" => Some(json!({ "Operations": [{ "op": "replace", "path": "title", "value": "x" }] })),
        "search_users" | "search_groups" | "search_all" => Some(json!({ "filter": "meta pr" })),
        "create_group" => Some(json!({ "displayName": "Engines" })),
        "replace_group" => Some(json!({ "displayName": "Looms" })),
        "patch_group" => Some(json!({ "Operations": [{ "op": "remove", "path": "externalId" }] })),
        _ => None,
    }
}

/// The resource that a path with a parameter names, made in the tenant; `None`: it is nobody's.
fn resource(path: &str, tenant: &Tenant) -> Option<(String, bool)> {
    match path {
        "/api/scim/v2/Users/{id}" => {
            let made = tenant.scim.post("/api/scim/v2/Users", &ada()).json();
            Some((made["id"].as_str().unwrap().to_owned(), true))
        }
        "/api/scim/v2/Groups/{id}" => {
            // Names of groups are unique.
            let before = tenant.scim.get("/api/scim/v2/Groups").json();
            let group =
                json!({ "displayName": format!("Group {}", before["totalResults"]), "externalId": "1" });
            let made = tenant.scim.post("/api/scim/v2/Groups", &group).json();
            Some((made["id"].as_str().unwrap().to_owned(), true))
        }
        "/api/scim/v2/Schemas/{id}" => Some(("urn:ietf:params:scim:schemas:core:2.0:User".into(), false)),
        "/api/scim/v2/ResourceTypes/{id}" => Some(("User".into(), false)),
        other if other.contains('{') => panic!("{other} has no example: add one here"),
        _ => None,
    }
}

fn call(caller: &Caller, operation: &Operation, id: &str) -> Answer {
    let path = operation.path.replace("{id}", id);
    match body(&operation.id) {
        Some(body) => caller.send(&operation.method, &path, Some("application/scim+json"), &body.to_string()),
        None if matches!(operation.method.as_str(), "GET" | "DELETE") => {
            caller.send(&operation.method, &path, None, "")
        }
        None => panic!("{} has no body: add one here", operation.id),
    }
}

/// A token of the right form that was never minted.
fn never_minted(tenant: &Tenant) -> String {
    let env = kernel::SystemEnv::default();
    tokens::RawToken::mint(&env, tokens::TokenKind::Scim, &tenant.id).expose().to_owned()
}

#[test]
fn every_kind_of_credential_is_listed() {
    let document = gatehouse::http::document();
    let schemes: BTreeSet<_> =
        document["components"]["securitySchemes"].as_object().unwrap().keys().cloned().collect();
    let used: BTreeSet<_> = operations().into_iter().filter_map(|operation| operation.credential).collect();
    let listed: BTreeSet<_> = KINDS.iter().map(ToString::to_string).collect();
    assert_eq!((&schemes, &used), (&listed, &listed), "add callers of the new kind to this file");
}

#[test]
fn without_a_valid_credential_every_guarded_operation_answers_401() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let revoked = server.tenant("revoked");
        server.revoke(&revoked);
        // The secret of one tenant under the key of another, with the checksum made to fit.
        let other = server.tenant("other");
        let body = format!("scim_{}{}", other.id.key(), &tenant.token[31..63]);
        let sum = data_encoding::BASE32_NOPAD.encode(&crc32fast::hash(body.as_bytes()).to_be_bytes());
        let elsewhere = format!("{body}{}", sum.to_ascii_lowercase());
        assert!(tokens::RawToken::parse(&elsewhere).is_ok());
        let anybody = server.anonymous();
        let callers = [
            ("none", anybody.clone()),
            ("malformed", anybody.bearer("scim_nonsense")),
            ("empty", anybody.with("Authorization", "Bearer ")),
            ("without a scheme", anybody.with("Authorization", &tenant.token)),
            ("of another scheme", anybody.with("Authorization", &format!("Basic {}", tenant.token))),
            ("unknown", anybody.bearer(&never_minted(&tenant))),
            ("of another tenant", anybody.bearer(&elsewhere)),
            ("revoked", revoked.scim.clone()),
            ("given twice", tenant.scim.bearer(&tenant.token)),
            ("in a cookie", anybody.with("Cookie", &format!("authjs.session-token={}", tenant.token))),
        ];
        for operation in operations().iter().filter(|operation| operation.credential.is_some()) {
            for (kind, caller) in &callers {
                let answer = call(caller, operation, "usr_06gzkadrwwt5d9z93ens6801xc");
                assert_eq!(answer.status, 401, "{} with a credential that is {kind}", operation.id);
                let body = answer.json();
                assert_eq!((&body["code"], &body["status"]), (&json!("UNAUTHENTICATED"), &json!("401")));
                assert_eq!(body["error"], body["detail"]);
                assert_eq!(answer.header("www-authenticate"), "Bearer");
            }
        }
    });
}

#[test]
fn public_operations_ignore_credentials() {
    on_both(|server| {
        for operation in operations().iter().filter(|operation| operation.credential.is_none()) {
            for caller in [server.anonymous(), server.anonymous().bearer("nonsense")] {
                assert_eq!(call(&caller, operation, "x").status, 200, "{}", operation.id);
            }
        }
    });
}

#[test]
fn a_foreign_tenants_id_is_as_unknown_as_any_other() {
    on_both(|server| {
        let (acme, globex) = (server.tenant("acme"), server.tenant("globex"));
        for operation in operations().iter().filter(|operation| operation.path.contains('{')) {
            let Some((id, owned)) = resource(&operation.path, &globex) else { continue };
            let before = globex.scim.get(&operation.path.replace("{id}", &id)).text;
            let foreign = call(&acme.scim, operation, &id);
            if owned {
                let unknown = call(&acme.scim, operation, "usr_00000000000000000000000000");
                assert_eq!((foreign.status, foreign.text), (404, unknown.text), "{}", operation.id);
            }
            assert_eq!(
                globex.scim.get(&operation.path.replace("{id}", &id)).text,
                before,
                "{}",
                operation.id
            );
        }
    });
}

#[test]
fn what_changes_leaves_an_entry_and_what_reads_leaves_none() {
    let catalog = audit::events::catalog();
    let known: Vec<_> = catalog.specs().iter().map(|spec| spec.code).collect();
    on_both(|server: &Server| {
        for operation in operations() {
            let slug = operation.id.replace('_', "-");
            let tenant = server.tenant(&slug);
            let id = resource(&operation.path, &tenant).map_or(String::new(), |(id, _)| id);
            let before = server.entries(&tenant).len();
            let answer = call(&tenant.scim, &operation, &id);
            assert!((200..300).contains(&answer.status), "{}: {}", operation.id, answer.text);
            let entries = server.entries(&tenant);
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
