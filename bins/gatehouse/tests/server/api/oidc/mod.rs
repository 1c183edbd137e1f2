//! Sign-in through an OpenID provider.

mod accounts;
mod connection_tests;
mod keys;
mod logout;
mod refused;
mod sign_in;

use directory::Role;
use kernel::Env;
use serde_json::{Map, Value};

use crate::support::{Answer, Authorization, Browser, OpenIdProvider, Server, Tenant, oidc_body};

/// A tenant with an administrator and an OpenID Connect connection for `corp.example`.
pub(crate) struct Site {
    pub(crate) tenant: Tenant,
    pub(crate) admin: Browser,
    pub(crate) provider: OpenIdProvider,
    /// `oidc_…`
    pub(crate) id: String,
}

/// Adds a connection.
pub(crate) fn add(server: &Server, admin: &Browser, body: &Value) -> Value {
    let made = server.proved(admin, "SSO_PROVIDER_CHANGE").post("/api/settings/oidc-providers", body);
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()
}

impl Site {
    pub(crate) fn new(server: &Server) -> Self {
        Self::with(server, |_| {})
    }

    pub(crate) fn with(server: &Server, change: impl FnOnce(&mut Value)) -> Self {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@acme.example", Role::Admin);
        let provider = OpenIdProvider::start();
        let mut body = oidc_body(&provider, &["corp.example"]);
        change(&mut body);
        let id = add(server, &admin, &body)["id"].as_str().unwrap().to_owned();
        Self { tenant, admin, provider, id }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/oidc/{}/{rest}", self.id)
    }

    pub(crate) fn settings(&self) -> String {
        format!("/api/settings/oidc-providers/{}", self.id)
    }

    /// Starts a sign-in.
    pub(crate) fn begin(&self, browser: &Browser, query: &str) -> Authorization {
        crate::support::authorization(&browser.get(&format!("{}{query}", self.path("login"))))
    }

    /// Redirects the browser back.
    pub(crate) fn come_back(&self, browser: &Browser, query: &str) -> Answer {
        let from = browser.with("Sec-Fetch-Site", "cross-site").with("Sec-Fetch-Mode", "navigate");
        let answer = from.get(&format!("{}?{query}", self.path("callback")));
        *browser.cookies.borrow_mut() = from.cookies.borrow().clone();
        answer
    }

    /// Signs in with bent claims of the user with this address.
    pub(crate) fn sign_in_with(
        &self,
        server: &Server,
        browser: &Browser,
        email: &str,
        bend: impl FnOnce(&mut Map<String, Value>),
    ) -> Answer {
        let request = self.begin(browser, "");
        let mut claims = self.provider.claims(&request, email, server.env.now());
        bend(&mut claims);
        self.provider.issue(&claims);
        self.come_back(browser, &request.redirect(&self.provider.issuer))
    }

    /// Signs in the user with this address.
    pub(crate) fn sign_in(&self, server: &Server, browser: &Browser, email: &str) -> Answer {
        self.sign_in_with(server, browser, email, |_| {})
    }

    /// Returns the payloads of the newest refusals in the audit log.
    pub(crate) fn refusals(&self, server: &Server) -> Vec<Value> {
        let entries = server.entries(&self.tenant).into_iter();
        let refused = entries.filter(|entry| entry.action == "ACCOUNT_OIDC_SIGN_IN_REFUSED");
        refused.map(|entry| serde_json::from_str(&entry.metadata).unwrap()).collect()
    }
}
