//! What events do to sessions and accounts.

use std::time::{Duration, Instant};

use directory::{NewPerson, Role};
use kernel::Env;
use serde_json::json;

use super::Site;
use crate::support::{Browser, Server, code, on_both};

#[test]
fn session_revoked_ends_all_sessions_of_the_user_everywhere() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        let [user, _] = ["ada@corp.example", "bob@corp.example"]
            .map(|email| server.person(&site.oidc.tenant, email, Role::Member));
        let [first, second] = ["s1", "s2"].map(|sid| site.signed_in(server, "ada@corp.example", sid));
        let other = site.signed_in(server, "bob@corp.example", "s3");
        server.env.advance(Duration::from_mins(2));
        let subject = site.user("ada@corp.example");
        let claims = site.claims("e1", "session-revoked", &subject, server.env.now());
        let answer = site.post(server, &site.token(&claims));
        assert_eq!((answer.status, answer.header("cache-control")), (202, "no-store"), "{}", answer.text);
        for browser in [&first, &second] {
            let ended = browser.get("/api/me");
            assert_eq!((ended.status, &ended.json()["code"]), (401, &json!("SESSION_REVOKED")));
        }
        server.second(|address| assert_eq!(first.at(address).get("/api/me").status, 401));
        assert_eq!(other.get("/api/me").status, 200);
        let entry = site.received(server, "e1");
        assert_eq!((&entry["outcome"], &entry["sessions"]), (&json!("SESSIONS_ENDED"), &json!(2)), "{entry}");
        assert_eq!(entry["user"], json!(user.id));
        let ended = site.entries(server, "ACCOUNT_SESSIONS_REVOKED");
        assert_eq!(ended[0]["why"], "SIGNAL");

        // A repeated token is accepted, and ends no session that began since.
        let again = site.signed_in(server, "ada@corp.example", "s4");
        assert_eq!(site.post(server, &site.token(&claims)).status, 202);
        assert_eq!(again.get("/api/me").status, 200);
        site.received(server, "e1");
        let shown = site.oidc.admin.get(&site.settings()).json();
        assert!(shown["receivedAt"].is_string(), "{shown}");
    });
}

#[test]
fn sessions_end_on_every_instance_at_once() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let user = site.user("ada@corp.example");
        let mut delays = Vec::new();
        server.second(|address| {
            for round in 0..30 {
                let browser = site.signed_in(server, "ada@corp.example", "s1");
                assert_eq!(browser.at(address).get("/api/me").status, 200);
                let claims = site.claims(&format!("e{round}"), "session-revoked", &user, server.env.now());
                let token = site.token(&claims);
                let start = Instant::now();
                assert_eq!(site.post(server, &token).status, 202);
                assert_eq!(browser.at(address).get("/api/me").status, 401, "round {round}");
                delays.push(start.elapsed());
            }
        });
        delays.sort();
        println!(
            "from the request to 401 on another instance: median {:?}, maximum {:?}",
            delays[15], delays[29]
        );
        assert!(delays[15] < Duration::from_millis(100), "{delays:?}");
    });
}

#[test]
fn events_end_the_named_session_and_none_that_began_later() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let [first, second] = ["s1", "s2"].map(|sid| site.signed_in(server, "ada@corp.example", sid));
        let user = site.user("ada@corp.example");
        let session = json!({ "format": "opaque", "id": "s1" });
        let subject = json!({ "format": "complex", "user": user, "session": session });
        site.accepted(server, "e1", "session-revoked", &subject);
        assert_eq!((first.get("/api/me").status, second.get("/api/me").status), (401, 200));
        assert_eq!(site.entries(server, "ACCOUNT_SESSION_REVOKED")[0]["why"], "SIGNAL");
        // A sign-in through the ended session that comes late.
        let late = site.oidc.sign_in_with(server, &server.browser(), "ada@corp.example", |claims| {
            claims.insert("sid".into(), "s1".into());
        });
        assert_eq!(late.status, 401);
        // The subject is the session by itself.
        site.accepted(server, "e2", "session-revoked", &json!({ "format": "opaque", "id": "s2" }));
        assert_eq!(second.get("/api/me").status, 401);
        // A session at the provider that has not started any here.
        site.accepted(server, "unknown", "session-revoked", &json!({ "format": "opaque", "id": "s3" }));
        assert_eq!(site.received(server, "unknown")["reason"], "SUBJECT_UNKNOWN");
        let late = site.oidc.sign_in_with(server, &server.browser(), "ada@corp.example", |claims| {
            claims.insert("sid".into(), "s3".into());
        });
        assert_eq!(late.status, 401);

        let event = server.env.now();
        server.env.advance(Duration::from_mins(10));
        let later = site.signed_in(server, "ada@corp.example", "s5");
        site.accepted_at(server, "e3", "session-revoked", &user, event);
        assert_eq!(later.get("/api/me").status, 200, "the session began after the event");
        assert_eq!(site.received(server, "e3")["reason"], "SESSIONS_BEGAN_LATER");
        site.accepted(server, "e4", "session-revoked", &user);
        assert_eq!(later.get("/api/me").status, 401);
    });
}

