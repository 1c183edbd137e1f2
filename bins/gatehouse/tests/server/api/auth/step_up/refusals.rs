//! Each statement of the threat model in `docs/design/threat-model.md`, tested from outside.

use std::time::Duration;

use directory::Role;
use serde_json::json;
use store::testing::Kind;

use super::{
    super::enrolment::{codes, enrol_totp},
    TOKEN, answer_with, challenge, consume, invalid, is, status, token,
};
use crate::support::{Server, code, on_both};

const SEAL: &str = "PAYROLL_SEAL";

#[test]
fn stolen_step_up_token_is_refused_and_stays_valid_for_its_owner() {
    for kind in Kind::ALL {
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        let (acme, globex) = (server.tenant("acme"), server.tenant("globex"));
        let (ada, home) = server.signed_in(&acme, "ada@example.com", Role::Member);
        let at = |browser: &crate::support::Browser, ip: &str| browser.with("X-Forwarded-For", ip);
        let here = at(&home, "192.0.2.7");
        let secret = enrol_totp(&server, &here);
        // The session has a new ID now.
        home.cookies.replace(here.cookies.borrow().clone());
        let token = token(&server, &here, &secret, SEAL);

        // Any other address is refused; the same address in its other form is not.
        for elsewhere in ["192.0.2.8", "2001:db8::7", "::ffff:192.0.2.9"] {
            invalid(&consume(&at(&home, elsewhere), &token, SEAL), "IP_MISMATCH");
        }
        // With a proxy that hides the address, there is nothing to compare.
        is(&consume(&at(&home, "unknown"), &token, SEAL), 400, "INVALID_REQUEST");
        is(&challenge(&at(&home, "unknown"), SEAL), 400, "INVALID_REQUEST");
        // Another session of the same user, and another user at the same address.
        let second = server.browser();
        at(&second, "192.0.2.7").sign_in(&ada.email, ada.password);
        let (_, bob) = server.signed_in(&acme, "bob@example.com", Role::Admin);
        let (_, eve) = server.signed_in(&globex, "eve@example.com", Role::Admin);
        for other in [&bob, &eve] {
            invalid(&consume(&at(other, "192.0.2.7"), &token, SEAL), "USER_MISMATCH");
        }
        let asked = at(&second, "192.0.2.7").sign_in(&ada.email, ada.password).json();
        server.env.advance(Duration::from_secs(30));
        let verified = server.browser();
        let verified = at(&verified, "192.0.2.7");
        verified.verify(&asked["ticket"], "TOTP", &code(&secret, &server, 0));
        invalid(&consume(&verified, &token, SEAL), "SESSION_MISMATCH");
        // Another purpose.
        invalid(&consume(&here, &token, "PAYROLL_TRANSMIT_ACH"), "PURPOSE_MISMATCH");
        // None of this consumed the token, and the audit log shows all attempts.
        assert_eq!(status(&here, SEAL)["active"], true);
        assert_eq!(consume(&at(&home, "::ffff:192.0.2.7"), &token, SEAL).status, 200, "IPv4 in IPv6's form");
        invalid(&consume(&here, &token, SEAL), "ALREADY_USED");
        crate::support::eventually(|| {
            let entries = server.entries(&acme);
            let refused = entries.iter().filter(|entry| entry.action == "ACCOUNT_STEPUP_REFUSED");
            let reasons: Vec<_> = refused.map(|entry| entry.metadata.clone()).collect();
            ["IP_MISMATCH", "USER_MISMATCH", "SESSION_MISMATCH", "PURPOSE_MISMATCH", "ALREADY_USED"]
                .iter()
                .all(|reason| reasons.iter().any(|data| data.contains(reason)))
        });
    }
}

#[test]
fn forged_and_expired_step_up_tokens_are_refused() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let token = token(server, &browser, &secret, SEAL);
        for odd in
            ["x", "stp1.a.b", &token[..token.len() - 1], &format!("{token}A"), &format!("{token}, {token}")]
        {
            invalid(&consume(&browser, odd, SEAL), "MALFORMED");
        }
        let twice = browser.with(TOKEN, &token).with(TOKEN, &token);
        invalid(&twice.post("/api/auth/step-up/consume", &json!({ "purpose": SEAL })), "MALFORMED");
        let (head, tag) = token.rsplit_once('.').unwrap();
        let other = if tag.starts_with('A') { "B" } else { "A" };
        invalid(&consume(&browser, &format!("{head}.{other}{}", &tag[1..]), SEAL), "SIGNATURE_INVALID");
        let key = head.split('.').nth(1).unwrap();
        let renamed = token.replacen(key, "other", 1);
        invalid(&consume(&browser, &renamed, SEAL), "SIGNATURE_INVALID");
        // Where no token is needed it is ignored, valid or not.
        assert_eq!(browser.with(TOKEN, "nonsense").get("/api/me").status, 200);
        // One minute, to the millisecond. A clock that is behind extends it, one that is ahead shortens it.
        server.env.advance(Duration::from_secs(59));
        assert_eq!(status(&browser, SEAL)["active"], true);
        server.env.advance(Duration::from_secs(1));
        invalid(&consume(&browser, &token, SEAL), "EXPIRED");
        assert_eq!(status(&browser, SEAL)["active"], false);
    });
}

