//! What has happened, as administrators look it up.

use directory::Role;
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Server, Tenant, on_both};

const LOG: &str = "/api/settings/audit-log";

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn get(browser: &Browser, query: &str) -> Value {
    let answer = browser.get(&format!("{LOG}{query}"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()
}

fn actions(page: &Value) -> Vec<String> {
    let entries = page["entries"].as_array().unwrap().iter();
    entries.map(|entry| entry["action"].as_str().unwrap().to_owned()).collect()
}

/// Users by an identity provider, one by one.
fn provision(server: &Server, tenant: &Tenant, names: &[&str]) -> Vec<String> {
    let create = |name: &&str| {
        server.env.advance(std::time::Duration::from_millis(5));
        let made = tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": name }));
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    };
    names.iter().map(create).collect()
}

#[test]
fn administrators_look_up_what_has_happened_and_who_did_it() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        assert_eq!(member.get(LOG).json()["reason"], "ROLE_REQUIRED");
        let users = provision(server, &tenant, &["one", "two", "three"]);
        server.env.advance(std::time::Duration::from_millis(5));
        assert_eq!(tenant.scim.delete(&format!("/api/scim/v2/Users/{}", users[1])).status, 204);

        let page = get(&admin, "?userId=sct_none");
        assert_eq!(page, json!({ "entries": [], "nextCursor": null }));
        let by_provider = get(&admin, &format!("?userId={}", tenant.token_id));
        let created = "ACCOUNT_USER_CREATED";
        assert_eq!(actions(&by_provider), ["ACCOUNT_USER_DELETED", created, created, created]);
        let entry = &by_provider["entries"][0];
        assert!(entry["id"].as_str().unwrap().starts_with("aud_"));
        let actor = json!({ "id": tenant.token_id.as_str(), "type": "SCIM", "name": entry["actor"]["name"] });
        assert_eq!(entry["actor"], actor);
        assert!(entry["actor"]["name"].is_string(), "what the token is called");
        assert_eq!((&entry["resourceType"], &entry["resourceId"]), (&json!("user"), &json!(users[1])));
        assert_eq!((&entry["ip"], entry["metadata"].is_object()), (&json!("127.0.0.1"), true));

        // Each filter, and several.
        let about = get(&admin, &format!("?resourceId={}", users[0]));
        assert_eq!(actions(&about), [created]);
        let deleted = get(&admin, "?action=ACCOUNT_USER_DELETED,ACCOUNT_USER_REACTIVATED");
        assert_eq!(actions(&deleted), ["ACCOUNT_USER_DELETED"]);
        let started = get(&admin, &format!("?action=ACCOUNT_SESSION_*&userId={}", ada.id));
        assert_eq!(actions(&started), ["ACCOUNT_SESSION_STARTED"]);
        assert_eq!(started["entries"][0]["actor"]["name"], "ada@example.com");
        let kinds = get(&admin, "?resourceType=session&limit=200");
        assert!(kinds["entries"].as_array().unwrap().iter().all(|entry| entry["resourceType"] == "session"));
        let text = get(&admin, &format!("?q={}&action=ACCOUNT_USER_*", users[2].to_uppercase()));
        assert_eq!(actions(&text), [created]);
        let times: Vec<_> = by_provider["entries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["timestamp"].as_str().unwrap())
            .collect();
        let between = format!("?from={}&to={}&userId={}", times[2], times[0], tenant.token_id);
        assert_eq!(actions(&get(&admin, &between)), [created, created], "the end is not within");
        // Another tenant's ledger is nobody's business.
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "eve@example.com", Role::Admin);
        assert_eq!(get(&stranger, &format!("?resourceId={}", users[0]))["entries"], json!([]));
        let program = server.write(&tenant.id, async move |ctx, tx| {
            let scopes = vec![tokens::Scope::AdminTenant];
            let new = tokens::pat::NewPat { name: "SIEM".into(), scopes, expires_in_days: None };
            Ok(tokens::pat::mint(ctx, tx, &ada.id, new).await.unwrap().1)
        });
        let pulling = server.browser().with("Authorization", &format!("Bearer {}", program.expose()));
        assert_eq!(get(&pulling, "?limit=1")["entries"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn pages_follow_a_cursor_of_the_same_search() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let names: Vec<_> = (0..9).map(|number| format!("user-{number}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let users = provision(server, &tenant, &names);
        let search = format!("userId={}&action=ACCOUNT_USER_CREATED", tenant.token_id);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        loop {
            let page = get(&admin, &format!("?{search}&limit=4{cursor}"));
            seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["resourceId"].clone()));
            provision(server, &tenant, &[&format!("late-{}", seen.len())]);
            let Some(next) = page["nextCursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        let expected: Vec<_> = users.iter().rev().map(|id| json!(id)).collect();
        assert_eq!(seen, expected, "newest first, and not those that came meanwhile");
        for query in [
            format!("?userId={}&limit=4{cursor}", tenant.token_id),
            format!("?{search}&cursor=nonsense"),
            format!("?{search}{cursor}x"),
        ] {
            is(&admin.get(&format!("{LOG}{query}")), 400, "INVALID_CURSOR");
        }
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "eve@example.com", Role::Admin);
        is(&stranger.get(&format!("{LOG}?{search}{cursor}")), 400, "INVALID_CURSOR");
    });
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        for (query, begins) in [
            ("from=yesterday", "from: write a time"),
            ("to=2026-13-01T00:00:00Z", "to: write a time"),
            ("action=ACCOUNT_*_CREATED", "action: \"ACCOUNT_*_CREATED\" is neither"),
            ("action=,", "action: \"\" is neither"),
            ("limit=0", "limit: "),
        ] {
            let refused = admin.get(&format!("{LOG}?{query}"));
            is(&refused, 400, "INVALID_REQUEST");
            let error = refused.json()["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with(begins), "{error}");
        }
        is(&admin.get(&format!("{LOG}?q={}", "x".repeat(201))), 400, "INVALID_REQUEST");
        // What is empty is not looked for.
        assert!(!get(&admin, "?userId=&action=&q=&from=&cursor=")["entries"].as_array().unwrap().is_empty());
        assert_eq!(get(&admin, "?action=NOTHING_*")["entries"], json!([]));
    });
}
