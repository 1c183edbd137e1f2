//! `breached_passwords`: leaked passwords cannot be chosen, wherever a user chooses one.

use data_encoding::HEXUPPER;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::json;
use store::testing::Kind;

use crate::support::{Answer, Browser, Process};

const LEAKED: &str = "seven owls read maps";
const OTHER: &str = "seven owls read books";

fn is_leaked(answer: &Answer, field: &str) {
    assert_eq!(answer.status, 400, "{}", answer.text);
    let error = answer.json()["error"].as_str().unwrap().to_owned();
    assert_eq!(
        error,
        format!(
            "{field}: this password has leaked from another service; choose one that you use nowhere else"
        )
    );
}

#[test]
fn leaked_passwords_are_refused() {
    let file = std::env::temp_dir().join(format!("gatehouse-leaked-{}", std::process::id()));
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, LEAKED.as_bytes());
    std::fs::write(&file, format!("{}:12\r\n", HEXUPPER.encode(hash.as_ref()))).unwrap();
    let path = file.to_str().unwrap();
    let process = Process::on(
        Kind::Sqlite,
        &[("GATEHOUSE_PASSWORD_COST", "64,1,1"), ("GATEHOUSE_BREACHED_PASSWORDS", path)],
    );
    let doctor = process.run(&["doctor"]);
    let printed = String::from_utf8(doctor.stdout).unwrap();
    assert!(printed.contains(&format!("leaked passwords in {path} are refused")), "{printed}");
    process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme"]);
    let create = ["user", "create", "--tenant", "acme", "--email", "ada@example.com", "--password-stdin"];
    let refused = process.with_input(&create, LEAKED);
    let problem = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && problem.contains("password: this password has leaked"), "{problem}");
    assert!(process.with_input(&create, OTHER).status.success());

    let running = process.serve();
    let browser = Browser::new(running.address);
    assert_eq!(browser.sign_in("ada@example.com", OTHER).status, 200);
    let change = |new: &str| {
        browser.post("/api/me/password", &json!({ "currentPassword": OTHER, "newPassword": new }))
    };
    is_leaked(&change(LEAKED), "newPassword");
    is_leaked(&change("ｓｅｖｅｎ owls read maps"), "newPassword");
    let reset = process.json(&["user", "reset", "--tenant", "acme", "--email", "ada@example.com"]);
    let link = reset["link"].as_str().unwrap();
    let token = link.split_once("#link=").unwrap().1;
    let redeem = |password: &str| {
        let body = json!({ "token": token, "password": password });
        Browser::new(running.address).post("/api/auth/links/redeem", &body)
    };
    is_leaked(&redeem(LEAKED), "password");

    // Without the file no password is accepted.
    std::fs::remove_file(&file).unwrap();
    assert_eq!(redeem(OTHER).status, 503);
    let (status, problem) = process.refused(&["serve"]);
    assert!(status != 0 && problem.contains("breached_passwords: "), "{problem}");
}
