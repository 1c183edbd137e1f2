//! A stolen session or token of an administrator tries to lock out other administrators, or to create accounts for
//! later access.

use directory::Role;
use serde_json::json;
use store::testing::Kind;

use crate::support::{Answer, MailServer, Server, on_both};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

fn kind_refused(answer: &Answer) {
    assert_eq!(
        (answer.status, &answer.json()["reason"]),
        (403, &json!("CREDENTIAL_KIND")),
        "{}",
        answer.text
    );
}

#[test]
fn session_without_a_step_up_cannot_disable_an_administrator() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, stolen) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
        let (other, victim) = server.signed_in(&tenant, "other@example.com", Role::Admin);
        let member = server.person(&tenant, "member@example.com", Role::Member);
        let minted = server
            .proved(&stolen, "PAT_MINT_ADMIN")
            .post("/api/me/tokens", &json!({ "name": "x", "scopes": ["admin:tenant"] }));
        let pat = server.anonymous().bearer(minted.json()["token"].as_str().unwrap());
        let path = format!("/api/settings/users/{}", other.id);
        let (off, on) = (json!({ "active": false }), json!({ "active": true }));
        let by_pat =
            |body: &serde_json::Value| pat.send("PATCH", &path, Some("application/json"), &body.to_string());
        is(&stolen.send("PATCH", &path, Some(&off)), 401, "STEP_UP_REQUIRED");
        kind_refused(&by_pat(&off));
        assert_eq!(victim.get("/api/me").status, 200);
        // Enabling a disabled administrator requires a step-up, too.
        let proved = server.proved(&stolen, "USER_ADMIN_CHANGE");
        assert_eq!(proved.send("PATCH", &path, Some(&off)).status, 200);
        is(&victim.get("/api/me"), 401, "ACCOUNT_DISABLED");
        is(&stolen.send("PATCH", &path, Some(&on)), 401, "STEP_UP_REQUIRED");
        kind_refused(&by_pat(&on));
        // Requests without a change need no step-up, and members are not affected.
        for body in [json!({}), off.clone()] {
            assert_eq!(stolen.send("PATCH", &path, Some(&body)).status, 200, "{body}");
            assert_eq!(by_pat(&body).status, 200, "{body}");
        }
        let path = format!("/api/settings/users/{}", member.id);
        let before = server.entries(&tenant).len();
        for body in [json!({}), on.clone()] {
            let answer = stolen.send("PATCH", &path, Some(&body));
            assert_eq!((answer.status, &answer.json()["active"]), (200, &json!(true)), "{body}");
        }
        assert_eq!(server.entries(&tenant).len(), before, "the attack recorded nothing");
        assert_eq!(stolen.send("PATCH", &path, Some(&off)).status, 200);
    });
}

#[test]
fn token_never_receives_the_link_of_an_invitation() {
    let mail = MailServer::start();
    for kind in Kind::ALL {
        for url in [None, Some(format!("smtp://{}", mail.address))] {
            let settings: Vec<_> = url.iter().map(|url| ("smtp_url", url.as_str())).collect();
            let server = Server::start(kind, &settings);
            let tenant = server.tenant("acme");
            let (_, admin) = server.signed_in(&tenant, "admin@example.com", Role::Admin);
            let minted = server
                .proved(&admin, "PAT_MINT_ADMIN")
                .post("/api/me/tokens", &json!({ "name": "x", "scopes": ["admin:tenant"] }));
            let pat = server.anonymous().bearer(minted.json()["token"].as_str().unwrap());
            let invite = |body: &str| pat.send("POST", "/api/settings/users", Some("application/json"), body);
            let answer = invite(r#"{ "email": "mine@example.com" }"#);
            assert!(!answer.text.contains("#link="), "{}", answer.text);
            if url.is_some() {
                assert_eq!((answer.status, answer.json().get("link")), (200, None), "{}", answer.text);
            } else {
                kind_refused(&answer);
                kind_refused(&invite("nonsense"));
                let people = admin.get("/api/settings/users").json();
                assert_eq!(people["users"].as_array().unwrap().len(), 1, "no user was created");
                assert!(answer.json()["error"].as_str().unwrap().contains("smtp_url"));
            }
        }
    }
}
