//! A tenant with every kind of credential and a resource for each path.

use std::cell::OnceCell;

use directory::Role;
use serde_json::{Value, json};
use tokens::removals::{HeldRemoval, RemovalKind, RemovalState, RemovalStore};

use super::{
    bodies::new_transmitter,
    list::Operation,
    requests::{call, request},
};
use crate::{
    api::auth::enrolment::enrol_totp,
    support::{
        Answer, Browser, Caller, Idp, OpenIdProvider, Responds, Server, Sink, Tenant, ada, eventually,
        oidc_body,
    },
};

/// A tenant with an administrator who has every kind of credential.
pub(crate) struct World<'s> {
    pub(crate) server: &'s Server,
    pub(crate) tenant: Tenant,
    pub(crate) admin: Browser,
    pub(crate) pat: Caller,
    factor: String,
    /// A receiver of signals.
    receiver: OnceCell<Caller>,
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
        Self { server, tenant, admin, pat, factor, receiver: OnceCell::new() }
    }

    pub(crate) fn call(&self, kind: &str, operation: &Operation, ids: &[String]) -> Answer {
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
            // A receiver has at most one stream.
            "receiverToken" if operation.id == "create_ssf_stream" => {
                call(&self.new_receiver().1, operation, ids)
            }
            "receiverToken" => call(self.receiver(), operation, ids),
            other => panic!("{other} has no caller: add one here"),
        }
    }

    /// Pauses the removals of a SCIM token and holds one.
    fn hold_removal(&self, server: &Server, token: &str) {
        let token: tokens::ScimTokenId = token.parse().unwrap();
        let user = server.person(&self.tenant, &format!("{}@example.com", token.key()), Role::Member).id;
        server.write(&self.tenant.id, async move |ctx, tx| {
            let held = HeldRemoval { user, kind: RemovalKind::Deactivate, at: ctx.now };
            tx.hold_removal(&token, &held).await?;
            let paused = RemovalState { paused_at: Some(ctx.now), ..RemovalState::default() };
            tx.set_removal_state(&token, &paused).await
        });
    }

    /// Returns a sealed entry of the tenant's audit log.
    fn sealed(&self) -> String {
        let first = || self.admin.get("/api/settings/audit-log?order=sequence&limit=1").json();
        eventually(|| first()["entries"][0]["id"].is_string());
        first()["entries"][0]["id"].as_str().unwrap().to_owned()
    }

    /// Returns a receiver of signals.
    pub(crate) fn receiver(&self) -> &Caller {
        self.receiver.get_or_init(|| self.new_receiver().1)
    }

    /// Creates a receiver of signals, and returns its ID.
    fn new_receiver(&self) -> (String, Caller) {
        let new = json!({ "name": "Payroll", "audience": "https://payroll.example/" }).to_string();
        let path = "/api/settings/signals/receivers";
        let made = self.pat.send("POST", path, Some("application/json"), &new).json();
        let caller = self.server.anonymous().bearer(made["token"].as_str().unwrap());
        (made["id"].as_str().unwrap().to_owned(), caller)
    }

    /// Returns the ID of the receiver's stream.
    fn signal_stream(&self) -> String {
        let (receiver, path) = (self.receiver(), "/api/ssf/stream");
        let made = receiver.send("POST", path, Some("application/json"), "{}");
        let stream = if made.status == 201 { made.json() } else { receiver.get(path).json()[0].clone() };
        stream["stream_id"].as_str().unwrap().to_owned()
    }

    /// Returns a receiver of signals, or the stream of one, for paths that name it.
    fn signals(&self, path: &str) -> Option<Vec<String>> {
        if path.starts_with("/api/settings/signals/receivers/{id}") {
            return Some(vec![self.new_receiver().0]);
        }
        let stream = path.starts_with("/api/ssf/").then(|| self.signal_stream())?;
        if path.starts_with("/api/ssf/subjects/") {
            let user = json!({ "userName": "subject@example.com" });
            assert_eq!(self.tenant.scim.post("/api/scim/v2/Users", &user).status, 201);
        }
        if path.ends_with("/add") {
            let subject = json!({ "format": "email", "email": "subject@example.com" });
            let body = json!({ "stream_id": stream, "subject": subject }).to_string();
            let (path, kind) = ("/api/ssf/subjects/remove", Some("application/json"));
            assert_eq!(self.receiver().send("POST", path, kind, &body).status, 204);
        }
        Some(vec![stream])
    }

    /// Creates a log stream whose receiver does not exist.
    fn log_stream(&self) -> String {
        let new = json!({ "name": "test", "type": "HTTPS", "url": "http://127.0.0.1:9/" }).to_string();
        let made = self.pat.send("POST", "/api/settings/log-streams", Some("application/json"), &new);
        made.json()["id"].as_str().unwrap().to_owned()
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

    /// Returns a transmitter of signals, or the SSO connection for a new one.
    fn transmitter(&self, path: &str) -> Vec<String> {
        let list = self.admin.get("/api/settings/oidc-providers").json();
        let connection = match list["providers"].as_array().unwrap().first() {
            Some(known) => vec![known["id"].as_str().unwrap().to_owned()],
            None => self.openid_connect(""),
        };
        if !path.contains("{id}") {
            return connection;
        }
        let proved = self.server.proved(&self.admin, "SSO_PROVIDER_CHANGE");
        let made = proved.post("/api/settings/signals/transmitters", &new_transmitter(&connection[0]));
        assert_eq!(made.status, 200, "{}", made.text);
        vec![made.json()["id"].as_str().unwrap().to_owned()]
    }

    /// Creates a user and the resources for the paths under it.
    fn user(&self, server: &Server, path: &str) -> Vec<String> {
        let count = self.admin.get("/api/people?limit=200").json()["users"].as_array().unwrap().len();
        let email = format!("p{count}.{}@example.com", self.tenant.id.key());
        let (person, browser) = server.signed_in(&self.tenant, &email, Role::Member);
        let mut ids = vec![person.id.to_string()];
        if path.contains("{ssoId}") {
            ids.push(self.pinned_subject(server, &person.id));
        }
        if path.contains("{sid}") {
            ids.push(browser.cookie("as_sid"));
        }
        if path.contains("{tokenId}") {
            let made = browser.post("/api/me/tokens", &json!({ "name": "CI", "scopes": ["read:profile"] }));
            ids.push(made.json()["id"].as_str().unwrap().to_owned());
        }
        ids
    }

    /// Pins an identity of a SAML provider to this user, and returns the ID of the connection.
    fn pinned_subject(&self, server: &Server, id: &kernel::UserId) -> String {
        let sso = saml_sp::ProviderId::new(&*server.env, &self.tenant.id);
        let (id, provider) = (id.clone(), sso.clone());
        server.write(&self.tenant.id, async move |ctx, tx| {
            let subject = saml_sp::Subject::from_bytes([1; 32]);
            let pinned = saml_sp::PinnedSubject { provider, subject, pinned_at: ctx.now };
            assert!(saml_sp::SubjectStore::pin_subject(tx, &id, &pinned).await?);
            Ok(())
        });
        sso.to_string()
    }

    /// Creates the resources for a path's parameters in the tenant; `None` if they belong to no tenant.
    pub(crate) fn resources(&self, server: &Server, path: &str) -> Option<Vec<String>> {
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
            "/api/settings/scim-tokens/{id}/dry-run" => {
                let proved = server.proved(&self.admin, "SCIM_TOKEN_MINT");
                let new = json!({ "name": "Entra", "dryRun": true });
                Some(vec![text(&proved.post("/api/settings/scim-tokens", &new).json()["id"])])
            }
            held if held.starts_with("/api/settings/scim-tokens/{id}/removals") => {
                let token = self.resources(server, "/api/settings/scim-tokens/{id}")?.remove(0);
                self.hold_removal(server, &token);
                Some(vec![token])
            }
            "/api/settings/roles/{id}" => {
                let count = self.admin.get("/api/settings/roles").json()["roles"].as_array().unwrap().len();
                let role = json!({ "name": format!("Desk {count}"), "permissions": ["read:users"] });
                let made = server.proved(&self.admin, "USER_ADMIN_CHANGE").post("/api/settings/roles", &role);
                Some(vec![text(&made.json()["id"])])
            }
            rules if rules.starts_with("/api/settings/role-rules") => {
                let group = self.resources(server, "/api/scim/v2/Groups/{id}")?.remove(0);
                if !rules.contains("{id}") {
                    return Some(vec![group]);
                }
                let rule = json!({ "groupId": group, "role": "SUPPORT" });
                let proved = server.proved(&self.admin, "USER_ADMIN_CHANGE");
                Some(vec![text(&proved.post("/api/settings/role-rules", &rule).json()["id"]), group])
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
            log if log.starts_with("/api/settings/log-streams/{id}") => Some(vec![self.log_stream()]),
            of_it if of_it.starts_with("/api/settings/signals/transmitters") => Some(self.transmitter(of_it)),
            of_signals if of_signals.contains("/signals/receivers/{id}") || of_signals.contains("/ssf/") => {
                self.signals(of_signals)
            }
            of_webhook if of_webhook.starts_with("/api/settings/webhooks/{id}") => Some(vec![self.webhook()]),
            sso if sso.starts_with("/api/settings/saml-providers/{id}")
                || sso.starts_with("/api/settings/sso-connections/{id}")
                || sso.starts_with("/api/settings/domains/{domain}") =>
            {
                Some(self.single_sign_on(server, sso))
            }
            oidc if oidc.starts_with("/api/settings/oidc-providers/{id}") => Some(self.openid_connect(oidc)),
            "/api/me/factors/{id}" => Some(vec![self.factor.clone()]),
            // Wait until something is sealed.
            "/api/settings/audit-log/checkpoint"
            | "/api/settings/audit-log/consistency"
            | "/api/settings/audit-log/tile/{level}/{index}" => {
                self.sealed();
                Some(Vec::new())
            }
            "/api/settings/audit-log/{id}/proof" => Some(vec![self.sealed()]),
            "/api/me/tokens/{id}" => {
                Some(vec![text(&self.admin.get("/api/me/tokens").json()["tokens"][0]["id"])])
            }
            of_user
                if of_user.starts_with("/api/people/{id}")
                    || of_user.starts_with("/api/settings/users/{id}") =>
            {
                Some(self.user(server, of_user))
            }
            other if other.contains('{') => panic!("{other} has no example: add one here"),
            _ => Some(Vec::new()),
        }
    }
}
