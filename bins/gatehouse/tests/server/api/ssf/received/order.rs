//! Tokens that arrive late, repeatedly, or in another order.

use std::time::Duration;

use directory::Role;
use kernel::Env;
use serde_json::json;

use super::{Site, transmitter::uri};
use crate::support::on_both;

#[test]
fn older_event_does_not_undo_a_later_one() {
    on_both(|server| {
        let consequences =
            json!({ "accountDisabled": "DISABLE_USER", "deviceComplianceChange": "END_SESSIONS" });
        let site = Site::new(server, &consequences);
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        let user = site.user("ada@corp.example");
        let disabled_at = server.env.now();
        server.env.advance(Duration::from_mins(1));
        site.accepted(server, "enabled", "account-enabled", &user);
        site.accepted_at(server, "disabled", "account-disabled", &user, disabled_at);
        let entry = site.received(server, "disabled");
        assert_eq!(
            (&entry["outcome"], &entry["reason"]),
            (&json!("RECORDED"), &json!("SUPERSEDED")),
            "{entry}"
        );
        assert_eq!(ada.get("/api/me").status, 200);
        // Another state of the same user.
        site.accepted_at(server, "device", "device-compliance-change", &user, disabled_at);
        assert_eq!(ada.get("/api/me").status, 401);
        server.env.advance(Duration::from_mins(1));
        site.accepted(server, "again", "account-disabled", &user);
        assert_eq!(site.received(server, "again")["outcome"], "USER_DISABLED");
    });
}

#[test]
fn only_an_event_that_restores_a_state_stops_older_ones() {
    on_both(|server| {
        let consequences = json!({ "accountDisabled": "DISABLE_USER", "riskLevelChange": "END_SESSIONS" });
        let site = Site::new(server, &consequences);
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let user = site.user("ada@corp.example");
        let early = server.env.now();
        server.env.advance(Duration::from_secs(30));
        // The risk of the user's device fell, the user's own is high.
        let mut fell = site.claims("fell", "risk-level-change", &user, server.env.now());
        fell["events"] =
            json!({ uri("risk-level-change"): { "principal": "DEVICE", "current_level": "LOW" } });
        assert_eq!(site.post(server, &site.token(&fell)).status, 202);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        site.accepted_at(server, "high", "risk-level-change", &user, early);
        assert_eq!(site.received(server, "high")["outcome"], "SESSIONS_ENDED");
        assert_eq!(ada.get("/api/me").status, 401);
        fell["jti"] = json!("fell too");
        fell["events"] = json!({ uri("risk-level-change"): { "principal": "USER", "current_level": "LOW" } });
        assert_eq!(site.post(server, &site.token(&fell)).status, 202);
        site.accepted_at(server, "high before", "risk-level-change", &user, early);
        assert_eq!(site.received(server, "high before")["reason"], "SUPERSEDED");
        // The deletion is only recorded, and is no reason to leave the account enabled.
        site.accepted(server, "purged", "account-purged", &user);
        site.accepted_at(server, "disabled", "account-disabled", &user, early);
        assert_eq!(site.received(server, "disabled")["outcome"], "USER_DISABLED");
    });
}

#[test]
fn concurrent_copies_of_a_token_have_one_effect() {
    on_both(|server| {
        let site = Site::new(server, &json!({ "sessionRevoked": "END_SESSIONS" }));
        server.person(&site.oidc.tenant, "ada@corp.example", Role::Member);
        let ada = site.signed_in(server, "ada@corp.example", "s1");
        let user = site.user("ada@corp.example");
        let token = site.token(&site.claims("e1", "session-revoked", &user, server.env.now()));
        let (transmitter, header) = (&site.transmitter, site.transmitter["authorization"].as_str());
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let post = || super::transmitter::post_as(server, transmitter, header, &token).status;
            let posting: Vec<_> = (0..8).map(|_| scope.spawn(post)).collect();
            posting.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(statuses, [202; 8]);
        site.received(server, "e1");
        assert_eq!(ada.get("/api/me").status, 401);
        // The ID is remembered for as long as the token is accepted.
        server.env.advance(Duration::from_hours(24 * 8));
        assert_eq!(site.post(server, &token).status, 400);
        assert_eq!(site.refusals(server)[0]["reason"], "ISSUED_TOO_LONG_AGO");
    });
}
