//! Invitations of several users at once.

use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Server, on_both};

const INVITATIONS: &str = "/api/settings/users/invitations";

#[test]
fn administrators_are_invited_with_one_step_up() {
    on_both(|server| {
        let (acme, other) = (server.tenant("acme"), server.tenant("other"));
        let (_, admin) = server.signed_in(&acme, "admin@example.com", Role::Admin);
        server.signed_in(&other, "ada@example.com", Role::Member);
        let emails = ["ada@example.com", "Admin@Example.com", "bob@example.com", " ADA@example.com "];
        let body = json!({ "emails": emails, "role": "ADMIN" });
        let refused = admin.post(INVITATIONS, &body);
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("STEP_UP_REQUIRED")));
        let proved = server.proved(&admin, "USER_ADMIN_CHANGE");
        let answer = proved.post(INVITATIONS, &body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let answer = answer.json();
        let [ada, taken, bob] = &answer["invitations"].as_array().unwrap()[..] else { panic!("{answer}") };
        assert_eq!(taken["error"], "Another user of this tenant has this address.");
        assert_eq!((taken.get("userId"), taken.get("link")), (None, None));
        for (invited, email) in [(ada, "ada@example.com"), (bob, "bob@example.com")] {
            assert_eq!((&invited["email"], invited.get("error")), (&json!(email), None));
            let user = admin.get(&format!("/api/settings/users/{}", invited["userId"].as_str().unwrap()));
            assert_eq!(user.json()["role"], "ADMIN");
            let token = invited["link"].as_str().unwrap().split_once("#link=").unwrap().1;
            let redeem = json!({ "token": token, "password": "a new and longer one" });
            let redeemed = server.browser().post("/api/auth/links/redeem", &redeem);
            assert_eq!(redeemed.json()["status"], "SIGNED_IN", "{}", redeemed.text);
        }
        let entries = server.entries(&acme);
        let count = |action: &str| entries.iter().filter(|entry| entry.action == action).count();
        assert_eq!((count("ACCOUNT_USER_INVITED"), count("ACCOUNT_STEPUP_CONSUMED")), (2, 1));
        // The token was consumed.
        assert_eq!(proved.post(INVITATIONS, &body).json()["code"], "STEP_UP_INVALID");
    });
}

#[test]
fn malformed_list_invites_nobody() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let many: Vec<_> = (0..101).map(|number| format!("user{number}@example.com")).collect();
        for (emails, error) in [
            (json!([]), "emails: must have 1 to 100 addresses"),
            (json!(many), "emails: must have 1 to 100 addresses"),
            (json!(["ada@example.com", "nobody"]), "emails[1]: \"nobody\" is not an email address"),
        ] {
            let answer = admin.post(INVITATIONS, &json!({ "emails": emails }));
            assert_eq!((answer.status, &answer.json()["error"]), (400, &json!(error)));
        }
        assert_eq!(admin.get("/api/settings/users").json()["users"].as_array().map(Vec::len), Some(1));
        let all = admin.post(INVITATIONS, &json!({ "emails": many[..100] })).json();
        assert!(all["invitations"].as_array().unwrap().iter().all(|one| one["link"].is_string()), "{all}");
    });
}

#[test]
fn user_whose_mail_fails_is_named() {
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start(Kind::Sqlite, &[("smtp_url", &format!("smtp://{gone}"))]);
    let tenant = server.tenant("acme");
    let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
    let answer = admin.post(INVITATIONS, &json!({ "emails": ["ada@example.com"] }));
    let outcome: &Value = &answer.json()["invitations"][0];
    assert_eq!(
        outcome["error"],
        "The mail may not have been sent. If it does not arrive, create a link on the user's page."
    );
    assert!(outcome["userId"].is_string() && outcome.get("link").is_none(), "{outcome}");
}
