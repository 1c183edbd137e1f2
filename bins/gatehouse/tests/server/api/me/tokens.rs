//! `/api/me/tokens`: personal access tokens and their scopes.

use std::time::Duration;

use directory::Role;
use serde_json::json;

use crate::support::{Answer, Browser, on_both};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn reason(answer: &Answer) -> (u16, String) {
    (answer.status, answer.json()["reason"].as_str().unwrap_or_default().to_owned())
}

fn mint(browser: &Browser, scopes: &[&str]) -> String {
    let made = browser.post("/api/me/tokens", &json!({ "name": "CI", "scopes": scopes }));
    assert_eq!(made.status, 200, "{}", made.text);
    made.json()["token"].as_str().unwrap().to_owned()
}

#[test]
fn token_allows_only_what_its_scopes_permit() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let anybody = server.anonymous();
        let by = |token: &str| anybody.bearer(token);
        let token = mint(&browser, &["read:profile"]);
        assert!(token.starts_with("pat_") && token.len() == 69, "{token}");
        assert_eq!(by(&token).get("/api/me").json()["id"], ada.id.as_str());
        assert_eq!(reason(&by(&token).get("/api/people")), (403, "SCOPE_REQUIRED:read:hcm".into()));
        let patch = |token: &str| {
            let body = json!({ "displayName": "Ada" }).to_string();
            by(token).send("PATCH", "/api/me", Some("application/json"), &body)
        };
        assert_eq!(reason(&patch(&token)), (403, "SCOPE_REQUIRED:write:profile".into()));
        assert_eq!(patch(&mint(&browser, &["write:profile"])).json()["displayName"], "Ada");
        let people = mint(&browser, &["read:hcm", "write:hcm"]);
        assert_eq!(by(&people).get("/api/people").json()["users"].as_array().unwrap().len(), 2);
        let path = format!("/api/people/{}", ada.id);
        let title = json!({ "title": "Countess", "department": "Engines" }).to_string();
        let change = |token: &str| by(token).send("PATCH", &path, Some("application/json"), &title);
        assert_eq!(reason(&change(&people)), (403, "ROLE_REQUIRED".into()));
        let changed = change(&mint(&admin, &["write:hcm"])).json();
        assert_eq!((&changed["title"], &changed["department"]), (&json!("Countess"), &json!("Engines")));

        // Endpoints that accept no token.
        for path in ["/api/me/sessions", "/api/me/tokens", "/api/me/factors"] {
            assert_eq!(reason(&by(&token).get(path)), (403, "CREDENTIAL_KIND".into()), "{path}");
        }
        assert_eq!(reason(&by(&token).get("/api/scim/v2/Users")), (403, "CREDENTIAL_KIND".into()));
        assert_eq!(
            reason(&by(&token).get("/api/settings/users")),
            (403, "SCOPE_REQUIRED:admin:tenant".into())
        );

        let listed = browser.get("/api/me/tokens").json();
        assert_eq!(listed["tokens"].as_array().unwrap().len(), 3);
        assert!(!listed.to_string().contains("pat_"), "shown once");
        let id = listed["tokens"][2]["id"].as_str().unwrap();
        assert_eq!(browser.delete(&format!("/api/me/tokens/{id}")).text, r#"{"deleted":true}"#);
        is(&browser.delete(&format!("/api/me/tokens/{id}")), 404, "NOT_FOUND");
        is(&admin.delete(&format!("/api/me/tokens/{id}")), 404, "NOT_FOUND");
        is(&by(&token).get("/api/me"), 401, "UNAUTHENTICATED");
        let path = format!("/api/scim/v2/Users/{}", ada.id);
        let off = json!([{ "op": "replace", "path": "active", "value": false }]);
        assert_eq!(tenant.scim.operations(&path, &off).status, 200);
        is(&by(&people).get("/api/people"), 401, "ACCOUNT_DISABLED");
    });
}

#[test]
fn administrator_tokens_require_a_step_up_and_end_with_the_role() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, member) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let (admin, browser) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let body = json!({ "name": "x", "scopes": ["admin:tenant"], "expiresInDays": 1 });
        assert_eq!(reason(&member.post("/api/me/tokens", &body)), (403, "ROLE_REQUIRED".into()));
        let asked = browser.post("/api/me/tokens", &body);
        is(&asked, 401, "STEP_UP_REQUIRED");
        assert_eq!(asked.header("www-authenticate"), "StepUp purpose=PAT_MINT_ADMIN");
        let proved = server.proved(&browser, "PAT_MINT_ADMIN");
        let token = proved.post("/api/me/tokens", &body).json()["token"].as_str().unwrap().to_owned();
        let by = server.anonymous().bearer(&token);
        assert_eq!(by.get("/api/settings/sign-in-policy").status, 200);
        assert_eq!(by.get("/api/settings/users").status, 200);
        let send = |method: &str, path: &str, body: serde_json::Value| {
            by.send(method, path, Some("application/json"), &body.to_string())
        };
        let own = format!("/api/settings/users/{}", admin.id);
        let refused = [
            ("PUT", "/api/settings/sign-in-policy".to_owned(), json!({})),
            ("POST", "/api/settings/users".to_owned(), json!({ "email": "m@example.com", "role": "ADMIN" })),
            // Mail is not configured: the response would contain the link.
            ("POST", "/api/settings/users".to_owned(), json!({ "email": "n@example.com" })),
            ("PATCH", own.clone(), json!({ "role": "MEMBER" })),
            ("PATCH", own.clone(), json!({ "email": "m@example.com" })),
            ("DELETE", own.clone(), json!({})),
            ("POST", format!("{own}/reset-password"), json!({})),
            ("POST", format!("{own}/reset-factors"), json!({})),
        ];
        for (method, path, body) in refused {
            assert_eq!(
                reason(&send(method, &path, body)),
                (403, "CREDENTIAL_KIND".into()),
                "{method} {path}"
            );
        }
        let id = admin.id.clone();
        server.write(&tenant.id, async move |ctx, tx| {
            let before = directory::PeopleStore::person(tx, &id).await?.unwrap();
            let after = directory::Person { role: Role::Member, updated_at: ctx.now, ..before.clone() };
            directory::PeopleStore::update_person(tx, &before, &after).await
        });
        assert_eq!(reason(&by.get("/api/settings/users")), (403, "ROLE_REQUIRED".into()));
        server.env.advance(Duration::from_hours(24));
        is(&by.get("/api/settings/users"), 401, "UNAUTHENTICATED");
    });
}

#[test]
fn invalid_token_settings_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let odd = [
            (json!({ "name": "", "scopes": ["read:hcm"] }), "name: "),
            (json!({ "name": "x", "scopes": [] }), "scopes: "),
            (json!({ "name": "x", "scopes": ["read:all"] }), "scopes[0]: "),
            (json!({ "name": "x", "scopes": ["read:hcm"], "expiresInDays": 0 }), "expiresInDays: "),
            (json!({ "name": "x", "scopes": ["read:hcm"], "more": 0 }), "more: "),
        ];
        for (body, path) in odd {
            let answer = browser.post("/api/me/tokens", &body);
            let text = answer.json()["error"].as_str().unwrap().to_owned();
            assert!(answer.status == 400 && text.starts_with(path), "{body}: {text}");
        }
    });
}
