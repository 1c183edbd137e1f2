//! Changing the policy and its rules.

use directory::Role;
use serde_json::json;

use super::{HOME, OFFICE, POLICY, RULES, behind_a_proxy, is, on, program};
use crate::{api::auth::races::at_once, support::on_both};

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
