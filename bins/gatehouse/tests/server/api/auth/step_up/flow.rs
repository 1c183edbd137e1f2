//! The step-up flow.

use std::time::Duration;

use credentials::FactorKind;
use directory::Role;
use gate::purposes::PURPOSES;
use serde_json::json;

use super::{
    super::{enrolment::enrol_totp, passkeys},
    TOKEN, answer_with, challenge, consume, is, status, token,
};
use crate::support::{authenticator, code, on_both};

#[test]
fn action_needs_a_step_up_token_that_works_once() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let secret = enrol_totp(server, &browser);
        let act = |browser: &crate::support::Browser| {
            browser.post("/api/settings/scim-tokens", &json!({ "name": "Okta" }))
        };
        let refused = act(&browser);
        is(&refused, 401, "STEP_UP_REQUIRED");
        assert_eq!(refused.header("www-authenticate"), "StepUp purpose=SCIM_TOKEN_MINT");
        let body = refused.json();
        assert_eq!(
            (&body["purpose"], body.get("requiresPhishingResistant")),
            (&json!("SCIM_TOKEN_MINT"), None)
        );
        assert_eq!(body.as_object().unwrap().len(), 3, "error, code, purpose: {body}");

        let asked = challenge(&browser, "SCIM_TOKEN_MINT").json();
        assert_eq!(asked["factors"], json!(["TOTP"]));
        assert_eq!((&asked["requiresPhishingResistant"], asked.get("webauthn")), (&json!(false), None));
        assert_eq!(
            status(&browser, "SCIM_TOKEN_MINT"),
            json!({ "purpose": "SCIM_TOKEN_MINT", "active": false })
        );
        is(&answer_with(&browser, &asked, "TOTP", "000000"), 401, "FACTOR_INVALID");
        server.env.advance(Duration::from_secs(30));
        let proved = answer_with(&browser, &asked, "TOTP", &code(&secret, server, 0)).json();
        assert_eq!(proved["purpose"], "SCIM_TOKEN_MINT");
        let there = status(&browser, "SCIM_TOKEN_MINT");
        assert_eq!((&there["active"], &there["factor"]), (&json!(true), &json!("TOTP")));
        assert_eq!(there["expiresAt"], proved["expiresAt"]);
        assert_eq!(there.get("token"), None);
        assert_eq!(status(&browser, "PAYROLL_SEAL")["active"], false);

        let token = proved["token"].as_str().unwrap();
        let done = act(&browser.with(TOKEN, token));
        assert_eq!((done.status, done.json()["token"].as_str().unwrap().starts_with("scim_")), (200, true));
        let again = act(&browser.with(TOKEN, token));
        is(&again, 401, "STEP_UP_INVALID");
        assert_eq!(again.json()["reason"], "ALREADY_USED");
        assert_eq!(status(&browser, "SCIM_TOKEN_MINT")["active"], false);
        let listed = browser.get("/api/settings/scim-tokens").json();
        let named: Vec<_> = listed["tokens"].as_array().unwrap().iter().map(|token| &token["name"]).collect();
        assert_eq!(named, ["Okta", "test"], "the test server has created one");

        // The audit log contains all of it; the refusal is recorded after its response.
        crate::support::eventually(|| {
            let entries = server.entries(&tenant);
            let of = |action: &str| entries.iter().filter(|entry| entry.action == action).count();
            let counts = ["ISSUED", "FAILED", "CONSUMED", "REFUSED"];
            counts.map(|what| of(&format!("ACCOUNT_STEPUP_{what}"))) == [1, 1, 1, 1]
        });
        let granted = server.entry(&tenant, "ACCOUNT_STEPUP_ISSUED");
        assert!(granted.metadata.contains(ada.id.as_str()) && granted.metadata.contains("SCIM_TOKEN_MINT"));
        assert!(server.entry(&tenant, "ACCOUNT_STEPUP_REFUSED").metadata.contains("ALREADY_USED"));
    });
}

