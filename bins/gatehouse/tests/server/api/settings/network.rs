//! The network policy.

use directory::Role;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::{
    api::auth::{
        foreign,
        passkeys::{enrol, first},
        races::at_once,
    },
    support::{Answer, Browser, PASSWORD, Server, Tenant, authenticator, on_both},
};

const POLICY: &str = "/api/settings/network-policy";
const RULES: &str = "/api/settings/network-policy/rules";
const TEST: &str = "/api/settings/network-policy/test";
const OFFICE: &str = "203.0.113.7";
const HOME: &str = "198.51.100.7";

/// Runs a test on servers behind a trusted proxy.
fn behind_a_proxy(test: impl Fn(&Server, &dyn Fn(&str) -> Browser)) {
    for kind in Kind::ALL {
        println!("on {kind:?}");
        let server = Server::start(kind, &[("trusted_proxies", "127.0.0.1")]);
        test(&server, &|from| server.browser().with("X-Forwarded-For", from));
    }
}

fn is(answer: &Answer, status: u16, code: &str) {
    assert_eq!((answer.status, &answer.json()["code"]), (status, &json!(code)), "{}", answer.text);
}

/// Returns an enforced policy on all surfaces, with these changed members.
#[expect(clippy::needless_pass_by_value, reason = "written where it is called")]
fn on(admin_bypass: bool, more: Value) -> Value {
    let enforcement = json!({ "SIGN_IN": true, "DASHBOARD": true, "API": true });
    let mut body = json!({ "mode": "ALLOWLIST", "enforcement": enforcement, "adminBypass": admin_bypass });
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

/// Returns an administrator's token client, which needs no step-up.
fn program(server: &Server, tenant: &Tenant, from: &str) -> Browser {
    let admin = server.person(tenant, &format!("program@{}.example", tenant.id.key()), Role::Admin);
    let raw = server.write(&tenant.id, async move |ctx, tx| {
        let scopes = vec![tokens::Scope::AdminTenant, tokens::Scope::ReadProfile];
        let new = tokens::pat::NewPat { name: "program".into(), scopes, expires_in_days: None };
        Ok(tokens::pat::mint(ctx, tx, &admin.id, new).await.unwrap().1)
    });
    let header = format!("Bearer {}", raw.expose());
    server.browser().with("Authorization", &header).with("X-Forwarded-For", from)
}

#[test]
fn everybody_reads_the_policy_and_administrators_change_it_with_a_step_up() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, member) = server.signed_in(&tenant, "bob@example.com", Role::Member);
        let off = json!({
            "mode": "OFF",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": true },
            "adminBypass": true,
        });
        assert_eq!(member.get(POLICY).json(), off);
        let mut with_rules = off.clone();
        with_rules["rules"] = json!([]);
        assert_eq!(admin.get(POLICY).json(), with_rules);
        assert_eq!(member.put(POLICY, &off).json()["reason"], "ROLE_REQUIRED");
        assert_eq!(member.post(RULES, &json!({})).json()["reason"], "ROLE_REQUIRED");

        let asked = admin.put(POLICY, &on(true, json!({})));
        is(&asked, 401, "STEP_UP_REQUIRED");
        assert_eq!(asked.json()["purpose"], "NETWORK_POLICY_CHANGE");
        let proved = || server.proved(&admin, "NETWORK_POLICY_CHANGE");
        for (body, begins) in [
            (json!({ "mode": "ALLOWLIST", "adminBypass": true }), "enforcement: is required"),
            (on(true, json!({ "mode": "DENYLIST" })), "mode: "),
            (
                on(true, json!({ "enforcement": { "SIGN_IN": true, "DASHBOARD": true } })),
                "enforcement.API: is required",
            ),
            (on(true, json!({ "rules": [] })), "rules: "),
            (on(true, json!({ "acknowledge": ["EVERYTHING"] })), "acknowledge: "),
        ] {
            let refused = proved().put(POLICY, &body);
            is(&refused, 400, "INVALID_REQUEST");
            let error = refused.json()["error"].as_str().unwrap().to_owned();
            assert!(error.starts_with(begins), "{error}");
        }

        let added = proved().post(RULES, &json!({ "cidr": "127.0.0.1", "label": " This machine " }));
        let rule = added.json();
        assert_eq!((&rule["cidr"], &rule["label"]), (&json!("127.0.0.1/32"), &json!("This machine")));
        let id = rule["id"].as_str().unwrap().to_owned();
        let set = proved().put(POLICY, &on(false, json!({})));
        assert_eq!((set.status, &set.json()["rules"][0]), (200, &rule), "{}", set.text);
        let one = format!("{RULES}/{id}");
        let renamed = proved().send("PATCH", &one, Some(&json!({ "label": "Here" })));
        assert_eq!(renamed.json()["label"], "Here");
        assert_eq!(proved().send("PATCH", &one, Some(&json!({ "label": "Here" }))).status, 200);
        is(&proved().delete(&one), 409, "LOCKOUT_PROTECTION");
        let off_again = proved().put(POLICY, &off);
        assert_eq!(off_again.status, 200, "{}", off_again.text);
        assert_eq!(proved().delete(&one).text, r#"{"deleted":true}"#);
        is(&proved().delete(&one), 404, "NOT_FOUND");
        is(&proved().send("PATCH", &one, Some(&json!({ "label": "x" }))), 404, "NOT_FOUND");

        let entries = server.entries(&tenant);
        let count = |action: &str| entries.iter().filter(|entry| entry.action == action).count();
        assert_eq!(count("ACCOUNT_NETWORK_POLICY_CHANGED"), 2);
        for action in ["ADDED", "CHANGED", "REMOVED"] {
            assert_eq!(count(&format!("ACCOUNT_NETWORK_RULE_{action}")), 1, "{action}");
        }
    });
}

