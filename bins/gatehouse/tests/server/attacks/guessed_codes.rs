//! An attacker with a password or a session guesses codes over a long time.

use std::time::Duration;

use credentials::{FactorStore, attempts::MAX_WRONG_CODES};
use directory::Role;
use serde_json::json;

use crate::{
    api::auth::enrolment::enrol_totp,
    support::{code, on_both},
};

#[test]
fn stolen_session_does_not_use_up_the_owners_attempts() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let guess = || {
            let options = json!({ "purpose": "ACCOUNT_SECURITY_CHANGE" });
            let asked = browser.post("/api/auth/step-up/challenge-options", &options).json();
            let body = json!({ "challengeId": asked["challengeId"], "factor": "TOTP", "code": "000000" });
            browser.post("/api/auth/step-up/verify", &body).status
        };
        for round in 0..10 {
            assert_eq!(guess(), 401, "{round}");
        }
        assert_eq!(guess(), 429);
        let other = server.browser();
        let asked = other.sign_in(&ada.email, ada.password).json();
        let next = code(&secret, server, 1);
        assert_eq!(other.verify(&asked["ticket"], "TOTP", &next).json()["status"], "SIGNED_IN");
    });
}

#[test]
fn hundred_consecutive_wrong_codes_block_the_factor() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let id = ada.id.clone();
        server.write(&tenant.id, async move |_, tx| {
            for _ in 1..MAX_WRONG_CODES {
                tx.count_wrong_code(&id).await?;
            }
            Ok(())
        });
        server.env.advance(Duration::from_mins(5));
        let other = server.browser();
        let ticket = || other.sign_in(&ada.email, ada.password).json()["ticket"].clone();
        assert_eq!(other.verify(&ticket(), "TOTP", "000000").status, 401, "the hundredth");
        let right = other.verify(&ticket(), "TOTP", &code(&secret, server, 0));
        assert_eq!(
            (right.status, &right.json()["code"]),
            (403, &json!("FACTOR_NOT_PERMITTED")),
            "{}",
            right.text
        );
        // A reset by an administrator unblocks it.
        let (_, admin) = server.signed_in(&tenant, "root@example.com", Role::Admin);
        let reset = format!("/api/settings/users/{}/reset-factors", ada.id);
        assert_eq!(server.proved(&admin, "USER_ADMIN_CHANGE").post(&reset, &json!({})).status, 200);
        let secret = {
            assert_eq!(other.sign_in(&ada.email, ada.password).json()["status"], "SIGNED_IN");
            enrol_totp(server, &other)
        };
        server.env.advance(Duration::from_mins(5));
        let again = server.browser();
        let asked = again.sign_in(&ada.email, ada.password).json();
        let answer = again.verify(&asked["ticket"], "TOTP", &code(&secret, server, 0));
        assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
    });
}

#[test]
fn correct_code_resets_the_count() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        server.env.advance(Duration::from_mins(5));
        let other = server.browser();
        let asked = other.sign_in(&ada.email, ada.password).json();
        assert_eq!(other.verify(&asked["ticket"], "TOTP", "000000").status, 401);
        let right = other.verify(&asked["ticket"], "TOTP", &code(&secret, server, 0));
        assert_eq!(right.json()["status"], "SIGNED_IN");
        let id = ada.id.clone();
        assert_eq!(server.write(&tenant.id, async move |_, tx| tx.wrong_codes(&id).await), 0);
    });
}
