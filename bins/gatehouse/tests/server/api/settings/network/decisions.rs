//! Decisions of the policy, and what they are recorded as.

use directory::Role;
use serde_json::{Value, json};

use super::{HOME, OFFICE, POLICY, RULES, TEST, behind_a_proxy, is, on, program};
use crate::{
    api::auth::{
        foreign,
        passkeys::{enrol, first},
    },
    support::{Browser, PASSWORD, Server, authenticator, on_both},
};

#[test]
fn policy_test_returns_the_decision_and_hides_rules_from_members() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let admin = program(server, &tenant, OFFICE);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let test_policy = |body: Value| admin.post(TEST, &body).json();
        assert_eq!(test_policy(json!({ "ip": HOME })), json!({ "decision": "ALLOW", "reason": "MODE_OFF" }));
        for (cidr, label) in [("203.0.113.0/24", "Office"), ("203.0.0.0/16", "All"), ("127.0.0.1", "Here")] {
            admin.post(RULES, &json!({ "cidr": cidr, "label": label }));
        }
        let enforcement = json!({ "SIGN_IN": false, "DASHBOARD": false, "API": true });
        let body = on(true, json!({ "enforcement": enforcement }));
        assert_eq!(admin.put(POLICY, &body).status, 200);
        let matched = test_policy(json!({ "ip": OFFICE }));
        assert_eq!((&matched["decision"], &matched["reason"]), (&json!("ALLOW"), &json!("RULE_MATCH")));
        assert_eq!(matched["matchedRule"]["label"], "Office", "the most specific rule matches");
        assert_eq!(test_policy(json!({ "ip": "::ffff:203.0.113.7" }))["reason"], "RULE_MATCH");
        assert_eq!(
            test_policy(json!({ "ip": HOME })),
            json!({ "decision": "DENY", "reason": "NO_RULE_MATCH" })
        );
        assert_eq!(test_policy(json!({ "ip": HOME, "asAdmin": true }))["reason"], "ADMIN_BYPASS");
        assert_eq!(
            test_policy(json!({ "ip": HOME, "surface": "SIGN_IN" }))["reason"],
            "SURFACE_NOT_ENFORCED"
        );
        let seen = member.post(TEST, &json!({ "ip": OFFICE })).json();
        assert_eq!(seen, json!({ "decision": "ALLOW", "reason": "RULE_MATCH" }));
        assert!(member.get(POLICY).json().get("rules").is_none());

        let several = test_policy(json!({ "ips": [OFFICE, HOME] }));
        assert_eq!(
            several,
            json!({ "decisions": [
                { "ip": OFFICE, "decision": "ALLOW", "reason": "RULE_MATCH" },
                { "ip": HOME, "decision": "DENY", "reason": "NO_RULE_MATCH" },
            ] })
        );
        assert_eq!(test_policy(json!({ "ips": [] })), json!({ "decisions": [] }));
        for body in [
            json!({}),
            json!({ "ip": OFFICE, "ips": [OFFICE] }),
            json!({ "ip": "office" }),
            json!({ "ip": "203.0.113.0/24" }),
            json!({ "ip": OFFICE, "surface": "DOOR" }),
            json!({ "ips": vec![OFFICE; 1_001] }),
        ] {
            is(&admin.post(TEST, &body), 400, "INVALID_REQUEST");
        }
    });
}