#[test]
fn changed_credential_voids_step_up_tokens() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let secret = enrol_totp(server, &browser);
        let change = |purpose: &str| {
            server.env.advance(Duration::from_mins(1));
            token(server, &browser, &secret, purpose)
        };
        let id = browser.get("/api/me/factors").json()["factors"][0]["id"].as_str().unwrap().to_owned();
        // The password changes.
        let (sealing, changing) = (change(SEAL), server.proof(&browser, "ACCOUNT_SECURITY_CHANGE"));
        let body = json!({ "currentPassword": ada.password, "newPassword": "words in another order" });
        assert_eq!(browser.with(TOKEN, &changing).post("/api/me/password", &body).status, 200);
        invalid(&consume(&browser, &sealing, SEAL), "REVOKED");
        assert_eq!(status(&browser, SEAL)["active"], false);
        // A reset by an administrator ends the session, whether redeemed or not, and the token with it.
        let sealing = change(SEAL);
        let waiting = challenge(&browser, SEAL).json();
        // A factor changes.
        let removing = server.proof(&browser, "ACCOUNT_SECURITY_CHANGE");
        assert_eq!(browser.with(TOKEN, &removing).delete(&format!("/api/me/factors/{id}")).status, 200);
        invalid(&consume(&browser, &sealing, SEAL), "REVOKED");
        is(&answer_with(&browser, &waiting, "TOTP", &code(&secret, server, 1)), 401, "TICKET_INVALID");
        // The session ends: a thief of the token has no session to use it in, and the user's status shows none.
        let other = server.browser();
        assert_eq!(other.sign_in(&ada.email, "words in another order").status, 200);
        let sealing = server.proof(&browser, SEAL);
        assert_eq!(status(&other, SEAL)["active"], true, "step-up is per user, not per session");
        other.delete(&format!("/api/me/sessions/{}", browser.cookie("as_sid")));
        is(&consume(&browser, &sealing, SEAL), 401, "SESSION_REVOKED");
        assert_eq!(status(&other, SEAL)["active"], false);
    });
}

#[test]
fn failed_action_keeps_the_step_up_token() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let proved = server.proved(&browser, "USER_ADMIN_CHANGE");
        let own = format!("/api/settings/users/{}", ada.id);
        is(&proved.send("PATCH", &own, Some(&json!({ "role": 7 }))), 400, "INVALID_REQUEST");
        is(&proved.delete("/api/settings/users/usr_06gzkadrwwt5d9z93ens6801xc"), 404, "NOT_FOUND");
        is(&proved.delete(&own), 409, "CONFLICT");
        let invited = json!({ "email": ada.email, "role": "ADMIN" });
        is(&proved.post("/api/settings/users", &invited), 409, "uniqueness");
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        assert_eq!(proved.delete(&format!("/api/settings/users/{}", bob.id)).status, 200);
        // With the token consumed, other errors are still reported first.
        is(&proved.delete(&format!("/api/settings/users/{}", bob.id)), 404, "NOT_FOUND");
        invalid(&proved.post(&format!("{own}/reset-factors"), &json!({})), "ALREADY_USED");
    });
}

#[test]
fn code_works_once_across_sign_in_and_step_up() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        let recovery = codes(&browser);
        let asked = challenge(&browser, SEAL).json();
        is(&answer_with(&browser, &asked, "TOTP", &code(&secret, server, 0)), 401, "FACTOR_INVALID");
        server.env.advance(Duration::from_secs(30));
        let now = code(&secret, server, 0);
        let ticket = server.browser().sign_in(&ada.email, ada.password).json()["ticket"].clone();
        assert_eq!(server.browser().verify(&ticket, "TOTP", &now).status, 200);
        is(&answer_with(&browser, &asked, "TOTP", &now), 401, "FACTOR_INVALID");
        server.env.advance(Duration::from_secs(30));
        let now = code(&secret, server, 0);
        assert_eq!(answer_with(&browser, &asked, "TOTP", &now).status, 200);
        let ticket = server.browser().sign_in(&ada.email, ada.password).json()["ticket"].clone();
        is(&server.browser().verify(&ticket, "TOTP", &now), 401, "FACTOR_INVALID");
        // Recovery codes work for signing in only, and trying one here does not consume it.
        is(&answer_with(&browser, &asked, "RECOVERY_CODE", &recovery[0]), 403, "FACTOR_NOT_PERMITTED");
        assert_eq!(server.browser().verify(&ticket, "RECOVERY_CODE", &recovery[0]).status, 200);
    });
}

#[test]
fn challenge_accepts_five_wrong_codes_and_session_has_five_challenges() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (ada, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let secret = enrol_totp(server, &browser);
        server.env.advance(Duration::from_mins(5));
        let asked = challenge(&browser, SEAL).json();
        for _ in 0..5 {
            is(&answer_with(&browser, &asked, "TOTP", "000000"), 401, "FACTOR_INVALID");
        }
        let right = code(&secret, server, 0);
        is(&answer_with(&browser, &asked, "TOTP", &right), 401, "TICKET_INVALID");
        server.env.advance(Duration::from_mins(5));
        let first = challenge(&browser, SEAL).json();
        for _ in 0..5 {
            assert_eq!(challenge(&browser, SEAL).status, 200);
        }
        let right = code(&secret, server, 0);
        is(&answer_with(&browser, &first, "TOTP", &right), 401, "TICKET_INVALID");
        // The challenge is unknown to other sessions and to other users.
        let asked = challenge(&browser, SEAL).json();
        let ticket = server.browser().sign_in(&ada.email, ada.password).json()["ticket"].clone();
        let other = server.browser();
        assert_eq!(other.verify(&ticket, "TOTP", &code(&secret, server, 1)).status, 200);
        is(&answer_with(&other, &asked, "TOTP", &right), 401, "TICKET_INVALID");
        let (_, bob) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        is(&answer_with(&bob, &asked, "TOTP", &right), 401, "TICKET_INVALID");
        server.env.advance(Duration::from_mins(5));
        is(&answer_with(&browser, &asked, "TOTP", &code(&secret, server, 0)), 401, "TICKET_INVALID");
    });
}
