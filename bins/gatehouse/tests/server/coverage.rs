//! Every operation of the API description: refused without permission, and recorded in the audit log.
//!
//! An operation without a recipe fails the test, and so does a credential kind without test callers.

use std::collections::BTreeSet;

use directory::Role;
use serde_json::{Value, json};

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{
        API, Answer, Browser, Caller, Idp, OpenIdProvider, Responds, Server, Sink, Tenant, ada, eventually,
        oidc_body, on_both,
    },
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
const READS: [&str; 10] = [
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
];

/// Reads, and is recorded at its start and its end.
const EXPORT: &str = "export_audit_log";

/// Credential kinds in the API description for which there are test callers.
const KINDS: [&str; 3] = ["personalAccessToken", "scimToken", "sessionCookie"];

/// A well-formed user ID that does not exist.
const NOBODY: &str = "usr_06gzkadrwwt5d9z93ens6801xc";

pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) credentials: BTreeSet<String>,
}

pub(crate) fn operations() -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, item) in API["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array().unwrap();
            operations.push(Operation {
                id: operation["operationId"].as_str().unwrap().to_owned(),
                method: method.to_ascii_uppercase(),
                path: path.clone(),
                credentials: security
                    .iter()
                    .flat_map(|one| one.as_object().unwrap().keys().cloned())
                    .collect(),
            });
        }
    }
    assert!(operations.len() >= 105, "the document lists the operations: {}", operations.len());
    operations
}

fn guarded() -> impl Iterator<Item = Operation> {
    operations().into_iter().filter(|operation| !operation.credentials.is_empty())
}

/// A tenant with an administrator who has every kind of credential.
pub(crate) struct World<'s> {
    pub(crate) server: &'s Server,
    pub(crate) tenant: Tenant,
    pub(crate) admin: Browser,
    pub(crate) pat: Caller,
    factor: String,
}

impl<'s> World<'s> {
    pub(crate) fn new(server: &'s Server, slug: &str) -> Self {
        // Codes are limited per address, and all requests come from one.
        server.env.advance(std::time::Duration::from_mins(5));
        let tenant = server.tenant(slug);
        let (_, admin) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
        enrol_totp(server, &admin);
        let factor = admin.get("/api/me/factors").json()["factors"][0]["id"].as_str().unwrap().to_owned();
        let scopes = ["read:profile", "write:profile", "read:hcm", "write:hcm", "admin:tenant"];
        let proved = server.proved(&admin, "PAT_MINT_ADMIN");
        let made = proved.post("/api/me/tokens", &json!({ "name": "all", "scopes": scopes })).json();
        let pat = server.anonymous().bearer(made["token"].as_str().unwrap());
        Self { server, tenant, admin, pat, factor }
    }

    fn call(&self, kind: &str, operation: &Operation, ids: &[String]) -> Answer {
        match kind {
            "sessionCookie" => {
                let (path, body) = request(operation, ids);
                let answer = self.admin.send(&operation.method, &path, body.as_ref());
                if answer.status != 401 || answer.json()["code"] != "STEP_UP_REQUIRED" {
                    return answer;
                }
                // Like a client: gets a step-up token if one is required, and repeats the request.
                let purpose = answer.json()["purpose"].as_str().unwrap().to_owned();
                let proved = self.server.proved(&self.admin, &purpose);
                proved.send(&operation.method, &path, body.as_ref())
            }
            "personalAccessToken" => call(&self.pat, operation, ids),
            "scimToken" => call(&self.tenant.scim, operation, ids),
            other => panic!("{other} has no caller: add one here"),
        }
    }

