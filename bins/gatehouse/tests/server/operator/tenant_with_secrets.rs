//! A tenant with one of each value that depends on a master key.

use serde_json::{Value, json};
use webhooks::verify::{ReceiverSecrets, verify};

use crate::support::{Answer, Browser, Caller, Idp, Process, Running, Sink, code_at};

pub(super) const PASSWORD: &str = "four tall blue towers";
pub(super) const SETTINGS: [(&str, &str); 2] =
    [("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"), ("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true")];

fn now() -> i64 {
    kernel::Env::now(&kernel::SystemEnv::default()).unix_millis() / 1000
}

/// Creates an administrator with a password.
pub(super) fn administrator(process: &Process, tenant: &str, password: &str) {
    let words = ["user", "create", "--tenant", tenant, "--email", "ada@example.com", "--role", "ADMIN"];
    let created = process.with_input(&[&words[..], &["--password-stdin"]].concat(), password);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
}

pub(super) fn sign_in(server: &Running, tenant: Option<&str>, password: &str) -> (Browser, Answer) {
    let browser = Browser::new(server.address);
    let body = json!({ "email": "ada@example.com", "password": password, "tenant": tenant });
    let answer = browser.post("/api/auth/sign-in", &body);
    (browser, answer)
}

/// What the tenant `acme` has.
pub(super) struct TenantWithSecrets {
    scim: String,
    pat: String,
    totp: String,
    /// The ID and the secret of the webhook.
    webhook: (String, String),
    connection: String,
}

impl TenantWithSecrets {
    /// Creates the tenant with one of each value that depends on a master key.
    pub(super) fn new(source: &Process, sink: &Sink) -> Self {
        let scim = source.tenant("acme");
        source.tenant("neighbor");
        administrator(source, "acme", PASSWORD);
        administrator(source, "neighbor", "another password");
        source.json(&["domain", "verify", "--tenant", "acme", "--domain", "corp.example"]);
        std::fs::write(source.path().join("idp.xml"), Idp::new("idp.example.com").metadata()).unwrap();
        let words = [
            "saml",
            "add",
            "--tenant",
            "acme",
            "--name",
            "Okta",
            "--metadata",
            "idp.xml",
            "--email-domains",
            "corp.example",
        ];
        let connection = source.json(&words)["id"].as_str().unwrap().to_owned();
        let of = ["--tenant", "acme", "--email", "ada@example.com"];
        let words = ["token", "pat", "--name", "x", "--scopes", "admin:tenant"];
        let pat = source.json(&[&words[..], &of].concat())["token"].as_str().unwrap().to_owned();

        let mut server = source.serve();
        let admin = Caller::anonymous(server.address).bearer(&pat);
        let webhook = create_webhook(&admin, sink);
        let new = json!({ "name": "x", "type": "HTTPS", "url": sink.url("/log"), "header": "X-Key", "secret": "log key" });
        post(&admin, "/api/settings/log-streams", &new);
        let new = json!({ "name": "Payroll", "audience": "https://payroll.example/" });
        let receiver = post(&admin, "/api/settings/signals/receivers", &new);
        let receiver = Caller::anonymous(server.address).bearer(receiver["token"].as_str().unwrap());
        let delivery = json!({
            "method": "urn:ietf:rfc:8935", "endpoint_url": sink.url("/signal"), "authorization_header": "Bearer push",
        });
        post(&receiver, "/api/ssf/stream", &json!({ "delivery": delivery }));
        let (ada, answer) = sign_in(&server, Some("acme"), PASSWORD);
        assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
        let begun = ada.post("/api/me/factors/totp", &json!({})).json();
        let totp = begun["secret"].as_str().unwrap().to_owned();
        let body = json!({ "id": begun["id"], "code": code_at(&totp, now() - 30) });
        assert_eq!(ada.post("/api/me/factors/totp/verify", &body).status, 200);
        let created = Caller::anonymous(server.address).bearer(&scim).post(
        "/api/scim/v2/Users",
        &json!({ "userName": "grace@example.com", "displayName": "Grace \u{1F511}", "emails": [{ "value": "grace@example.com" }] }),
    );
        assert_eq!(created.status, 201, "{}", created.text);
        sink.await_received("/in", 1);
        // A killed server would keep its leases.
        assert_eq!(server.terminate().0, Some(0), "{}", server.log());
        Self { scim, pat, totp, webhook, connection }
    }

