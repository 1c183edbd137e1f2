//! Limits on sign-in attempts.

use std::time::Duration;

use directory::Role;

use store::testing::Kind;

use super::enrolment::enrol_totp;
use crate::support::{Answer, Browser, Server, code};

/// Runs a test on servers behind a trusted proxy.
fn behind_a_proxy(test: impl Fn(&Server, &dyn Fn(&str) -> Browser)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        test(&server, &|from| server.browser().with("X-Forwarded-For", from));
    }
}

fn limited(answer: &Answer) -> bool {
    if answer.status == 429 {
        assert_eq!(answer.json()["code"], "RATE_LIMITED");
        assert!(answer.header("retry-after").parse::<u64>().unwrap() >= 1);
    }
    answer.status == 429
}

#[test]
fn passwords_are_limited_per_account_and_address() {
    behind_a_proxy(|server, from| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let here = from("203.0.113.1");
        for _ in 0..10 {
            assert_eq!(here.sign_in(&ada.email, "wrong").status, 401);
        }
        assert!(limited(&here.sign_in(&ada.email, ada.password)), "the correct password too");
        assert!(limited(&here.sign_in("ADA@example.com", "wrong")), "the case of letters does not matter");
        assert_eq!(
            from("203.0.113.2").sign_in(&ada.email, ada.password).status,
            200,
            "another address is not limited"
        );
        for _ in 0..10 {
            assert_eq!(here.sign_in("nobody@example.com", "wrong").status, 401);
        }
        assert!(limited(&here.sign_in("nobody@example.com", "wrong")), "unknown users are limited too");
        server.env.advance(Duration::from_mins(5));
        assert_eq!(here.sign_in(&ada.email, ada.password).status, 200);
        // An IPv6 network counts as one address.
        for host in 1..=10 {
            assert_eq!(from(&format!("2001:db8:1:2::{host}")).sign_in(&ada.email, "wrong").status, 401);
        }
        assert!(limited(&from("2001:db8:1:2:ffff::1").sign_in(&ada.email, "wrong")));
        assert_eq!(from("2001:db8:1:3::1").sign_in(&ada.email, "wrong").status, 401);
    });
}

#[test]
fn passwords_are_limited_per_address_and_for_unknown_addresses() {
    behind_a_proxy(|server, from| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let known = from("198.51.100.1");
        assert_eq!(known.sign_in(&ada.email, ada.password).status, 200);
        // The first sign-in came from an unknown address, too.
        for host in 1..=49 {
            assert_eq!(from(&format!("203.0.113.{host}")).sign_in(&ada.email, "wrong").status, 401, "{host}");
        }
        assert!(limited(&from("203.0.113.50").sign_in(&ada.email, ada.password)));
        assert_eq!(
            known.sign_in(&ada.email, ada.password).status,
            200,
            "the user's known address is not limited"
        );
        let spray = from("192.0.2.1");
        for user in 0..100 {
            assert_eq!(spray.sign_in(&format!("u{user}@example.com"), "wrong").status, 401, "{user}");
        }
        assert!(limited(&spray.sign_in("u100@example.com", "wrong")));
    });
}

#[test]
fn codes_are_limited_per_address_and_account_without_limiting_passwords() {
    behind_a_proxy(|server, from| {
        let tenant = server.tenant("acme");
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let browser = from("198.51.100.1");
        browser.sign_in(&ada.email, ada.password);
        let secret = enrol_totp(server, &browser);
        let recovery = super::enrolment::codes(&browser);
        server.env.advance(Duration::from_mins(5));
        let here = from("203.0.113.1");
        let ticket = || here.sign_in(&ada.email, ada.password).json()["ticket"].clone();
        for round in 0..2 {
            let ticket = ticket();
            for _ in 0..5 {
                assert_eq!(here.verify(&ticket, "TOTP", "000000").status, 401, "{round}");
            }
        }
        let live = ticket();
        assert!(live.is_string(), "the password is not locked out");
        assert!(limited(&here.verify(&live, "TOTP", &code(&secret, server, 0))));
        let elsewhere = from("203.0.113.2");
        assert!(limited(&elsewhere.verify(&live, "TOTP", &code(&secret, server, 0))), "by account");
        assert!(
            limited(&elsewhere.verify(&live, "RECOVERY_CODE", &recovery[0])),
            "TOTP and recovery codes share the limit"
        );
        server.env.advance(Duration::from_mins(5));
        let live = ticket();
        for _ in 0..4 {
            assert_eq!(here.verify(&live, "RECOVERY_CODE", "wrong").status, 401);
        }
        let other = ticket();
        assert_eq!(here.verify(&other, "RECOVERY_CODE", "wrong").status, 401);
        assert!(limited(&here.verify(&other, "RECOVERY_CODE", &recovery[0])), "five attempts per address");
        assert_eq!(elsewhere.verify(&other, "RECOVERY_CODE", &recovery[0]).json()["status"], "SIGNED_IN");
    });
}
