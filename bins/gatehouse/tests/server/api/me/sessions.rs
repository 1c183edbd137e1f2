//! `/api/me/sessions`

use std::time::Duration;

use directory::Role;
use serde_json::json;

use store::testing::Kind;

use crate::support::{Answer, Server, on_both};

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

#[test]
fn revoked_session_is_refused_on_every_instance() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, here) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let there = server.browser();
        there.sign_in(&ada.email, ada.password);
        let path = format!("/api/me/sessions/{}", there.cookie("as_sid"));
        let listed = here.get("/api/me/sessions").json();
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
        for _ in 0..2 {
            assert_eq!(here.delete(&path).text, r#"{"revoked":true}"#);
        }
        assert_eq!(here.get("/api/me/sessions").json()["sessions"].as_array().unwrap().len(), 1);
        server.second(|second| {
            for address in [server.address, second] {
                let thrown_out = there.at(address);
                is(&thrown_out.get("/api/me/sessions"), 401, "SESSION_REVOKED");
                is(&thrown_out.post("/api/me/sessions/heartbeat", &json!({})), 401, "SESSION_REVOKED");
                thrown_out.drop_cookie("as_sid");
                is(&thrown_out.get("/api/me"), 401, "SESSION_REVOKED");
                // With another session's mirror cookie, or under the other cookie name.
                thrown_out.set("as_sid", &here.cookie("as_sid"));
                is(&thrown_out.get("/api/me"), 401, "UNAUTHENTICATED");
                thrown_out.drop_cookie("as_sid");
                thrown_out.set("__Secure-authjs.session-token", &here.cookie("authjs.session-token"));
                is(&thrown_out.get("/api/me"), 401, "SESSION_REVOKED");
                assert_eq!(here.at(address).get("/api/me").status, 200);
            }
        });
        let own = format!("/api/me/sessions/{}", here.cookie("as_sid"));
        let saved = here.clone();
        assert_eq!(here.delete(&own).text, r#"{"revoked":true,"signOut":true}"#);
        assert_eq!(here.cookies.borrow().len(), 0);
        is(&saved.get("/api/me"), 401, "SESSION_REVOKED");
    });
}

#[test]
fn user_signs_out_everywhere_else() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, here) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let others = [(); 2].map(|()| {
            let browser = server.browser();
            assert_eq!(browser.sign_in(&ada.email, ada.password).status, 200);
            browser
        });
        let (_, neighbour) = server.signed_in(&tenant, "grace@example.com", Role::Member);
        let revoke = || here.post("/api/me/sessions/revoke-others", &json!({})).json();
        assert_eq!(revoke(), json!({ "revoked": 2 }));
        for other in &others {
            is(&other.get("/api/me"), 401, "SESSION_REVOKED");
        }
        assert_eq!((here.get("/api/me").status, neighbour.get("/api/me").status), (200, 200));
        assert_eq!(revoke(), json!({ "revoked": 0 }));
    });
}

#[test]
fn heartbeat_restores_cookies_and_never_mixes_sessions() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let own = browser.cookie("as_sid");
        browser.drop_cookie("as_sid");
        assert_eq!(browser.get("/api/me").status, 200);
        assert_eq!(browser.post("/api/me/sessions/heartbeat", &json!({})).status, 200);
        assert_eq!(browser.cookie("as_sid"), own);
        let other = server.browser();
        other.sign_in(&ada.email, ada.password);
        browser.set("as_sid", &other.cookie("as_sid"));
        is(&browser.get("/api/me"), 401, "UNAUTHENTICATED");
        // With a token in the request, cookies are ignored.
        is(&other.with("Authorization", "Bearer nonsense").get("/api/me"), 401, "UNAUTHENTICATED");
        let scim = other.with("Authorization", &format!("Bearer {}", tenant.token)).get("/api/me");
        assert_eq!((scim.status, &scim.json()["reason"]), (403, &json!("CREDENTIAL_KIND")));
        let users = other.get("/api/scim/v2/Users");
        assert_eq!((users.status, &users.json()["reason"]), (403, &json!("CREDENTIAL_KIND")));
    });
}

#[test]
fn sessions_end_after_idle_and_absolute_timeout() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        server.policy(&tenant, |policy| {
            policy.session.idle_minutes = 60;
            policy.session.absolute_days = 1;
        });
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        server.env.advance(Duration::from_hours(1));
        assert_eq!(browser.post("/api/me/sessions/heartbeat", &json!({})).status, 200);
        server.env.advance(Duration::from_mins(61));
        is(&browser.get("/api/me"), 401, "UNAUTHENTICATED");
        let (_, busy) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        for _ in 0..24 {
            assert_eq!(busy.post("/api/me/sessions/heartbeat", &json!({})).status, 200);
            server.env.advance(Duration::from_hours(1));
        }
        is(&busy.post("/api/me/sessions/heartbeat", &json!({})), 401, "UNAUTHENTICATED");
    });
}

#[test]
fn disabled_user_is_signed_out_at_once_with_a_reason() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let path = format!("/api/scim/v2/Users/{}", ada.id);
        let set = |active: bool| {
            let change = json!([{ "op": "replace", "path": "active", "value": active }]);
            assert_eq!(tenant.scim.operations(&path, &change).status, 200);
        };
        set(false);
        is(&browser.get("/api/me"), 401, "ACCOUNT_DISABLED");
        set(true);
        is(&browser.get("/api/me"), 401, "SESSION_REVOKED");
        assert_eq!(server.browser().sign_in(&ada.email, ada.password).status, 200);
        let again = server.browser();
        again.sign_in(&ada.email, ada.password);
        assert_eq!(tenant.scim.delete(&path).status, 204);
        is(&again.get("/api/me"), 401, "SESSION_REVOKED");
        is(&server.browser().sign_in(&ada.email, ada.password), 401, "INVALID_CREDENTIALS");
    });
}

#[test]
fn session_shows_its_place_if_known() {
    let places = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/places.mmdb");
    for kind in Kind::ALL {
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1"), ("geo_database", places)]);
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        for (from, place, prefix) in [
            ("203.0.113.9", json!("Zurich, Switzerland"), "203.0.113.0/24"),
            ("2001:db8::9", json!("Portugal"), "2001:db8::/48"),
            ("198.51.100.9", json!(null), "198.51.100.0/24"),
        ] {
            let browser = server.browser().with("X-Forwarded-For", from);
            browser.sign_in(&ada.email, ada.password);
            let shown = browser.get("/api/me/sessions").json()["sessions"].clone();
            let own = shown.as_array().unwrap().iter().find(|session| session["current"] == true).unwrap();
            assert_eq!((&own["location"], &own["ipPrefix"]), (&place, &json!(prefix)));
        }
        // The place follows the address of the latest request.
        let browser = server.browser().with("X-Forwarded-For", "198.51.100.9");
        browser.sign_in(&ada.email, ada.password);
        let moved = browser.with("X-Forwarded-For", "2001:db8:1::9");
        let beat = moved.post("/api/me/sessions/heartbeat", &json!({})).json();
        assert_eq!(beat["session"]["location"], "Portugal");
    }
}
