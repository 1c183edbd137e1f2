//! Sign-in through an identity provider.

mod accounts;
mod logout;
mod owed;
mod refused;
mod sign_in;
mod trials;

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Idp, Sent, Server, Tenant};

/// A tenant with an administrator and an SSO connection for `corp.example`.
pub(crate) struct Site {
    pub(crate) tenant: Tenant,
    pub(crate) admin: Browser,
    pub(crate) idp: Idp,
    /// `sso_…`
    pub(crate) id: String,
}

/// Returns the request body of an SSO connection with the provider's metadata.
pub(crate) fn body(idp: &Idp, domains: &[&str]) -> Value {
    json!({ "name": "Corp", "emailDomains": domains, "metadataXml": idp.metadata() })
}

/// Adds an SSO connection.
pub(crate) fn add(server: &Server, admin: &Browser, body: &Value) -> Value {
    let made = server.proved(admin, "SSO_PROVIDER_CHANGE").post("/api/settings/saml-providers", body);
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()
}

/// Posts a SAML response as the identity provider's page does.
pub(crate) fn give(browser: &Browser, path: &str, response: &str, relay_state: &str) -> Answer {
    let fields = [("SAMLResponse", response), ("RelayState", relay_state)];
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
    let from = browser.with("Origin", "https://idp.example").with("Sec-Fetch-Site", "cross-site");
    let answer = from.form(path, &form);
    *browser.cookies.borrow_mut() = from.cookies.borrow().clone();
    answer
}

impl Site {
    pub(crate) fn new(server: &Server, slug: &str) -> Self {
        Self::with(server, slug, |_| {})
    }

    pub(crate) fn with(server: &Server, slug: &str, change: impl FnOnce(&mut Value)) -> Self {
        let tenant = server.tenant(slug);
        let (_, admin) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
        let idp = Idp::new(&format!("idp.{slug}.example"));
        let mut body = body(&idp, &["corp.example"]);
        change(&mut body);
        let id = add(server, &admin, &body)["id"].as_str().unwrap().to_owned();
        Self { tenant, admin, idp, id }
    }

    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/api/saml/{}/{rest}", self.id)
    }

    /// Starts a sign-in.
    pub(crate) fn begin(&self, browser: &Browser, query: &str) -> Sent {
        crate::support::sent(&browser.get(&format!("{}{query}", self.path("login"))))
    }

    /// Posts a response to the assertion consumer service.
    pub(crate) fn post(&self, browser: &Browser, response: &str, relay_state: &str) -> Answer {
        give(browser, &self.path("acs"), response, relay_state)
    }

    /// Signs in the user with this address.
    pub(crate) fn sign_in(&self, server: &Server, browser: &Browser, email: &str) -> Answer {
        let sent = self.begin(browser, "");
        let says = sent.says(email, kernel::Env::now(&*server.env));
        self.post(browser, &self.idp.response(&says), &sent.relay_state)
    }

    /// Returns the payloads of the newest refusals in the audit log.
    pub(crate) fn refusals(&self, server: &Server) -> Vec<Value> {
        let entries = server.entries(&self.tenant).into_iter();
        let refused = entries.filter(|entry| entry.action == "ACCOUNT_SAML_SIGN_IN_REFUSED");
        refused.map(|entry| serde_json::from_str(&entry.metadata).unwrap()).collect()
    }
}
