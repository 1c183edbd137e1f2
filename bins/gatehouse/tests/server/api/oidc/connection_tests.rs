//! Connection tests: a report instead of a session.

use directory::Role;
use kernel::Env;
use serde_json::{Map, Value, json};

use super::Site;
use crate::support::{Server, on_both};

/// Starts a test. Returns its URL, and the query of the sign-in.
fn begin(site: &Site) -> (String, String) {
    let path = format!("{}/test", site.settings());
    let begun = site.admin.post(&path, &json!({}));
    assert_eq!(begun.status, 200, "{}", begun.text);
    let begun = begun.json();
    let query = begun["loginUrl"].as_str().unwrap().split_once('?').unwrap().1;
    (format!("{path}s/{}", begun["id"].as_str().unwrap()), format!("?{query}"))
}

fn check<'r>(report: &'r Value, name: &str) -> &'r Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["check"] == name).unwrap_or(&Value::Null)
}

/// Runs a test with bent claims. Returns its report.
fn report(server: &Server, site: &Site, email: &str, bend: impl FnOnce(&mut Map<String, Value>)) -> Value {
    let (place, query) = begin(site);
    let browser = server.browser();
    let request = site.begin(&browser, &query);
    let mut claims = site.provider.claims(&request, email, server.env.now());
    bend(&mut claims);
    site.provider.issue(&claims);
    let answer = site.come_back(&browser, &request.redirect(&site.provider.issuer));
    let trial = place.rsplit('/').next().unwrap();
    let back = format!("/settings/sso?provider={}&test={trial}", site.id);
    assert_eq!((answer.status, answer.header("location")), (303, back.as_str()), "{}", answer.text);
    assert_eq!(browser.cookie("as_sid"), "", "nobody is signed in");
    site.admin.get(&place).json()
}

#[test]
fn passed_connection_test_reports_the_user_and_starts_no_session() {
    on_both(|server| {
        let site = Site::new(server);
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        let (place, query) = begin(&site);
        let waiting = site.admin.get(&place).json();
        assert_eq!(
            (&waiting["status"], waiting["checks"].as_array().unwrap().len()),
            (&json!("WAITING"), 12)
        );
        let passed = report(server, &site, "ada@corp.example", |claims| {
            claims.insert("groups".into(), json!(["a", "b"]));
        });
        assert_eq!(passed["status"], "PASSED", "{passed}");
        assert_eq!((&passed["user"]["id"], &passed["email"]), (&json!(ada.id), &json!("ada@corp.example")));
        let claims = passed["attributes"].as_array().unwrap();
        assert!(claims.contains(&json!({ "name": "groups", "values": ["a", "b"] })), "{passed}");
        assert!(claims.iter().all(|claim| claim["name"] != "nonce"));
        assert_eq!(check(&passed, "ACCOUNT")["outcome"], "PASSED");
        assert_eq!(*check(&passed, "USER_INFO"), Value::Null, "the connection does not use UserInfo");
        assert!(
            !server.entries(&site.tenant).iter().any(|entry| entry.action == "ACCOUNT_OIDC_SUBJECT_PINNED")
        );
        // The first test still waits, in its own browser.
        site.begin(&server.browser(), &query);
        assert_eq!(site.admin.get(&place).json()["status"], "WAITING");
    });
}

#[test]
fn failed_connection_test_reports_the_check_and_the_reason() {
    on_both(|server| {
        let site = Site::new(server);
        let failed = report(server, &site, "nobody@corp.example", |claims| {
            claims.insert("aud".into(), "other".into());
        });
        assert_eq!(failed["status"], "FAILED");
        assert_eq!(check(&failed, "ADDRESSING")["reason"], "WRONG_AUDIENCE");
        assert_eq!(check(&failed, "SIGNATURE")["outcome"], "PASSED");
        assert_eq!(check(&failed, "VALIDITY")["outcome"], "NOT_REACHED");
        assert!(!failed["attributes"].as_array().unwrap().is_empty(), "signed claims are shown");

        let failed = report(server, &site, "nobody@corp.example", |_| {});
        assert_eq!(check(&failed, "ACCOUNT")["reason"], "NOT_PROVISIONED");
        assert_eq!((&failed["email"], &failed["user"]), (&json!("nobody@corp.example"), &Value::Null));

        let (place, query) = begin(&site);
        let browser = server.browser();
        let request = site.begin(&browser, &query);
        let canceled =
            format!("error=access_denied&state={}&iss={}", request.get("state"), site.provider.issuer);
        assert_eq!(site.come_back(&browser, &canceled).status, 303);
        let canceled = site.admin.get(&place).json();
        assert_eq!(check(&canceled, "CALLBACK")["reason"], "PROVIDER_ERROR");
        assert_eq!(check(&canceled, "TOKEN_REQUEST")["outcome"], "NOT_REACHED");
    });
}

#[test]
fn connection_tests_belong_to_their_connection_and_tenant() {
    on_both(|server| {
        let site = Site::new(server);
        let (place, query) = begin(&site);
        let other = server.tenant("other");
        let (_, stranger) = server.signed_in(&other, "admin@other.example", Role::Admin);
        assert_eq!(stranger.get(&place).status, 404);
        assert_eq!(stranger.get(&site.settings()).status, 404);
        assert_eq!(stranger.post(&format!("{}/test", site.settings()), &json!({})).status, 404);
        let elsewhere = place.replace(&site.id, &site.id.replace("oidc_", "sso_"));
        assert_eq!(site.admin.get(&elsewhere).status, 404);
        let unknown = query.replace("try_0", "try_1");
        assert_eq!(server.browser().get(&format!("{}{unknown}", site.path("login"))).status, 404);
        for (method, rest) in [("GET", "login"), ("GET", "callback?code=a&state=b"), ("GET", "jwks")] {
            for id in ["oidc_1", "oidc_01jz000000000000000000000001jz4444444444444444444444", "%00"] {
                let answer = server.anonymous().send(method, &format!("/api/oidc/{id}/{rest}"), None, "");
                assert_eq!(answer.status, 404, "{id} {rest}: {}", answer.text);
            }
        }
    });
}