#[test]
fn phishing_resistant_purpose_requires_a_passkey() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let purpose = "PAYROLL_TRANSMIT_ACH";
        is(&challenge(&browser, purpose), 409, "NO_FACTOR_AVAILABLE");
        let refused = browser.post("/api/auth/step-up/consume", &json!({ "purpose": purpose }));
        assert_eq!(refused.json()["requiresPhishingResistant"], true);
        assert_eq!(refused.header("www-authenticate"), "StepUp purpose=PAYROLL_TRANSMIT_ACH");
        let mut device = authenticator();
        assert_eq!(passkeys::enrol(&browser, &mut device).status, 200);

        let asked = challenge(&browser, purpose).json();
        assert_eq!(
            (&asked["factors"], &asked["requiresPhishingResistant"]),
            (&json!(["WEBAUTHN"]), &json!(true))
        );
        server.env.advance(Duration::from_secs(30));
        let right = code(&secret, server, 0);
        is(&answer_with(&browser, &asked, "TOTP", &right), 403, "FACTOR_NOT_PERMITTED");
        let body = json!({
            "challengeId": asked["challengeId"],
            "factor": "WEBAUTHN",
            "credential": device.get(&asked["webauthn"]),
        });
        let proved = browser.post("/api/auth/step-up/verify", &body).json();
        let done = consume(&browser, proved["token"].as_str().unwrap(), purpose).json();
        assert_eq!(done["authorized"], true);
        assert_eq!((&done["userId"], &done["tenantId"]), (&json!(ada.id), &json!(tenant.id)));
        assert_eq!((&done["purpose"], &done["factor"]), (&json!(purpose), &json!("WEBAUTHN")));
        assert!(done["consumedAt"].as_str().unwrap().ends_with('Z'));
        let odd = json!({ "challengeId": asked["challengeId"], "factor": "WEBAUTHN", "credential": {} });
        is(&browser.post("/api/auth/step-up/verify", &odd), 400, "INVALID_REQUEST");
        // The answer to one challenge is invalid for another.
        let other = challenge(&browser, purpose).json();
        let body = json!({ "challengeId": other["challengeId"], "factor": "WEBAUTHN", "credential": body["credential"] });
        is(&browser.post("/api/auth/step-up/verify", &body), 401, "FACTOR_INVALID");
        // A purpose that accepts both factors offers both, except those that the tenant does not accept.
        assert_eq!(challenge(&browser, "PAYROLL_SEAL").json()["factors"], json!(["WEBAUTHN", "TOTP"]));
        let waiting = challenge(&browser, "PAYROLL_SEAL").json();
        server.policy(&tenant, |policy| policy.mfa.accepted_factors = vec![FactorKind::Webauthn]);
        server.env.advance(Duration::from_secs(30));
        let right = code(&secret, server, 0);
        is(&answer_with(&browser, &waiting, "TOTP", &right), 403, "FACTOR_NOT_PERMITTED");
        assert_eq!(challenge(&browser, "PAYROLL_SEAL").json()["factors"], json!(["WEBAUTHN"]));
    });
}

#[test]
fn invalid_step_up_requests_are_explained() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        // Checked before the user's factors; this user has none.
        is(&challenge(&browser, "MOON_LANDING"), 400, "UNKNOWN_PURPOSE");
        is(&challenge(&browser, "PAYROLL_SEAL"), 409, "NO_FACTOR_AVAILABLE");
        is(&browser.post("/api/auth/step-up/consume", &json!({ "purpose": "x" })), 400, "UNKNOWN_PURPOSE");
        is(&browser.get("/api/auth/step-up/status?purpose=x"), 400, "UNKNOWN_PURPOSE");
        is(&browser.get("/api/auth/step-up/status"), 400, "INVALID_REQUEST");
        is(&browser.post("/api/auth/step-up/challenge-options", &json!({})), 400, "INVALID_REQUEST");
        let other = json!({ "challengeId": "sch_06gzkadrwwt5d9z93ens6801xc" });
        is(&answer_with(&browser, &other, "TOTP", "000000"), 401, "TICKET_INVALID");
        is(&answer_with(&browser, &other, "RECOVERY_CODE", "x"), 403, "FACTOR_NOT_PERMITTED");
        is(&answer_with(&browser, &other, "SMS", "x"), 400, "INVALID_REQUEST");
        // The description lists the purposes and what each requires.
        let document = server.anonymous().get("/api/developers/openapi.json").json();
        let listed = document["x-step-up-purposes"].as_array().unwrap().clone();
        assert_eq!(listed.len(), PURPOSES.len());
        for purpose in PURPOSES {
            let shown = listed.iter().find(|shown| shown["name"] == purpose.name).unwrap();
            assert_eq!(shown["requiresPhishingResistant"], purpose.phishing_resistant);
            assert_eq!(shown["ttlSeconds"], 60);
        }
    });
}