#[test]
fn policy_applies_to_the_next_request_on_every_surface_and_instance() {
    behind_a_proxy(|server, from| {
        let tenant = server.tenant("acme");
        let (office, home) = (from(OFFICE), from(HOME));
        let bob = server.person(&tenant, "bob@example.com", Role::Member);
        assert_eq!(home.sign_in(&bob.email, PASSWORD).status, 200);
        let inside = program(server, &tenant, OFFICE);
        let (outside, unknown) = (inside.with("X-Forwarded-For", HOME), inside.with("X-Forwarded-For", "?"));
        let provider = |from: &str| tenant.scim.with("X-Forwarded-For", from);
        assert_eq!(inside.post(RULES, &json!({ "cidr": "203.0.113.0/24", "label": "Office" })).status, 200);
        for caller in [&outside, &unknown] {
            assert_eq!(caller.get("/api/me").status, 200, "the policy is not enforced yet");
        }

        assert_eq!(inside.put(POLICY, &on(false, json!({}))).status, 200);
        for refused in [home.get("/api/me"), outside.get("/api/me"), unknown.get("/api/me")] {
            is(&refused, 403, "NETWORK_POLICY_BLOCKED");
            assert!(refused.json().get("reason").is_none(), "the answer does not say why");
        }
        let page = home.with("Accept", "text/html").get("/account/security");
        assert_eq!((page.status, page.header("content-type")), (403, "text/html; charset=utf-8"));
        let refused = provider(HOME).get("/api/scim/v2/Users");
        is(&refused, 403, "NETWORK_POLICY_BLOCKED");
        assert_eq!(refused.json()["status"], "403");
        assert_eq!(inside.get("/api/me").status, 200);
        assert_eq!(provider(OFFICE).get("/api/scim/v2/Users").status, 200);
        assert_eq!(home.with("X-Forwarded-For", OFFICE).get("/api/me").status, 200, "the same session");
        assert_eq!(server.anonymous().with("X-Forwarded-For", HOME).get("/auth/login").status, 200);
        server.second(|second| {
            // The second instance trusts no proxy, so it sees this machine's address, and it caches the policy.
            let there = || home.at(second).get("/api/me");
            is(&there(), 403, "NETWORK_POLICY_BLOCKED");
            let rule = inside.post(RULES, &json!({ "cidr": "127.0.0.1", "label": "Here" })).json();
            assert_eq!(there().status, 200, "an added rule applies at once");
            let path = format!("{RULES}/{}", rule["id"].as_str().unwrap());
            assert_eq!(inside.delete(&path).status, 200);
            is(&there(), 403, "NETWORK_POLICY_BLOCKED");
            let enforcement = json!({ "SIGN_IN": true, "DASHBOARD": false, "API": true });
            assert_eq!(inside.put(POLICY, &on(false, json!({ "enforcement": enforcement }))).status, 200);
            assert_eq!(there().status, 200, "the dashboard is not enforced");
            assert_eq!(inside.put(POLICY, &on(false, json!({}))).status, 200);
            is(&there(), 403, "NETWORK_POLICY_BLOCKED");
        });

        // At sign-in: before a ticket or session is issued, and only after a correct password.
        is(&from(HOME).sign_in(&bob.email, "wrong"), 401, "INVALID_CREDENTIALS");
        let refused = from(HOME).sign_in(&bob.email, PASSWORD);
        is(&refused, 403, "NETWORK_POLICY_BLOCKED");
        assert_eq!(refused.header("set-cookie"), "");
        assert_eq!(office.sign_in(&bob.email, PASSWORD).json()["status"], "SIGNED_IN");
        let foreign = foreign::token(server, json!({ "email": bob.email }));
        for (from, status) in [(HOME, 403), (OFFICE, 200), (HOME, 403)] {
            let browser = self::from(server, from);
            browser.set("authjs.session-token", &foreign);
            assert_eq!(browser.get("/api/me").status, status, "a neighbour's session from {from}");
        }

        // A surface that is not enforced is open.
        let enforcement = json!({ "SIGN_IN": true, "DASHBOARD": false, "API": true });
        assert_eq!(inside.put(POLICY, &on(false, json!({ "enforcement": enforcement }))).status, 200);
        assert_eq!(home.get("/api/me").status, 200);
        is(&outside.get("/api/me"), 403, "NETWORK_POLICY_BLOCKED");
        // Administrators may bypass the policy. SCIM tokens and callers with an unknown address may not.
        assert_eq!(inside.put(POLICY, &on(true, json!({}))).status, 200);
        assert_eq!(outside.get("/api/me").status, 200);
        is(&unknown.get("/api/me"), 403, "NETWORK_POLICY_BLOCKED");
        is(&home.get("/api/me"), 403, "NETWORK_POLICY_BLOCKED");
        is(&provider(HOME).get("/api/scim/v2/Users"), 403, "NETWORK_POLICY_BLOCKED");
        // Add a rule.
        assert_eq!(outside.post(RULES, &json!({ "cidr": HOME, "label": "Home" })).status, 200);
        assert_eq!(home.get("/api/me").status, 200);
        assert_eq!(provider(HOME).get("/api/scim/v2/Users").status, 200);
        let other = server.tenant("other");
        let theirs = other.scim.with("X-Forwarded-For", "192.0.2.1").get("/api/scim/v2/Users");
        assert_eq!(theirs.status, 200, "other tenants are not affected");
    });
}

