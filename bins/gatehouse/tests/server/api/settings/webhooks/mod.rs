//! Webhooks, from the configuration to the receiver.

mod changes;
mod deliveries;
mod failures;
mod signatures;

use data_encoding::HEXLOWER;
use directory::Role;
use ring::hmac;
use serde_json::json;

use crate::support::{Browser, Received, Server, Tenant};

const WEBHOOKS: &str = "/api/settings/webhooks";

fn admin(server: &Server, slug: &str) -> (Tenant, Browser) {
    let tenant = server.tenant(slug);
    let (_, browser) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
    (tenant, browser)
}

/// Creates a webhook. Returns its path and secret.
fn subscribe(browser: &Browser, url: &str, filters: &[&str]) -> (String, String) {
    let made = browser.post(WEBHOOKS, &json!({ "name": "test", "url": url, "eventFilters": filters }));
    assert_eq!(made.status, 200, "{}", made.text);
    let made = made.json();
    let text = |name: &str| made[name].as_str().unwrap().to_owned();
    (format!("{WEBHOOKS}/{}", text("id")), text("secret"))
}

fn create_user(tenant: &Tenant, name: &str) -> String {
    let made = tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": name }));
    assert_eq!(made.status, 201, "{}", made.text);
    made.json()["id"].as_str().unwrap().to_owned()
}

/// Computes `v1=` and the hexadecimal HMAC of section 5.2 independently.
fn signature(secret: &str, received: &Received) -> String {
    let message = format!("{}.{}", received.header("x-service-timestamp"), received.body);
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("v1={}", HEXLOWER.encode(hmac::sign(&key, message.as_bytes()).as_ref()))
}
