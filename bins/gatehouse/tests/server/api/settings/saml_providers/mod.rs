//! SSO connections, as administrators manage them.

mod certificates;
mod changes;
mod metadata;

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Idp, Server, Tenant, eventually};

const PROVIDERS: &str = "/api/settings/saml-providers";
const PURPOSE: &str = "SSO_PROVIDER_CHANGE";
const ENTITY: &str = "https://idp.example.com";

fn admin(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, browser)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

/// Requests an SSO connection with a step-up.
fn ask(server: &Server, browser: &Browser, body: &Value) -> Answer {
    server.proved(browser, PURPOSE).post(PROVIDERS, body)
}

/// Adds an SSO connection. Returns its path and the response.
fn add(server: &Server, browser: &Browser, body: &Value) -> (String, Value) {
    let made = ask(server, browser, body);
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    (format!("{PROVIDERS}/{}", text(&made["id"])), made)
}

fn by_xml(idp: &Idp, domains: &[&str]) -> Value {
    json!({ "name": "Corp", "emailDomains": domains, "metadataXml": idp.metadata() })
}

/// Waits until a second instance, which starts with a refresh, has refreshed.
fn await_on_second_instance(server: &Server, until: impl Fn() -> bool) {
    server.second(|_| eventually(&until));
}

/// Returns the message of a 400, without the position in the text.
fn refusal(server: &Server, browser: &Browser, body: &Value) -> String {
    let refused = ask(server, browser, body);
    assert_eq!(
        (refused.status, &refused.json()["code"]),
        (400, &json!("INVALID_REQUEST")),
        "{}",
        refused.text
    );
    text(&refused.json()["error"]).split(" at line ").next().unwrap().to_owned()
}

/// Returns the event codes about SSO connections in the tenant's audit log, oldest first.
fn recorded_changes(server: &Server, tenant: &Tenant) -> Vec<String> {
    let mut entries = server.entries(tenant);
    entries.reverse();
    entries.retain(|entry| entry.resource_type == "saml_provider");
    entries.iter().map(|entry| entry.action.replace("ACCOUNT_SAML_PROVIDER_", "")).collect()
}