#[test]
fn every_kind_of_sign_in_is_blocked_after_the_first_factor() {
    behind_a_proxy(|server, from| {
        let (acme, globex) = (server.tenant("acme"), server.tenant("globex"));
        let ada = server.person(&acme, "ada@example.com", Role::Member);
        server.person(&globex, "ada@example.com", Role::Member);
        let signed_in = from(OFFICE);
        let body = json!({ "tenant": "acme", "email": ada.email, "password": PASSWORD });
        assert_eq!(signed_in.post("/api/auth/sign-in", &body).json()["status"], "SIGNED_IN");
        let mut device = authenticator();
        assert_eq!(enrol(&signed_in, &mut device).status, 200);
        let inside = program(server, &acme, OFFICE);
        let admin = from(OFFICE);
        server.person(&acme, "admin@example.com", Role::Admin);
        assert_eq!(admin.sign_in("admin@example.com", PASSWORD).json()["status"], "SIGNED_IN");
        let invited = admin.post("/api/settings/users", &json!({ "email": "new@example.com" })).json();
        let token = invited["link"].as_str().unwrap().split_once("#link=").unwrap().1.to_owned();
        inside.post(RULES, &json!({ "cidr": "203.0.113.0/24", "label": "Office" }));
        assert_eq!(inside.put(POLICY, &on(false, json!({}))).status, 200);

        // With a passkey, even an invalid one.
        is(&first(&from(HOME), &mut device).1, 403, "NETWORK_POLICY_BLOCKED");
        assert_eq!(first(&from(OFFICE), &mut device).1.json()["status"], "SIGNED_IN");
        // With a password that matches in two tenants, one of which blocks this address: no choice is offered.
        let home = from(HOME);
        assert_eq!(home.sign_in("ada@example.com", PASSWORD).json()["status"], "SIGNED_IN");
        assert_eq!(home.get("/api/me").json()["tenant"]["slug"], "globex");
        let choice = from(OFFICE).sign_in("ada@example.com", PASSWORD).json();
        assert_eq!(choice["status"], "TENANT_CHOICE");
        let body = json!({ "ticket": choice["ticket"], "tenant": "acme" });
        is(&from(HOME).post("/api/auth/sign-in/tenant", &body), 403, "NETWORK_POLICY_BLOCKED");
        // With a link, which stays valid.
        let redeem = |from: &Browser| {
            from.post(
                "/api/auth/links/redeem",
                &json!({ "token": token, "password": "a password of some length" }),
            )
        };
        is(&redeem(&from(HOME)), 403, "NETWORK_POLICY_BLOCKED");
        assert_eq!(redeem(&from(OFFICE)).json()["status"], "SIGNED_IN");
    });
}

fn from(server: &Server, address: &str) -> Browser {
    server.browser().with("X-Forwarded-For", address)
}