fn with_app(server: &Server, browser: &Browser) -> String {
    let app = browser.post("/api/me/factors/totp", &json!({})).json();
    let secret = app["secret"].as_str().unwrap().to_owned();
    let proof = json!({ "id": app["id"], "code": code(&secret, server, 0) });
    let enrolled = browser.post("/api/me/factors/totp/verify", &proof);
    assert_eq!(enrolled.status, 200, "{}", enrolled.text);
    secret
}

#[test]
fn events_ask_for_a_second_factor() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "riskLevelChange": "REQUIRE_STEP_UP" }));
        for email in ["ada@corp.example", "bob@corp.example"] {
            server.person(&site.oidc.tenant, email, Role::Member);
        }
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        let secret = with_app(server, &ada);
        let bob = site.signed_in(server, "bob@corp.example", "s2");
        server.env.advance(Duration::from_mins(2));
        site.accepted(server, "e1", "risk-level-change", &site.user("ada@corp.example"));
        let refused = ada.get("/api/me/sessions");
        assert_eq!((refused.status, &refused.json()["reason"]), (403, &json!("MFA_REQUIRED")));
        assert_eq!(site.received(server, "e1")["outcome"], "STEP_UP_REQUIRED");
        assert_eq!(site.entries(server, "ACCOUNT_SESSIONS_STEP_UP_REQUIRED")[0]["count"], 1);
        // The session goes on with the second factor.
        let waiting = ada.post("/api/auth/sign-in/continue", &json!({}));
        assert_eq!(waiting.status, 200, "{}", waiting.text);
        let proved = ada.verify(&waiting.json()["ticket"], "TOTP", &code(&secret, server, 0));
        assert_eq!(proved.status, 200, "{}", proved.text);
        assert_eq!(ada.get("/api/me/sessions").status, 200);
        // An event from before that does not ask again.
        let before = server.env.now();
        server.env.advance(Duration::from_mins(5));
        site.accepted_at(server, "e2", "risk-level-change", &site.user("ada@corp.example"), before);
        // A user without a second factor has to sign in again.
        site.accepted(server, "e3", "risk-level-change", &site.user("bob@corp.example"));
        assert_eq!(bob.get("/api/me").status, 401);
        let entry = site.received(server, "e3");
        assert_eq!(
            (&entry["outcome"], &entry["reason"]),
            (&json!("SESSIONS_ENDED"), &json!("NO_SECOND_FACTOR")),
            "{entry}"
        );
        // A sign-in that comes late, through a session at the provider that has ended for a user without a second factor.
        let bob = site.signed_in(server, "bob@corp.example", "s3");
        let session = json!({ "format": "opaque", "id": "s3" });
        let user = site.user("bob@corp.example");
        let subject = json!({ "format": "complex", "user": user, "session": session });
        site.accepted(server, "e4", "risk-level-change", &subject);
        assert_eq!(bob.get("/api/me").status, 401);
        let late = site.oidc.sign_in_with(server, &server.browser(), "bob@corp.example", |claims| {
            claims.insert("sid".into(), "s3".into());
        });
        assert_eq!(late.status, 401, "{}", late.text);
    });
}