    /// Returns a sealed entry of the tenant's audit log.
    fn sealed(&self) -> String {
        let first = || self.admin.get("/api/settings/audit-log?order=sequence&limit=1").json();
        eventually(|| first()["entries"][0]["id"].is_string());
        first()["entries"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Creates a webhook whose receiver does not exist.
    fn webhook(&self) -> String {
        let new = json!({ "name": "test", "url": "http://127.0.0.1:9/" }).to_string();
        let made = self.pat.send("POST", "/api/settings/webhooks", Some("application/json"), &new);
        assert_eq!(made.status, 200, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Creates an SSO connection for this domain, with the metadata members in `other`.
    fn provider(&self, domain: &str, other: &Value) -> String {
        let mut body = json!({ "name": "Corp", "emailDomains": [domain] });
        body.as_object_mut().unwrap().extend(other.as_object().unwrap().clone());
        let proved = self.server.proved(&self.admin, "SSO_PROVIDER_CHANGE");
        let made = proved.post("/api/settings/saml-providers", &body);
        assert_eq!(made.status, 200, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    }

    /// Creates the resources for the paths of SSO connections and domains.
    fn single_sign_on(&self, server: &Server, path: &str) -> Vec<String> {
        // Each connection needs a domain of its own.
        let count =
            self.admin.get("/api/settings/saml-providers").json()["providers"].as_array().unwrap().len();
        let domain = format!("d{count}.{}.example", self.tenant.id.key());
        let idp = Idp::new("idp.example.com");
        if path.ends_with("/refresh") {
            // The next refresh gets different metadata.
            let sink = Sink::start();
            sink.answers("/metadata", 200, "", &idp.metadata());
            let id = self.provider(&domain, &json!({ "metadataUrl": sink.url("/metadata") }));
            sink.answers("/metadata", 200, "", &idp.rekeyed().metadata());
            return vec![id];
        }
        let id = self.provider(&domain, &json!({ "metadataXml": idp.metadata() }));
        let of_it = format!("/api/settings/saml-providers/{id}");
        if path.contains("/domains/") {
            let domains = self.admin.get("/api/settings/domains").json()["domains"].clone();
            let own =
                domains.as_array().unwrap().iter().find(|one| one["domain"] == domain.as_str()).unwrap();
            let record = &own["record"];
            server.dns.set(record["name"].as_str().unwrap(), &[record["value"].as_str().unwrap()]);
            if !path.ends_with("/verify") {
                let proved = server.proved(&self.admin, "SSO_PROVIDER_CHANGE");
                let verified = proved.send("POST", &format!("/api/settings/domains/{domain}/verify"), None);
                assert_eq!(verified.status, 200, "{}", verified.text);
            }
            return vec![domain];
        }
        if path.ends_with("/complete") {
            let proved = server.proved(&self.admin, "SSO_PROVIDER_CHANGE");
            let rotated = proved.send("POST", &format!("{of_it}/rotate-certificate"), None);
            assert_eq!(rotated.status, 200, "{}", rotated.text);
        }
        if path.contains("{tryId}") {
            let begun = self.admin.send("POST", &format!("{of_it}/test"), None).json();
            return vec![id, begun["id"].as_str().unwrap().to_owned()];
        }
        vec![id]
    }

    /// Creates the resources for the paths of connections with OpenID Connect.
    fn openid_connect(&self, path: &str) -> Vec<String> {
        let list = self.admin.get("/api/settings/oidc-providers").json();
        let count = list["providers"].as_array().unwrap().len();
        let domain = format!("o{count}.{}.example", self.tenant.id.key());
        let proved = || self.server.proved(&self.admin, "SSO_PROVIDER_CHANGE");
        // The next refresh gets other keys.
        let is_refreshed = path.ends_with("/refresh");
        let provider = if is_refreshed { &OpenIdProvider::start() } else { OpenIdProvider::shared() };
        let made = proved().post("/api/settings/oidc-providers", &oidc_body(provider, &[&domain]));
        assert_eq!(made.status, 200, "{}", made.text);
        let id = made.json()["id"].as_str().unwrap().to_owned();
        let of_it = format!("/api/settings/oidc-providers/{id}");
        if is_refreshed {
            let keys = json!({ "keys": [provider.signer.foreign_key("new")] });
            provider.respond("/keys", Responds::json(&keys));
        }
        if path.ends_with("/complete") {
            let rotated = proved().send("POST", &format!("{of_it}/rotate-key"), None);
            assert_eq!(rotated.status, 200, "{}", rotated.text);
        }
        if path.contains("{tryId}") {
            let begun = self.admin.send("POST", &format!("{of_it}/test"), None).json();
            return vec![id, begun["id"].as_str().unwrap().to_owned()];
        }
        vec![id]
    }

    /// Creates the resources for a path's parameters in the tenant; `None` if they belong to no tenant.
    fn resources(&self, server: &Server, path: &str) -> Option<Vec<String>> {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        match path {
            "/api/scim/v2/Users/{id}" => {
                Some(vec![text(&self.tenant.scim.post("/api/scim/v2/Users", &ada()).json()["id"])])
            }
            "/api/scim/v2/Groups/{id}" => {
                // Group names are unique.
                let before = self.tenant.scim.get("/api/scim/v2/Groups").json();
                let group =
                    json!({ "displayName": format!("Group {}", before["totalResults"]), "externalId": "1" });
                Some(vec![text(&self.tenant.scim.post("/api/scim/v2/Groups", &group).json()["id"])])
            }
            "/api/scim/v2/Schemas/{id}" | "/api/scim/v2/ResourceTypes/{id}" => None,
            "/api/me/sessions/{id}" => Some(vec![self.admin.cookie("as_sid")]),
            "/api/settings/scim-tokens/{id}" => {
                let proved = server.proved(&self.admin, "SCIM_TOKEN_MINT");
                let made = proved.post("/api/settings/scim-tokens", &json!({ "name": "Okta" }));
                Some(vec![text(&made.json()["id"])])
            }
            "/api/settings/network-policy/rules/{id}" => {
                let before = self.pat.get("/api/settings/network-policy").json();
                let count = before["rules"].as_array().unwrap().len();
                let rule = json!({ "cidr": format!("10.1.0.{count}"), "label": "Office" });
                let path = "/api/settings/network-policy/rules";
                let made = self.pat.send("POST", path, Some("application/json"), &rule.to_string());
                Some(vec![text(&made.json()["id"])])
            }
            "/api/settings/webhooks/{id}/rotate-secret/complete" => {
                let id = self.webhook();
                let proved = server.proved(&self.admin, "WEBHOOK_SECRET_ROTATE");
                let rotated = proved.post(&format!("/api/settings/webhooks/{id}/rotate-secret"), &json!({}));
                assert_eq!(rotated.status, 200, "{}", rotated.text);
                Some(vec![id])
            }
            of_delivery if of_delivery.contains("{deliveryId}") => {
                let id = self.webhook();
                let user = json!({ "userName": format!("{id}@example.com") });
                assert_eq!(self.tenant.scim.post("/api/scim/v2/Users", &user).status, 201);
                let list = format!("/api/settings/webhooks/{id}/deliveries");
                let delivery = self.admin.get(&list).json()["deliveries"][0]["id"].clone();
                Some(vec![id, text(&delivery)])
            }
            of_webhook if of_webhook.starts_with("/api/settings/webhooks/{id}") => Some(vec![self.webhook()]),
            sso if sso.starts_with("/api/settings/saml-providers/{id}")
                || sso.starts_with("/api/settings/domains/{domain}") =>
            {
                Some(self.single_sign_on(server, sso))
            }
            oidc if oidc.starts_with("/api/settings/oidc-providers/{id}") => Some(self.openid_connect(oidc)),
            "/api/me/factors/{id}" => Some(vec![self.factor.clone()]),
            // Wait until something is sealed.
            "/api/settings/audit-log/checkpoint" | "/api/settings/audit-log/consistency" => {
                self.sealed();
                Some(Vec::new())
            }
            "/api/settings/audit-log/{id}/proof" => Some(vec![self.sealed()]),
            "/api/me/tokens/{id}" => {
                Some(vec![text(&self.admin.get("/api/me/tokens").json()["tokens"][0]["id"])])
            }
            "/api/settings/users/{id}/saml-subjects/{ssoId}" => {
                let user = self.resources(server, "/api/settings/users/{id}")?.remove(0);
                let sso = saml_sp::ProviderId::new(&*server.env, &self.tenant.id);
                let (id, provider): (kernel::UserId, _) = (user.parse().unwrap(), sso.clone());
                server.write(&self.tenant.id, async move |ctx, tx| {
                    let subject = saml_sp::Subject::from_bytes([1; 32]);
                    let pinned = saml_sp::PinnedSubject { provider, subject, pinned_at: ctx.now };
                    assert!(saml_sp::SubjectStore::pin_subject(tx, &id, &pinned).await?);
                    Ok(())
                });
                Some(vec![user, sso.to_string()])
            }
            person
                if person.starts_with("/api/people/{id}")
                    || person.starts_with("/api/settings/users/{id}") =>
            {
                let count = self.admin.get("/api/people?limit=200").json()["users"].as_array().unwrap().len();
                let email = format!("p{count}.{}@example.com", self.tenant.id.key());
                let (person, browser) = server.signed_in(&self.tenant, &email, Role::Member);
                let mut ids = vec![person.id.to_string()];
                if path.contains("{sid}") {
                    ids.push(browser.cookie("as_sid"));
                }
                if path.contains("{tokenId}") {
                    let made =
                        browser.post("/api/me/tokens", &json!({ "name": "CI", "scopes": ["read:profile"] }));
                    ids.push(text(&made.json()["id"]));
                }
                Some(ids)
            }
            other if other.contains('{') => panic!("{other} has no example: add one here"),
            _ => Some(Vec::new()),
        }
    }
}

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
        other => panic!("{other} has no body: add one here"),
    }
}

pub(crate) fn request(operation: &Operation, ids: &[String]) -> (String, Option<Value>) {
    let mut path = operation.path.clone();
    for (names, id) in [
        &["{id}", "{domain}", "{providerId}"][..],
        &["{sid}", "{tokenId}", "{deliveryId}", "{tryId}", "{ssoId}"],
    ]
    .iter()
    .zip(ids)
    {
        for name in *names {
            path = path.replace(name, id);
        }
    }
    if operation.id == "get_audit_consistency" {
        path.push_str("?from=1");
    }
    if operation.id == "step_up_status" {
        path.push_str("?purpose=PAYROLL_SEAL");
    }
    (path, body(operation))
}

fn call(caller: &Caller, operation: &Operation, ids: &[String]) -> Answer {
    let (path, body) = request(operation, ids);
    let kind = if path.starts_with("/api/scim/") { "application/scim+json" } else { "application/json" };
    let text = body.as_ref().map(Value::to_string).unwrap_or_default();
    caller.send(&operation.method, &path, body.map(|_| kind), &text)
}

/// Returns well-formed IDs that do not exist.
pub(crate) fn nobody() -> Vec<String> {
    vec![NOBODY.to_owned(), "ses_06gzkadrwwt5d9z93ens6801xc".to_owned()]
}

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
                // The SSO connection does not exist, and the operations of POST need a form.
                "saml_metadata" | "saml_login" | "saml_logout" | "saml_slo_redirect" | "oidc_login"
                | "oidc_callback" | "oidc_jwks" => 404,
                "saml_acs" | "saml_slo" | "oidc_backchannel_logout" => 415,
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
        for operation in guarded().filter(|operation| operation.path.contains('{')) {
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
