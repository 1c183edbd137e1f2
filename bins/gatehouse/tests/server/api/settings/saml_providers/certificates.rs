//! Expiry and rotation of certificates, and the connection test.

use std::time::Duration;

use credentials::SignInMode;
use kernel::Env;
use serde_json::{Value, json};

use super::{ENTITY, PURPOSE, add, admin, await_on_second_instance, by_xml, text};
use crate::support::{Idp, ending_in, idp_metadata, on_both};

#[test]
fn expiry_of_the_last_certificate_is_announced_in_time() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let now = server.env.now();
        let (first, last) = (ending_in(now, 5), ending_in(now, 20));
        let body = |certificates: &[&saml_sp::Certificate]| {
            let metadata = idp_metadata(ENTITY, certificates);
            json!({ "name": "Corp", "emailDomains": ["corp.example"], "metadataXml": metadata })
        };
        let (path, made) = add(server, &browser, &body(&[&first, &last]));
        assert_eq!(made["certificates"][0]["status"], "EXPIRING");
        let warnings = made["warnings"].to_string();
        assert!(warnings.contains("certificates[0]: expires on ") && warnings.contains("certificates[1]: "));
        let ends = || {
            let mut entries = server.entries(&tenant);
            entries.retain(|entry| entry.action == "ACCOUNT_SAML_PROVIDER_CERTIFICATE_EXPIRING");
            entries
        };
        await_on_second_instance(server, || ends().len() == 1);
        let entry = ends().remove(0);
        let data: Value = serde_json::from_str(&entry.metadata).unwrap();
        assert_eq!((&data["days"], &data["certificate"]), (&json!(30), &json!(last.fingerprint())));
        assert_eq!(data["expiresAt"], json!(last.not_after()));
        assert_eq!(
            (entry.actor_type.as_str(), entry.resource_id.as_str()),
            ("SYSTEM", text(&made["id"]).as_str())
        );
        let metrics = server.anonymous().get("/metrics").text;
        for name in [
            "gatehouse_saml_providers",
            "gatehouse_saml_certificates_expiring",
            "gatehouse_saml_certificates_expired",
            "gatehouse_saml_certificate_soonest_expiry_seconds",
        ] {
            assert!(metrics.contains(&format!("\n{name} ")), "{name}");
        }
        // New certificates are added, and their expiry is announced when it is near.
        let longer = ending_in(now, 400);
        let changed = server.proved(&browser, PURPOSE).put(&path, &body(&[&longer]));
        assert_eq!((changed.status, &changed.json()["certificates"][0]["status"]), (200, &json!("VALID")));
        server.env.advance(Duration::from_hours(24 * 394));
        await_on_second_instance(server, || ends().len() == 2);
        assert!(ends().iter().any(|entry| entry.metadata.contains("\"days\":7")));
    });
}

#[test]
fn a_rotation_shows_both_certificates() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let (path, made) = add(server, &browser, &by_xml(&Idp::new("idp.acme.example"), &["corp.example"]));
        let rotate = |rest: &str| {
            server.proved(&browser, PURPOSE).send("POST", &format!("{path}/rotate-certificate{rest}"), None)
        };
        let none = rotate("/complete");
        assert_eq!((none.status, &none.json()["reason"]), (409, &json!("NO_ROTATION")), "{}", none.text);
        let rotated = rotate("");
        assert_eq!(rotated.status, 200, "{}", rotated.text);
        let ours = rotated.json()["serviceProvider"]["certificates"].clone();
        assert_eq!(ours[0], made["serviceProvider"]["certificates"][0]);
        assert_eq!((&ours[1]["use"], &ours[1]["status"]), (&json!("NEXT"), &json!("VALID")));
        assert_eq!(browser.get(&path).json()["serviceProvider"]["certificates"], ours);
        let again = rotate("");
        assert_eq!((again.status, &again.json()["reason"]), (409, &json!("ROTATION_UNDER_WAY")));
        let done = rotate("/complete").json()["serviceProvider"]["certificates"].clone();
        assert_eq!((done.as_array().unwrap().len(), &done[0]["fingerprint"]), (1, &ours[1]["fingerprint"]));
        let phases: Vec<Value> = server
            .entries(&tenant)
            .iter()
            .filter(|entry| entry.action == "ACCOUNT_SAML_PROVIDER_KEY_ROTATED")
            .map(|entry| serde_json::from_str::<Value>(&entry.metadata).unwrap())
            .collect();
        assert!(phases.iter().all(|data| data["certificate"] == ours[1]["fingerprint"]), "{phases:?}");
        let mut phases: Vec<_> = phases.iter().map(|data| text(&data["phase"])).collect();
        phases.sort();
        assert_eq!(phases, ["COMPLETED", "STARTED"]);
    });
}