#[test]
fn events_disable_users_but_neither_the_last_administrator_nor_break_glass_accounts() {
    on_both(|server| {
        let all = json!({ "accountDisabled": "DISABLE_USER", "accountPurged": "DISABLE_USER" });
        let site = Site::new(server, &all);
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        site.accepted(server, "e1", "account-disabled", &site.user("ada@corp.example"));
        let ended = ada.get("/api/me");
        assert_eq!((ended.status, &ended.json()["code"]), (401, &json!("ACCOUNT_DISABLED")));
        assert_eq!(site.received(server, "e1")["outcome"], "USER_DISABLED");
        assert_eq!(site.entries(server, "ACCOUNT_USER_DEACTIVATED").len(), 1);
        site.accepted(server, "e2", "account-purged", &site.user("ada@corp.example"));
        assert_eq!(site.received(server, "e2")["reason"], "ALREADY_DISABLED");

        let root = server.person(&site.oidc.tenant, "root@corp.example", Role::Admin);
        let browser = site.signed_in(server, "root@corp.example", "s2");
        let break_glass = |on: bool| {
            let id = root.id.clone();
            server.write(&site.oidc.tenant.id, async move |ctx, tx| {
                let before = directory::PeopleStore::person(tx, &id).await?.unwrap();
                let after = directory::Person { break_glass: on, updated_at: ctx.now, ..before.clone() };
                directory::PeopleStore::update_person(tx, &before, &after).await
            });
        };
        break_glass(true);
        site.accepted(server, "e3", "account-disabled", &site.user("root@corp.example"));
        assert_eq!(browser.get("/api/me").status, 401);
        let entry = site.received(server, "e3");
        assert_eq!((&entry["outcome"], &entry["reason"]), (&json!("SESSIONS_ENDED"), &json!("BREAK_GLASS")));

        break_glass(false);
        let list = site.oidc.admin.get("/api/me").json();
        let other = list["user"]["id"].as_str().or_else(|| list["id"].as_str()).unwrap();
        server.disable(&site.oidc.tenant, &other.parse().unwrap());
        server.env.advance(Duration::from_mins(2));
        site.accepted(server, "e4", "account-disabled", &site.user("root@corp.example"));
        assert_eq!(site.received(server, "e4")["reason"], "LAST_ADMINISTRATOR");
        // Another administrator, who has been invited and cannot sign in yet.
        server.write(&site.oidc.tenant.id, async move |ctx, tx| {
            let email = "invited@else.example".parse().unwrap();
            let new = NewPerson { email, role: Role::Admin, display_name: None };
            Ok(directory::create_person(ctx, tx, new).await.unwrap().id)
        });
        server.env.advance(Duration::from_mins(2));
        site.accepted(server, "e5", "account-disabled", &site.user("root@corp.example"));
        assert_eq!(site.received(server, "e5")["reason"], "LAST_ADMINISTRATOR");
        assert_eq!(site.signed_in(server, "root@corp.example", "s3").get("/api/me").status, 200);
    });
}

#[test]
fn events_without_a_consequence_are_recorded() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        let user = site.user("ada@corp.example");
        let events = [
            "account-disabled",
            "account-enabled",
            "account-purged",
            "credential-change",
            "credential-compromise",
            "assurance-level-change",
            "device-compliance-change",
            "risk-level-change",
            "token-claims-change",
        ];
        for event in events {
            site.accepted(server, event, event, &user);
            let entry = site.received(server, event);
            assert_eq!((&entry["outcome"], entry.get("reason")), (&json!("RECORDED"), None), "{entry}");
            assert!(entry["user"].is_string(), "{entry}");
        }
        assert_eq!(ada.get("/api/me").status, 200);

        // Another user of the identity provider, another issuer, and another way to name users.
        let subjects = [
            site.user("eve@corp.example"),
            json!({ "format": "iss_sub", "iss": "https://other.example", "sub": "subject of ada@corp.example" }),
            json!({ "format": "email", "email": "ada@elsewhere.example" }),
            json!({ "format": "phone_number", "phone_number": "+12065550100" }),
        ];
        for (index, subject) in subjects.iter().enumerate() {
            let jti = format!("unknown{index}");
            site.accepted(server, &jti, "session-revoked", subject);
            assert_eq!(site.received(server, &jti)["reason"], "SUBJECT_UNKNOWN", "{subject}");
        }
        assert_eq!(ada.get("/api/me").status, 200);
        // By an address of the connection's domains.
        site.accepted(
            server,
            "email",
            "session-revoked",
            &json!({ "format": "email", "email": "Ada@corp.example" }),
        );
        assert_eq!(ada.get("/api/me").status, 401);

        // About the stream.
        let stream = json!({ "format": "opaque", "id": "stream" });
        site.accepted(server, "paused", "stream-updated", &stream);
        let shown = site.oidc.admin.get(&site.settings()).json();
        assert_eq!(shown["stream"], json!({ "status": "paused", "reason": "Maintenance" }));
        let mut earlier =
            site.claims("earlier", "stream-updated", &stream, server.env.now().plus_millis(-5_000));
        earlier["events"] = json!({ super::transmitter::uri("stream-updated"): { "status": "enabled" } });
        assert_eq!(site.post(server, &site.token(&earlier)).status, 202);
        assert_eq!(site.oidc.admin.get(&site.settings()).json()["stream"]["status"], "paused");
        assert_eq!(shown.get("verifiedAt"), None);
        site.accepted(server, "verified", "verification", &stream);
        assert!(site.oidc.admin.get(&site.settings()).json()["verifiedAt"].is_string());
    });
}
