//! The setup of a new server with its link.

use std::{sync::Barrier, time::Duration};

use directory::Role;
use kernel::Env;
use serde_json::{Value, json};
use sign_in::SetupKeys;
use store::testing::Kind;

use crate::support::{Answer, ORIGIN, Process, Server, masters, on_both};

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "four tall blue towers";

fn token_of(server: &Server) -> String {
    let link = SetupKeys::derive(&masters()).link(ORIGIN, server.env.now()).unwrap();
    link.split_once("/setup#token=").unwrap().1.to_owned()
}

fn body(token: &str, slug: &str) -> Value {
    json!({ "token": token, "name": "Acme Ltd", "slug": slug, "email": EMAIL, "password": PASSWORD })
}

fn is_dead(answer: &Answer) {
    assert_eq!((answer.status, &answer.json()["code"]), (401, &json!("LINK_INVALID")), "{}", answer.text);
    let error = answer.json()["error"].as_str().unwrap().to_owned();
    assert!(error.ends_with("gatehouse setup"), "says what to do: {error}");
}

#[test]
fn link_creates_the_first_administrator_once() {
    on_both(|server| {
        let browser = server.browser();
        assert_eq!(browser.get("/").header("location"), "/setup");
        assert!(browser.get("/setup").text.contains("gatehouse setup"));
        let token = token_of(server);
        let post = |body: &Value| browser.post("/api/auth/setup", body);

        // Refused input does not use the link up.
        for (name, value) in [
            ("email", "nobody"),
            ("slug", "-"),
            ("name", ""),
            ("password", "short"),
            ("password", "ada@example.com!"),
        ] {
            let mut wrong = body(&token, "acme");
            wrong[name] = json!(value);
            let refused = post(&wrong);
            assert_eq!(refused.status, 400, "{name}: {}", refused.text);
        }
        is_dead(&post(&body("", "acme")));
        is_dead(&post(&body(&format!("{token}A"), "acme")));

        let done = post(&body(&token, "acme"));
        assert_eq!((done.status, &done.json()["status"]), (200, &json!("SIGNED_IN")), "{}", done.text);
        let me = browser.get("/api/me").json();
        assert_eq!((&me["email"], &me["role"]), (&json!(EMAIL), &json!("ADMIN")));
        let log = browser.get("/api/settings/audit-log").json();
        for action in ["ACCOUNT_TENANT_CREATED", "ACCOUNT_USER_CREATED", "ACCOUNT_SIGN_IN_SUCCEEDED"] {
            let entries = log["entries"].as_array().unwrap();
            assert_eq!(entries.iter().filter(|entry| entry["action"] == action).count(), 1, "{log}");
        }

        // The link is dead, and so is a new one. The pages say so.
        is_dead(&server.browser().post("/api/auth/setup", &body(&token, "other")));
        is_dead(&server.browser().post("/api/auth/setup", &body(&token_of(server), "other")));
        assert_eq!(server.browser().get("/").header("location"), "/account/security");
        assert!(server.browser().get("/setup").text.contains("Setup links no longer work"));
        assert_eq!(server.browser().sign_in(EMAIL, PASSWORD).status, 200);
    });
}

#[test]
fn link_expires_and_needs_a_server_without_administrators() {
    on_both(|server| {
        let token = token_of(server);
        server.env.advance(Duration::from_hours(24));
        is_dead(&server.browser().post("/api/auth/setup", &body(&token, "acme")));
        // A tenant of the operator without an administrator does not end the setup. Its slug is taken.
        let tenant = server.tenant("acme");
        let taken = server.browser().post("/api/auth/setup", &body(&token_of(server), "acme"));
        assert_eq!((taken.status, &taken.json()["code"]), (409, &json!("uniqueness")), "{}", taken.text);
        server.signed_in(&tenant, "admin@example.com", Role::Admin);
        is_dead(&server.browser().post("/api/auth/setup", &body(&token_of(server), "other")));
    });
}

#[test]
fn of_concurrent_setups_one_succeeds() {
    on_both(|server| {
        let (token, start) = (token_of(server), Barrier::new(4));
        let statuses = std::thread::scope(|scope| {
            let posts: Vec<_> = (0..4)
                .map(|number| {
                    let (token, start) = (&token, &start);
                    scope.spawn(move || {
                        let browser = server.browser();
                        start.wait();
                        browser.post("/api/auth/setup", &body(token, &format!("acme-{number}"))).status
                    })
                })
                .collect();
            posts.into_iter().map(|post| post.join().unwrap()).collect::<Vec<_>>()
        });
        let count = |status: u16| statuses.iter().filter(|one| **one == status).count();
        assert_eq!((count(200), count(401)), (1, 3), "{statuses:?}");
    });
}

#[test]
fn command_prints_a_link_until_an_administrator_exists() {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        let process = Process::on(kind, &[]);
        process.tenant("acme");
        let link = process.json(&["setup"])["link"].as_str().unwrap().to_owned();
        assert!(link.contains("/setup#token="), "{link}");
        process.json(&["user", "create", "--tenant", "acme", "--email", EMAIL, "--role", "ADMIN"]);
        let (status, text) = process.refused(&["setup"]);
        assert_eq!((status, text.contains("gatehouse user reset")), (1, true), "{text}");
    }
}