#[test]
fn impact_lists_sessions_and_tokens_that_would_be_blocked() {
    behind_a_proxy(|server, from| {
        let tenant = server.tenant("acme");
        let (office, home) = (from(OFFICE), from(HOME));
        let ada = server.person(&tenant, "ada@example.com", Role::Member);
        let bob = server.person(&tenant, "bob@example.com", Role::Admin);
        for (browser, person) in [(&office, &ada), (&home, &ada), (&home, &bob)] {
            *browser.cookies.borrow_mut() = std::collections::BTreeMap::new();
            assert_eq!(browser.sign_in(&person.email, PASSWORD).status, 200);
        }
        let inside = program(server, &tenant, OFFICE);
        assert_eq!(inside.get("/api/me").status, 200);
        assert_eq!(tenant.scim.with("X-Forwarded-For", HOME).get("/api/scim/v2/Users").status, 200);
        let preview = |mut body: Value, rules: Value| {
            body["rules"] = rules;
            inside.post("/api/settings/network-policy/impact", &body)
        };
        let impact = || preview(on(true, json!({})), json!(["203.0.113.0/24"])).json();
        // Write the last use as the server does with a delay.
        let id = tenant.token_id.to_string();
        server.write(&tenant.id, async move |ctx, tx| {
            let used = |ip: &str, at| {
                let ip = Some(ip.parse().unwrap());
                store::LastUse { of: store::CredentialType::ScimToken, id: id.clone(), at, ip }
            };
            // Another instance records an older use late.
            tx.note_uses(&[used(HOME, ctx.now), used("203.0.113.99", ctx.now.plus_millis(-1000))]).await
        });
        let found = impact();
        let sessions = found["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 1, "administrators have the bypass: {found}");
        assert_eq!((&sessions[0]["userId"], &sessions[0]["ip"]), (&json!(ada.id.as_str()), &json!(HOME)));
        assert_eq!(found["tokens"], json!([{ "id": tenant.token_id.as_str(), "kind": "SCIM", "ip": HOME }]));
        let without = preview(on(false, json!({})), json!(["203.0.113.0/24"])).json();
        assert_eq!(without["sessions"].as_array().unwrap().len(), 2);
        let nowhere = preview(on(false, json!({})), json!([])).json();
        assert_eq!(nowhere["sessions"].as_array().unwrap().len(), 3);
        let off = preview(on(false, json!({ "mode": "OFF" })), json!([])).json();
        assert_eq!(off, json!({ "sessions": [], "tokens": [] }));
        let bad = preview(on(true, json!({})), json!(["203.0.113.0/24", "10.0.0.1/8"]));
        is(&bad, 400, "INVALID_CIDR");
        assert!(bad.json()["error"].as_str().unwrap().starts_with("rules[1]: "), "{}", bad.text);
        // Idle sessions are not listed, and neither are credentials that were used long ago.
        let everybody = || preview(on(false, json!({})), json!([])).json();
        server.env.advance(std::time::Duration::from_hours(13));
        assert_eq!(everybody()["sessions"], json!([]));
        assert_eq!(everybody()["tokens"].as_array().unwrap().len(), 1);
        server.env.advance(std::time::Duration::from_hours(31 * 24));
        assert_eq!(everybody(), json!({ "sessions": [], "tokens": [] }));
        assert_eq!(inside.get(POLICY).json()["mode"], "OFF", "the policy is unchanged");
    });
}

#[test]
fn blocked_requests_are_recorded_once_per_address_and_interval() {
    behind_a_proxy(|server, _| {
        let tenant = server.tenant("acme");
        let inside = program(server, &tenant, OFFICE);
        inside.post(RULES, &json!({ "cidr": "203.0.113.0/24", "label": "Office" }));
        inside.put(POLICY, &on(false, json!({})));
        for _ in 0..20 {
            for from in [HOME, "192.0.2.1"] {
                assert_eq!(tenant.scim.with("X-Forwarded-For", from).get("/api/scim/v2/Users").status, 403);
            }
        }
        let blocked = || {
            let entries = server.entries(&tenant).into_iter();
            entries.filter(|entry| entry.action == "ACCOUNT_NETWORK_POLICY_BLOCKED").collect::<Vec<_>>()
        };
        crate::support::eventually(|| blocked().len() == 2);
        let entry = blocked().pop().unwrap();
        assert_eq!((entry.actor_type.as_str(), entry.resource_type.as_str()), ("SCIM", "tenant"));
        assert_eq!(entry.resource_id, tenant.id.as_str());
        let metrics = server.anonymous().get("/metrics").text;
        let count = metrics
            .lines()
            .find_map(|line| line.strip_prefix(r#"gatehouse_network_denials_total{surface="API"} "#));
        assert!(count.unwrap().parse::<u64>().unwrap() >= 40, "{count:?}");
    });
}
