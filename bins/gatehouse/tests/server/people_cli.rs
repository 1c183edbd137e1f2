//! User management by command line, while a server runs on the same database.

use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Browser, Process};

/// Runs a command with a line on its standard input.
fn with_input(process: &Process, words: &[&str], line: &str) -> Value {
    let output = process.with_input(&[words, &["--json"]].concat(), line);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn refused(process: &Process, words: &[&str], expected: &str) {
    let output = process.run(words);
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && problem.contains(expected), "{words:?}: {problem}");
}

#[test]
fn operators_changes_apply_to_the_next_request() {
    for kind in Kind::ALL {
        let process = Process::on(kind, &[("GATEHOUSE_PASSWORD_COST", "64,1,1")]);
        process.json(&["migrate"]);
        process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme"]);
        let create = ["user", "create", "--tenant", "acme", "--email", "ada@example.com"];
        let made =
            with_input(&process, &[&create[..], &["--password-stdin"]].concat(), "a password for Ada here\n");
        assert_eq!(made["email"], "ada@example.com");
        refused(&process, &create, "taken");
        let running = process.serve();
        let browser = Browser::new(running.address);
        let signed_in = browser.sign_in("ada@example.com", "a password for Ada here");
        assert_eq!(signed_in.json()["status"], "SIGNED_IN", "{}", signed_in.text);
        let who = ["--tenant", "acme", "--email", "ada@example.com"];
        let of = |words: &[&str]| process.json(&[words, &who[..]].concat());

        assert_eq!(browser.get("/api/settings/users").json()["reason"], "ROLE_REQUIRED");
        assert_eq!(of(&["user", "role", "--role", "ADMIN"])["role"], "ADMIN");
        assert_eq!(browser.get("/api/settings/users").status, 200);

        let pat = of(&["token", "pat", "--name", "CI", "--scopes", "read:profile,admin:tenant"]);
        let by = Browser::new(running.address)
            .with("Authorization", &format!("Bearer {}", pat["token"].as_str().unwrap()));
        assert_eq!(by.get("/api/settings/sign-in-policy").json()["signInMode"], "SSO_ALLOWED");
        let policy = process.path().join("policy.json");
        let wanted = json!({
            "signInMode": "SSO_REQUIRED",
            "mfa": { "required": false, "acceptedFactors": ["TOTP"], "trustSsoMfa": false },
            "session": { "idleMinutes": 60, "absoluteDays": 7 },
        });
        std::fs::write(&policy, wanted.to_string()).unwrap();
        let file = policy.to_str().unwrap();
        assert_eq!(process.json(&["policy", "sign-in", "--tenant", "acme", "--file", file]), wanted);
        assert_eq!(by.get("/api/settings/sign-in-policy").json(), wanted);
        std::fs::write(&policy, wanted.to_string().replace("60", "1")).unwrap();
        refused(&process, &["policy", "sign-in", "--tenant", "acme", "--file", file], "idleMinutes");

        let locked = json!({
            "mode": "ALLOWLIST",
            "enforcement": { "SIGN_IN": true, "DASHBOARD": true, "API": true },
            "adminBypass": false,
            "acknowledge": ["CALLER_NOT_COVERED"],
        });
        let rule = json!({ "cidr": "203.0.113.0/24", "label": "Elsewhere" });
        assert_eq!(by.post("/api/settings/network-policy/rules", &rule).status, 200);
        assert_eq!(by.put("/api/settings/network-policy", &locked).status, 200);
        assert_eq!(by.get("/api/me").json()["code"], "NETWORK_POLICY_BLOCKED");
        assert_eq!(process.json(&["policy", "network", "off", "--tenant", "acme"])["mode"], "OFF");
        let open = by.get("/api/settings/network-policy").json();
        assert_eq!((&open["mode"], open["rules"].as_array().unwrap().len()), (&json!("OFF"), 1));

        let other = Browser::new(running.address);
        let again = || other.sign_in("ada@example.com", "a password for Ada here");
        assert_eq!(again().json()["code"], "SSO_REQUIRED");
        assert_eq!(of(&["user", "break-glass", "on"])["breakGlass"], true);
        assert_eq!(again().json()["status"], "SIGNED_IN");

        let link = of(&["user", "reset"])["link"].as_str().unwrap().to_owned();
        let token = link.split_once("#link=").unwrap().1;
        let body = json!({ "token": token, "password": "another password for Ada" });
        assert_eq!(other.post("/api/auth/links/redeem", &body).json()["status"], "SIGNED_IN");
        assert_eq!(browser.get("/api/me").json()["code"], "SESSION_REVOKED");
        assert_eq!(of(&["user", "reset", "--factors"])["removed"], 0);
        assert_eq!(other.get("/api/me").json()["code"], "SESSION_REVOKED");

        let again = || other.sign_in("ada@example.com", "another password for Ada");
        assert_eq!(again().json()["status"], "SIGNED_IN");
        assert_eq!(of(&["user", "disable"])["active"], false);
        assert_eq!(other.get("/api/me").json()["code"], "ACCOUNT_DISABLED");
        refused(&process, &[&["user", "reset"], &who[..]].concat(), "This user is disabled");
        assert_eq!(of(&["user", "enable"])["active"], true);
        assert_eq!(again().json()["status"], "SIGNED_IN");

        let id = pat["id"].as_str().unwrap();
        assert_eq!(process.json(&["token", "revoke", "--id", id])["revoked"], true);
        assert_eq!(by.get("/api/me").json()["code"], "UNAUTHENTICATED");
        assert_eq!(of(&["user", "delete"])["deleted"], true);
        refused(
            &process,
            &[&["user", "role", "--role", "ADMIN"], &who[..]].concat(),
            "has no user ada@example.com",
        );
        refused(&process, &["token", "revoke", "--id", "nonsense"], "sct_");
    }
}
