//! Previews of a policy.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use kernel::{Id, ManualEnv, UserId};
use netpolicy::{
    AddressTest, DraftPolicy, Impact, MAX_RULES, Mode, PreviewError, RecentUse, Rule, Settings,
    UsedCredential,
};
use serde_json::{Value, from_value, json, to_value};

fn env() -> ManualEnv {
    ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap())
}

fn tested(request: Value, shows_rule: bool) -> Result<Value, PreviewError> {
    let settings = Settings { mode: Mode::Allowlist, admin_bypass: false, ..Settings::default() };
    let rule = Rule {
        id: Id::new(&env()),
        cidr: "203.0.113.0/24".parse().unwrap(),
        label: "Office".into(),
        created_at: "2026-01-01T00:00:00.000Z".parse().unwrap(),
    };
    let test: AddressTest = from_value(request).unwrap();
    Ok(to_value(test.run(settings, &[rule], shows_rule)?).unwrap())
}

#[test]
fn one_address_or_several_are_decided() {
    let one = tested(json!({ "ip": "203.0.113.7" }), true).unwrap();
    assert_eq!((&one["decision"], &one["reason"]), (&json!("ALLOW"), &json!("RULE_MATCH")));
    assert_eq!(one["matchedRule"]["cidr"], "203.0.113.0/24");
    let hidden = tested(json!({ "ip": "203.0.113.7" }), false).unwrap();
    assert_eq!(hidden, json!({ "decision": "ALLOW", "reason": "RULE_MATCH" }));
    let several = tested(json!({ "ips": ["::ffff:203.0.113.7", "::1"] }), true).unwrap();
    assert_eq!(several["decisions"][0]["ip"], "::ffff:203.0.113.7", "as sent");
    assert_eq!(several["decisions"][1]["decision"], "DENY");
}

#[test]
fn malformed_tests_are_refused() {
    let refused = |request| tested(request, true).unwrap_err().to_string();
    let either = "ip: send one address, or a list as ips";
    assert_eq!(refused(json!({})), either);
    assert_eq!(refused(json!({ "ip": "::1", "ips": [] })), either);
    assert_eq!(refused(json!({ "ips": ["::1", "x"] })), "ips: \"x\" is not an IPv4 or IPv6 address");
    assert_eq!(refused(json!({ "ips": vec!["::1"; 1001] })), "ips: 1000 addresses at most");
}

#[test]
fn number_of_rules_of_a_draft_is_limited() {
    let policy = |count: usize| {
        let rules: Vec<_> =
            (0..count).map(|number| format!("10.0.{}.{}", number / 256, number % 256)).collect();
        let draft = json!({
            "mode": "ALLOWLIST", "adminBypass": false, "rules": rules,
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": true },
        });
        from_value::<DraftPolicy>(draft).unwrap().policy()
    };
    assert!(policy(MAX_RULES).is_ok());
    assert!(matches!(policy(MAX_RULES + 1), Err(PreviewError::TooManyRules)));
}

#[test]
fn impact_of_a_draft_lists_blocked_sessions_and_tokens() {
    let draft = |rules: Value| -> DraftPolicy {
        let enforcement = json!({ "SIGN_IN": true, "DASHBOARD": true, "API": true });
        let draft =
            json!({ "mode": "ALLOWLIST", "enforcement": enforcement, "adminBypass": true, "rules": rules });
        from_value(draft).unwrap()
    };
    let policy = draft(json!(["203.0.113.0/24"])).policy().unwrap();
    let user = UserId::new(&env());
    let used = |credential, id: &str, is_admin, ip: Option<&str>| RecentUse {
        credential,
        id: id.into(),
        is_admin,
        ip: ip.map(|ip| ip.parse().unwrap()),
    };
    let recent = [
        used(UsedCredential::Session(user.clone()), "ses_1", false, Some("203.0.113.7")),
        used(UsedCredential::Session(user.clone()), "ses_2", false, None),
        used(UsedCredential::Session(user.clone()), "ses_3", true, Some("192.0.2.1")),
        used(UsedCredential::Pat, "ptk_1", false, Some("192.0.2.1")),
        used(UsedCredential::ScimToken, "sct_1", false, Some("192.0.2.1")),
    ];
    let impact = to_value(Impact::new(&policy, recent)).unwrap();
    let sessions = json!([{ "id": "ses_2", "userId": user.as_str(), "ip": null }]);
    assert_eq!(impact["sessions"], sessions);
    let tokens = json!([
        { "id": "ptk_1", "kind": "PAT", "ip": "192.0.2.1" },
        { "id": "sct_1", "kind": "SCIM", "ip": "192.0.2.1" },
    ]);
    assert_eq!(impact["tokens"], tokens);
    let refused = draft(json!(["10.0.0.0/8", "203.0.113.7/24"])).policy().unwrap_err();
    let message = "rules[1]: the host bits of the range are not zero; write 203.0.113.0/24";
    assert_eq!(refused.to_string(), message);
}
