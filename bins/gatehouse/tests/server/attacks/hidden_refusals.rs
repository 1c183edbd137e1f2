//! An attacker causes many harmless refusals to hide a serious one in the audit log.

use std::time::Duration;

use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Answer, Browser, Server, Tenant, eventually};

const SEAL: &str = "PAYROLL_SEAL";

fn consume(browser: &Browser, token: &str) -> Answer {
    let body = json!({ "purpose": SEAL });
    browser.with("X-StepUp-Token", token).post("/api/auth/step-up/consume", &body)
}

/// Returns the payloads of the entries about refused step-up tokens.
fn refused(server: &Server, tenant: &Tenant) -> Vec<Value> {
    let entries = server.entries(tenant).into_iter();
    let refused = entries.filter(|entry| entry.action == "ACCOUNT_STEPUP_REFUSED");
    refused.map(|entry| serde_json::from_str(&entry.metadata).unwrap()).collect()
}

fn of_reason<'r>(refused: &'r [Value], reason: &str) -> Vec<&'r Value> {
    refused.iter().filter(|data| data["reason"] == reason).collect()
}

#[test]
fn harmless_refusals_do_not_hide_a_serious_one_and_are_summarized() {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        let token = server.proof(&browser, SEAL);
        for number in 0..25 {
            let elsewhere = browser.with("X-Forwarded-For", &format!("192.0.2.{number}"));
            assert_eq!(consume(&elsewhere, "x").status, 401);
        }
        let (head, tag) = token.rsplit_once('.').unwrap();
        let other = if tag.starts_with('A') { "B" } else { "A" };
        let forged = format!("{head}.{other}{}", &tag[1..]);
        let there = browser.with("X-Forwarded-For", "192.0.2.99");
        assert_eq!(consume(&there, &forged).status, 401);
        eventually(|| refused(&server, &tenant).len() >= 21);
        let entries = refused(&server, &tenant);
        assert_eq!(of_reason(&entries, "SIGNATURE_INVALID").len(), 1, "{entries:?}");
        assert_eq!(of_reason(&entries, "MALFORMED").len(), 20, "{entries:?}");
        assert!(entries.iter().all(|data| data.get("suppressed").is_none()));

        // The window ends even without a further refusal.
        server.env.advance(Duration::from_secs(11));
        eventually(|| refused(&server, &tenant).len() == 22);
        let entries = refused(&server, &tenant);
        let closing: Vec<_> = entries.iter().filter(|data| data.get("suppressed").is_some()).collect();
        assert_eq!(
            (closing.len(), &closing[0]["suppressed"], &closing[0]["reason"]),
            (1, &json!(5), &json!("MALFORMED"))
        );
    }
}

#[test]
fn summary_is_recorded_when_the_server_stops_within_the_window() {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let server = Server::start(kind, &[]);
        let tenant = server.tenant("acme");
        let (_, browser) = server.signed_in(&tenant, "ada@example.com", Role::Member);
        server.second(|address| {
            let there = browser.at(address);
            for _ in 0..4 {
                assert_eq!(consume(&there, "x").status, 401);
            }
            eventually(|| refused(&server, &tenant).len() == 1);
        });
        let entries = refused(&server, &tenant);
        let numbers: Vec<_> = entries.iter().map(|data| data.get("suppressed").cloned()).collect();
        assert_eq!(numbers.len(), 2, "{entries:?}");
        assert!(numbers.contains(&Some(json!(3))) && numbers.contains(&None), "{numbers:?}");
    }
}