#[test]
fn guarded_actions_succeed_with_a_step_up() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let secret = enrol_totp(server, &browser);
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        // The grace after enrolling the first factor has ended.
        server.env.advance(Duration::from_mins(20));
        let person = format!("/api/settings/users/{}", bob.id);
        let policy = browser.get("/api/settings/sign-in-policy").json();
        let password =
            json!({ "currentPassword": crate::support::PASSWORD, "newPassword": "words in another order" });
        let group = tenant.scim.post("/api/scim/v2/Groups", &json!({ "displayName": "Desk" })).json();
        let rule = json!({ "groupId": group["id"], "role": "SUPPORT" });
        let role = json!({ "name": "Help desk", "permissions": ["read:users"] });
        let limit = json!({ "enabled": true, "percent": 30, "users": 20 });
        let acts = [
            ("POST", "/api/me/recovery-codes".to_owned(), json!({}), "ACCOUNT_SECURITY_CHANGE"),
            ("POST", "/api/me/factors/totp".into(), json!({}), "ACCOUNT_SECURITY_CHANGE"),
            ("POST", "/api/me/factors/passkeys/options".into(), json!({}), "ACCOUNT_SECURITY_CHANGE"),
            (
                "POST",
                "/api/me/tokens".into(),
                json!({ "name": "x", "scopes": ["admin:tenant"] }),
                "PAT_MINT_ADMIN",
            ),
            ("POST", "/api/settings/scim-tokens".into(), json!({ "name": "x" }), "SCIM_TOKEN_MINT"),
            ("PUT", "/api/settings/removal-limit".into(), limit, "SCIM_TOKEN_MINT"),
            ("PUT", "/api/settings/sign-in-policy".into(), policy, "SIGN_IN_POLICY_CHANGE"),
            (
                "POST",
                "/api/settings/users".into(),
                json!({ "email": "c@example.com", "role": "ADMIN" }),
                "USER_ADMIN_CHANGE",
            ),
            ("PATCH", person.clone(), json!({ "role": "ADMIN" }), "USER_ADMIN_CHANGE"),
            ("PATCH", person.clone(), json!({ "email": "robert@example.com" }), "USER_ADMIN_CHANGE"),
            ("POST", format!("{person}/reset-password"), json!({}), "USER_ADMIN_CHANGE"),
            ("POST", format!("{person}/reset-factors"), json!({}), "USER_ADMIN_CHANGE"),
            ("DELETE", person, json!(null), "USER_ADMIN_CHANGE"),
            ("POST", "/api/settings/roles".into(), role, "USER_ADMIN_CHANGE"),
            ("POST", "/api/settings/role-rules".into(), rule, "USER_ADMIN_CHANGE"),
            ("POST", "/api/me/password".into(), password, "ACCOUNT_SECURITY_CHANGE"),
            ("DELETE", "/api/me/factors".into(), json!(null), "ACCOUNT_SECURITY_CHANGE"),
        ];
        for (method, path, body, purpose) in acts {
            let send = |browser: &crate::support::Browser| {
                browser.send(method, &path, Some(&body).filter(|body| !body.is_null()))
            };
            let refused = send(&browser);
            is(&refused, 401, "STEP_UP_REQUIRED");
            assert_eq!(refused.json()["purpose"], purpose, "{method} {path}");
            // Codes are rate-limited; one step-up per minute is within the limit.
            server.env.advance(Duration::from_mins(1));
            let proved = browser.with(TOKEN, &token(server, &browser, &secret, purpose));
            let done = send(&proved);
            assert_eq!(done.status, 200, "{method} {path}: {}", done.text);
            let again = send(&proved);
            assert_ne!(again.status, 200, "{method} {path}: {}", again.text);
            let before = ["NOT_FOUND", "INVALID_CREDENTIALS", "uniqueness"];
            if !before.contains(&again.json()["code"].as_str().unwrap()) {
                super::invalid(&again, "ALREADY_USED");
            }
        }
    });
}