#[test]
fn ranges_are_strict_canonical_and_unique() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let admin = program(server, &tenant, OFFICE);
        let add = |cidr: &str| admin.post(RULES, &json!({ "cidr": cidr, "label": "x" }));
        for odd in ["", "10.0.0.0/08", "10.0.0.0/+8", " 10.0.0.0/8", "10.0.0.0/33", "fe80::1%eth0", "office"]
        {
            let refused = add(odd);
            is(&refused, 400, "INVALID_CIDR");
            assert!(refused.json()["error"].as_str().unwrap().starts_with("cidr: "), "{}", refused.text);
        }
        let refused = add("203.0.113.7/24");
        is(&refused, 400, "INVALID_CIDR");
        assert!(refused.text.contains("203.0.113.0/24"), "{}", refused.text);
        assert_eq!(add("203.0.113.0/24").status, 200);
        is(&add("203.0.113.0/24"), 400, "DUPLICATE_CIDR");
        is(&add("::ffff:203.0.113.0/120"), 400, "DUPLICATE_CIDR");
        is(&admin.post(RULES, &json!({ "cidr": "192.0.2.1", "label": "" })), 400, "INVALID_REQUEST");
        let other = server.tenant("other");
        let theirs = program(server, &other, OFFICE);
        assert_eq!(theirs.post(RULES, &json!({ "cidr": "203.0.113.0/24", "label": "x" })).status, 200);
    });
}

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

#[test]
fn concurrent_policy_changes_are_serialized() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, ada) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let (_, bob) = server.signed_in(&tenant, "bob@example.com", Role::Admin);
        let cookies = [&ada, &bob].map(|browser| browser.cookies.borrow().clone());
        for round in 0..10 {
            let proofs = [&ada, &bob].map(|browser| server.proof(browser, "NETWORK_POLICY_CHANGE"));
            let answers = at_once(server, 2, |browser, index| {
                *browser.cookies.borrow_mut() = cookies[index].clone();
                let rule = json!({ "cidr": format!("10.{round}.{index}.0/24"), "label": "x" });
                browser.with("X-StepUp-Token", &proofs[index]).post(RULES, &rule)
            });
            assert!(answers.iter().all(|answer| answer.status == 200), "{round}: {answers:?}");
        }
    });
}