#[test]
fn connection_test_starts_with_configuration_checks() {
    on_both(|server| {
        let (tenant, browser) = admin(server, "acme");
        let idp = Idp::new("idp.acme.example");
        let wants = idp
            .metadata()
            .replace("<md:IDPSSODescriptor ", "<md:IDPSSODescriptor WantAuthnRequestsSigned=\"true\" ");
        let body = json!({
            "name": "Corp", "emailDomains": ["corp.example"], "metadataXml": wants, "signRequests": false,
        });
        let (path, made) = add(server, &browser, &body);
        server.policy(&tenant, |policy| policy.sign_in_mode = SignInMode::CredentialsOnly);
        let begun = browser.send("POST", &format!("{path}/test"), None);
        assert_eq!(begun.status, 200, "{}", begun.text);
        let begun = begun.json();
        let id = text(&begun["id"]);
        let login = format!("{}?test={id}", text(&made["serviceProvider"]["loginUrl"]));
        assert_eq!(begun["loginUrl"], json!(login));
        let checks: Vec<_> = begun["checks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|check| (text(&check["check"]), text(&check["outcome"])))
            .collect();
        let expected = [
            ("SIGN_IN_POLICY", "FAILED"),
            ("DOMAINS", "WARNING"),
            ("CERTIFICATES", "PASSED"),
            ("METADATA", "PASSED"),
            ("REQUESTS", "WARNING"),
            ("KEYS", "PASSED"),
        ];
        assert_eq!(checks, expected.map(|(check, outcome)| (check.to_owned(), outcome.to_owned())));
        let warnings = browser.get(&path).json()["warnings"].clone();
        insta::allow_duplicates! {
            insta::assert_json_snapshot!(warnings, @r#"
            [
              "signInMode is CREDENTIALS_ONLY: nobody can sign in through an identity provider; allow single sign-on in the sign-in policy",
              "emailDomains: corp.example is not verified; add the DNS record so that the sign-in page finds this connection, and use loginUrl until then",
              "signRequests: the metadata requires signed requests, but they are not signed; the identity provider may refuse them"
            ]
            "#);
        }
        assert!(server.entry(&tenant, "ACCOUNT_SAML_PROVIDER_TESTED").metadata.contains(&id));

        let waiting = browser.get(&format!("{path}/tests/{id}")).json();
        assert_eq!((&waiting["status"], &waiting["id"]), (&json!("WAITING"), &json!(id)));
        let outcomes = waiting["checks"].as_array().unwrap();
        assert!(outcomes.len() == 13 && outcomes.iter().all(|check| check["outcome"] == "NOT_REACHED"));
        // The test exists only under its own connection.
        let (other, _) = add(server, &browser, &by_xml(&idp, &["other.example"]));
        assert_eq!(browser.get(&format!("{other}/tests/{id}")).status, 404);
        server.env.advance(Duration::from_mins(15));
        assert_eq!(browser.get(&format!("{path}/tests/{id}")).json()["status"], "EXPIRED");
    });
}