    /// Creates another webhook in place of the first one.
    pub(super) fn replace_webhook(&mut self, server: &Running, sink: &Sink) {
        let admin = Caller::anonymous(server.address).bearer(&self.pat);
        let path = format!("/api/settings/webhooks/{}", self.webhook.0);
        let off = admin.send("PATCH", &path, Some("application/json"), r#"{ "enabled": false }"#);
        assert_eq!(off.status, 200, "{}", off.text);
        self.webhook = create_webhook(&admin, sink);
    }

    /// Returns the audit entries of a type, newest first.
    pub(super) fn entries(&self, server: &Running, action: &str) -> Vec<Value> {
        let admin = Caller::anonymous(server.address).bearer(&self.pat);
        let page = admin.get(&format!("/api/settings/audit-log?action={action}")).json();
        page["entries"].as_array().unwrap().clone()
    }

    /// Uses everything that depends on a master key.
    pub(super) fn works(&self, server: &Running, sink: &Sink) {
        let [before, logs, signals] = ["/in", "/log", "/signal"].map(|path| sink.received(path).len());
        let scim = Caller::anonymous(server.address).bearer(&self.scim);
        let found = scim.get("/api/scim/v2/Users?filter=userName%20eq%20%22grace@example.com%22").json();
        assert_eq!(found["Resources"][0]["displayName"], "Grace \u{1F511}");
        assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "late@example.com" })).status, 201);
        let received = sink.await_received("/in", before + 1).pop().unwrap();
        let secrets = ReceiverSecrets::new([&*self.webhook.1]).unwrap();
        let (time, signature) =
            (received.header("x-service-timestamp"), received.header("x-service-signature"));
        assert_eq!(verify(&secrets, time, signature, received.body.as_bytes(), now()), Ok(()));

        let admin = Caller::anonymous(server.address).bearer(&self.pat);
        assert_eq!(admin.get("/api/settings/webhooks").status, 200);
        let sent = sink.await_received("/log", logs + 1).pop().unwrap();
        assert_eq!(sent.header("x-key"), "log key", "the secret of the log stream is decrypted");
        let started = Caller::anonymous(server.address).get(&format!("/api/saml/{}/login", self.connection));
        assert_eq!(started.status, 200, "the request is signed with the moved key: {}", started.text);

        let signal = sink.await_received("/signal", signals + 1).pop().unwrap();
        assert_eq!(signal.header("authorization"), "Bearer push", "the header and the key are decrypted");
        let (browser, asked) = sign_in(server, Some("acme"), PASSWORD);
        assert_eq!(asked.json()["status"], "MFA_REQUIRED", "{}\n{}", asked.text, server.log());
        let done = browser.verify(&asked.json()["ticket"], "TOTP", &code_at(&self.totp, now()));
        assert_eq!(done.json()["status"], "SIGNED_IN", "{}", done.text);
    }
}

fn post(caller: &Caller, path: &str, body: &Value) -> Value {
    let answer = caller.send("POST", path, Some("application/json"), &body.to_string());
    assert!(answer.status < 300, "{}", answer.text);
    answer.json()
}

/// Returns the ID and the secret of a new webhook.
fn create_webhook(admin: &Caller, sink: &Sink) -> (String, String) {
    let new = json!({ "name": "x", "url": sink.url("/in"), "eventFilters": ["ACCOUNT_USER_*"] });
    let made = post(admin, "/api/settings/webhooks", &new);
    let text = |member: &str| made[member].as_str().unwrap().to_owned();
    (text("id"), text("secret"))
}