#[test]
fn caller_must_acknowledge_blocking_their_own_address() {
    behind_a_proxy(|server, _| {
        let tenant = server.tenant("acme");
        let inside = program(server, &tenant, OFFICE);
        let outside = inside.with("X-Forwarded-For", HOME);
        is(&inside.put(POLICY, &on(false, json!({}))), 409, "LOCKOUT_PROTECTION");
        let rule = inside.post(RULES, &json!({ "cidr": "203.0.113.0/24", "label": "Office" })).json();
        inside.post(RULES, &json!({ "cidr": "192.0.2.0/24", "label": "Other" }));
        let refused = outside.put(POLICY, &on(false, json!({})));
        is(&refused, 409, "CONFLICT");
        assert_eq!(refused.json()["reason"], "CALLER_NOT_COVERED");
        assert_eq!(inside.put(POLICY, &on(false, json!({}))).status, 200);
        let path = format!("{RULES}/{}", rule["id"].as_str().unwrap());
        assert_eq!(inside.delete(&path).json()["reason"], "CALLER_NOT_COVERED");
        is(&inside.delete(&format!("{path}?acknowledge=YES")), 400, "INVALID_REQUEST");
        assert_eq!(inside.delete(&format!("{path}?acknowledge=CALLER_NOT_COVERED")).status, 200);
        is(&inside.get(POLICY), 403, "NETWORK_POLICY_BLOCKED");
        let there = inside.with("X-Forwarded-For", "192.0.2.1");
        assert_eq!(there.put(POLICY, &on(true, json!({}))).status, 200);
        let acknowledged = on(false, json!({ "acknowledge": ["CALLER_NOT_COVERED"] }));
        assert_eq!(inside.put(POLICY, &acknowledged).status, 200, "the bypass lets the administrator in");
        is(&inside.get(POLICY), 403, "NETWORK_POLICY_BLOCKED");
    });
}

#[test]
fn several_ranges_are_added_with_one_step_up_or_none_is() {
    on_both(|server| {
        let tenant = server.tenant("acme");
        let (_, admin) = server.signed_in(&tenant, "ada@example.com", Role::Admin);
        let batch = format!("{RULES}/batch");
        let rule = |cidr: &str| json!({ "cidr": cidr, "label": "Office" });
        let good = json!({ "rules": [rule("192.0.2.0/24"), rule("2001:db8::/32")] });
        is(&admin.post(&batch, &good), 401, "STEP_UP_REQUIRED");
        let proved = server.proved(&admin, "NETWORK_POLICY_CHANGE");
        for (second, code, error) in [
            ("192.0.2.7/24", "INVALID_CIDR", "rules[1].cidr: "),
            ("192.0.2.0/24", "DUPLICATE_CIDR", "rules[1].cidr: a rule for 192.0.2.0/24 already exists"),
        ] {
            let refused = proved.post(&batch, &json!({ "rules": [rule("192.0.2.0/24"), rule(second)] }));
            is(&refused, 400, code);
            assert!(refused.json()["error"].as_str().unwrap().starts_with(error), "{}", refused.text);
        }
        is(&proved.post(&batch, &json!({ "rules": [] })), 400, "INVALID_REQUEST");
        let many: Vec<_> = (0..101).map(|number| rule(&format!("10.0.{number}.0/24"))).collect();
        is(&proved.post(&batch, &json!({ "rules": many })), 400, "INVALID_REQUEST");
        assert_eq!(admin.get(POLICY).json()["rules"], json!([]));
        let added = proved.post(&batch, &good);
        assert_eq!(added.status, 200, "{}", added.text);
        let cidrs: Vec<_> =
            added.json()["rules"].as_array().unwrap().iter().map(|one| one["cidr"].clone()).collect();
        assert_eq!(cidrs, ["192.0.2.0/24", "2001:db8::/32"]);
        assert_eq!(admin.get(POLICY).json()["rules"].as_array().map(Vec::len), Some(2));
        let entries = server.entries(&tenant);
        let count = |action: &str| entries.iter().filter(|entry| entry.action == action).count();
        assert_eq!((count("ACCOUNT_NETWORK_RULE_ADDED"), count("ACCOUNT_STEPUP_CONSUMED")), (2, 1));
    });
}
