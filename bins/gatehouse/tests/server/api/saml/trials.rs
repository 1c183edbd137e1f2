//! Connection tests: a report instead of a session.

use directory::Role;
use kernel::Env;
use serde_json::{Value, json};

use super::Site;
use crate::support::{Server, on_both};

/// Starts a test. Returns its URL, and the query of the sign-in.
fn begin(site: &Site) -> (String, String) {
    let path = format!("/api/settings/saml-providers/{}/test", site.id);
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

#[test]
fn passed_connection_test_reports_the_user_and_starts_no_session() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let ada = server.person(&site.tenant, "ada@corp.example", Role::Member);
        let (place, query) = begin(&site);
        assert_eq!(site.admin.get(&place).json()["status"], "WAITING");
        let browser = server.browser();
        let sent = site.begin(&browser, &query);
        let says = sent.says("ada@corp.example", server.env.now());
        let answer = site.post(&browser, &site.idp.response(&says), &sent.relay_state);
        let trial = place.rsplit('/').next().unwrap();
        let back = format!("/settings/sso?provider={}&test={trial}", site.id);
        assert_eq!((answer.status, answer.header("location")), (303, back.as_str()), "{}", answer.text);
        assert_eq!(browser.cookie("as_sid"), "", "nobody is signed in");
        let report = site.admin.get(&place).json();
        assert_eq!(report["status"], "PASSED", "{report}");
        assert_eq!(report["user"]["id"], ada.id.as_str());
        assert_eq!(report["email"], "ada@corp.example");
        assert_eq!(report["attributes"], json!([{ "name": "displayName", "values": ["Somebody"] }]));
        assert_eq!(report["nameId"]["value"], "ada@corp.example");
        assert_eq!(check(&report, "ACCOUNT")["outcome"], "PASSED");
        assert_eq!(*check(&report, "DECRYPTION"), Value::Null, "nothing was encrypted");
        // A test can be run once.
        assert_eq!(server.browser().get(&format!("{}{query}", site.path("login"))).status, 404);
    });
}

#[test]
fn failed_connection_test_reports_the_check_and_the_reason() {
    on_both(|server| {
        let site = Site::new(server, "acme");
        let failed = |server: &Server, bend: &dyn Fn(&mut crate::support::Says), rekeyed: bool| {
            let (place, query) = begin(&site);
            let browser = server.browser();
            let sent = site.begin(&browser, &query);
            let mut says = sent.says("nobody@corp.example", server.env.now());
            bend(&mut says);
            let response =
                if rekeyed { site.idp.rekeyed().response(&says) } else { site.idp.response(&says) };
            let answer = site.post(&browser, &response, "");
            assert_eq!(answer.status, 303, "{}", answer.text);
            let report = site.admin.get(&place).json();
            assert_eq!(report["status"], "FAILED", "{report}");
            report
        };
        let report = failed(server, &|_| {}, true);
        assert_eq!(check(&report, "SIGNATURE")["reason"], "SIGNATURE_INVALID");
        assert_eq!(check(&report, "STRUCTURE")["outcome"], "PASSED");
        assert_eq!(check(&report, "CONDITIONS")["outcome"], "NOT_REACHED");
        assert_eq!(report["attributes"], json!([]), "unsigned attributes are not shown");

        let report = failed(server, &|says| says.audience = "https://else.example".into(), false);
        assert_eq!(check(&report, "CONDITIONS")["reason"], "WRONG_AUDIENCE");
        assert!(check(&report, "CONDITIONS")["detail"].as_str().unwrap().contains("else.example"));
        assert_eq!(report["attributes"][0]["name"], "displayName", "signed attributes are shown");

        let report = failed(server, &|_| {}, false);
        assert_eq!(check(&report, "ACCOUNT")["reason"], "NOT_PROVISIONED");
        assert_eq!(check(&report, "EMAIL")["outcome"], "PASSED");
        assert_eq!(report["user"], Value::Null);

        // A response from another browser does not change the test.
        let (place, query) = begin(&site);
        let sent = site.begin(&server.browser(), &query);
        let says = sent.says("nobody@corp.example", server.env.now());
        assert_eq!(site.post(&server.browser(), &site.idp.rekeyed().response(&says), "").status, 401);
        assert_eq!(site.admin.get(&place).json()["status"], "WAITING");
    });
}
