//! Users: the caller's own profile, the tenant's users, and changes by administrators.

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, on_both};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn patch(browser: &Browser, path: &str, body: &Value) -> Answer {
    browser.send("PATCH", path, Some(body))
}

#[test]
fn profile_change_keeps_other_provisioned_attributes() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let user = json!({
            "userName": "ada", "displayName": "A", "title": "T",
            "emails": [{ "value": "ada@example.com", "type": "work" }],
            "phoneNumbers": [{ "value": "1", "type": "work", "display": "one" }, { "value": "2" }],
            "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User": { "department": "D", "costCenter": "9" },
        });
        let made = tenant.scim.post("/api/scim/v2/Users", &user).json();
        let id: kernel::UserId = made["id"].as_str().unwrap().parse().unwrap();
        server.set_password(&tenant, &id, "ada@example.com");
        let browser = server.browser();
        assert_eq!(browser.sign_in("ada@example.com", "correct horse and more").status, 200);
        let me = browser.get("/api/me").json();
        assert_eq!((&me["department"], &me["userName"]), (&json!("D"), &json!("ada")));
        let body = json!({ "displayName": null, "phoneNumbers": [{ "value": "1", "type": "work" }] });
        let me = patch(&browser, "/api/me", &body).json();
        assert_eq!((&me["displayName"], &me["title"]), (&json!(null), &json!("T")));
        let kept = tenant.scim.get(&format!("/api/scim/v2/Users/{}", made["id"].as_str().unwrap())).json();
        assert_eq!(kept["phoneNumbers"], json!([{ "value": "1", "type": "work", "display": "one" }]));
        assert_eq!(kept["urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"]["costCenter"], "9");
        assert_eq!(kept.get("displayName"), None);
        is(&patch(&browser, "/api/me", &json!({ "email": "x@example.com" })), 400, "INVALID_REQUEST");
        is(&patch(&browser, "/api/me", &json!({ "displayName": "" })), 400, "INVALID_REQUEST");
    });
}

#[test]
fn last_administrator_cannot_be_demoted_disabled_or_deleted() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (first, browser) = server.signed_in(&tenant, "first@example.com", Role::Admin);
        let second = server.person(&tenant, "second@example.com", Role::Member);
        let proved = server.proved(&browser, "USER_ADMIN_CHANGE");
        let path = |id: &kernel::UserId| format!("/api/settings/users/{id}");
        is(&patch(&browser, &path(&second.id), &json!({ "role": "ADMIN" })), 401, "STEP_UP_REQUIRED");
        for refused in [
            patch(&proved, &path(&first.id), &json!({ "role": "MEMBER" })),
            patch(&proved, &path(&first.id), &json!({ "active": false })),
            proved.delete(&path(&first.id)),
        ] {
            assert_eq!(
                (refused.status, &refused.json()["reason"]),
                (409, &json!("LAST_ADMIN")),
                "{}",
                refused.text
            );
        }
        assert_eq!(patch(&proved, &path(&second.id), &json!({ "role": "ADMIN" })).json()["role"], "ADMIN");
        let proved = server.proved(&browser, "USER_ADMIN_CHANGE");
        assert_eq!(patch(&proved, &path(&first.id), &json!({ "role": "MEMBER" })).status, 200);
        let refused = browser.get("/api/settings/users");
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("ROLE_REQUIRED")), "at once");
    });
}

#[test]
fn address_change_moves_the_sign_in_and_addresses_are_unique() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let proved = server.proved(&browser, "USER_ADMIN_CHANGE");
        let path = format!("/api/settings/users/{}", ada.id);
        is(&patch(&proved, &path, &json!({ "email": "ADMIN@example.com" })), 409, "uniqueness");
        let moved = patch(&proved, &path, &json!({ "email": "lovelace@example.com" })).json();
        assert_eq!(
            (&moved["email"], &moved["userName"]),
            (&json!("lovelace@example.com"), &json!("lovelace@example.com"))
        );
        is(&server.browser().sign_in("ada@example.com", ada.password), 401, "INVALID_CREDENTIALS");
        assert_eq!(server.browser().sign_in("lovelace@example.com", ada.password).status, 200);
    });
}

#[test]
fn lists_are_paged_and_contain_only_the_own_tenant() {
    on_both(|server| {
        let (acme, globex) = (server.tenant("acme"), server.tenant("globex"));
        let (_, browser) = server.signed_in(&acme, "admin@example.com", Role::Admin);
        let (_, other) = server.signed_in(&globex, "other@example.com", Role::Admin);
        for number in 0..4 {
            server.person(&acme, &format!("u{number}@example.com"), Role::Member);
        }
        let mut seen = Vec::new();
        let mut path = "/api/people?limit=2".to_owned();
        loop {
            let page = browser.get(&path).json();
            for person in page["users"].as_array().unwrap() {
                seen.push(person["email"].as_str().unwrap().to_owned());
            }
            let Some(cursor) = page["nextCursor"].as_str() else { break };
            is(&other.get(&format!("/api/people?cursor={cursor}")), 400, "INVALID_CURSOR");
            path = format!("/api/people?limit=2&cursor={cursor}");
        }
        assert_eq!(seen.len(), 5, "{seen:?}");
        is(&browser.get("/api/people?limit=x"), 400, "INVALID_REQUEST");
        let foreign = other.get("/api/people").json()["users"][0]["id"].as_str().unwrap().to_owned();
        is(&browser.get(&format!("/api/people/{foreign}")), 404, "NOT_FOUND");
        is(&browser.get(&format!("/api/settings/users/{foreign}")), 404, "NOT_FOUND");
    });
}
