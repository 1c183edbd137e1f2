//! Another tenant invites the address of a user whose session was started by another issuer.

use directory::Role;
use serde_json::json;

use crate::{api::auth::foreign::token, support::on_both};

#[test]
fn session_of_another_issuer_survives_an_invitation_by_another_tenant() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let browser = server.browser();
        browser.set("authjs.session-token", &token(server, json!({ "email": "ada@example.com" })));
        assert_eq!(browser.get("/api/me").json()["id"], ada.id.as_str());
        let hostile = server.tenant("hostile");
        server.person(&hostile, "ada@example.com", Role::Member);
        assert_eq!(browser.get("/api/me").json()["id"], ada.id.as_str(), "the stored user decides");
        // A token that was never used names no tenant, and two tenants have the address.
        let other = server.browser();
        other.set("authjs.session-token", &token(server, json!({ "email": "ada@example.com", "n": 2 })));
        assert_eq!(other.get("/api/me").json()["code"], "NOT_PROVISIONED");
    });
}
