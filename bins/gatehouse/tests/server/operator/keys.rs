//! Key rotation while the server runs.

use std::{os::unix::fs::PermissionsExt, path::Path, time::Duration};

use serde_json::{Value, json};
use store::testing::{Kind, TestDatabase};

use crate::support::{Caller, Process};

fn next(scim: &Caller, cursor: &str) -> (u16, Value) {
    let answer = scim.get(&format!("/api/scim/v2/Users?count=1&cursor={cursor}"));
    (answer.status, answer.json())
}

fn cursor(body: &Value) -> String {
    body["nextCursor"].as_str().unwrap().to_owned()
}

fn key_of(cursor: &str) -> String {
    cursor.split('.').next().unwrap().to_owned()
}

#[test]
fn older_key_verifies_until_it_is_retired() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    for number in 0..3 {
        scim.post("/api/scim/v2/Users", &json!({ "userName": format!("user-{number}") }));
    }
    let before = cursor(&next(&scim, "").1);
    let other = process.tenant("other");
    let other = Caller::anonymous(server.address).bearer(&other);
    assert_eq!(next(&other, &before).1["scimType"], "invalidCursor", "the cursor belongs to another tenant");

    let rotated = process.json(&["keys", "rotate"]);
    let (newest, oldest) = (&rotated["masterKey"]["verify"][0], &rotated["masterKey"]["verify"][1]);
    assert_eq!((&rotated["masterKey"]["signs"], oldest), (newest, &json!(key_of(&before))));
    super::until("the new key signs", Duration::from_secs(5), || {
        key_of(&cursor(&next(&scim, "").1)) == newest.as_str().unwrap()
    });
    let (status, page) = next(&scim, &before);
    assert_eq!(status, 200, "signatures of the old key are still valid");
    assert_eq!(key_of(&cursor(&page)), newest.as_str().unwrap());

    process.json(&["keys", "retire", "--only", "master-key"]);
    super::until("the old key is gone", Duration::from_secs(5), || next(&scim, &before).0 == 400);
    assert_eq!(next(&scim, &before).1["scimType"], "invalidCursor");
    assert!(server.log().contains("keys reloaded"));
    let mode = std::fs::metadata(process.path().join("data/secrets.toml")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn audit_log_outlives_the_master_key_that_began_it() {
    for kind in Kind::ALL {
        let mut process = Process::on(kind, &[]);
        process.keep_master_key_in_file();
        process.tenant("acme");
        let run = |words: &[&str]| process.run(words);
        let acme = ["--tenant", "acme"];
        process.json(&["audit", "retain", "--tenant", "acme", "--days", "400"]);
        let server = process.serve();
        let verify = |more: &[&str]| run(&[&["audit", "verify"], &acme[..], more].concat());
        super::until("the log is sealed", Duration::from_secs(10), || {
            String::from_utf8_lossy(&verify(&[]).stdout).contains("unsealed 0")
        });
        let old_key = process.json(&[&["audit", "key"], &acme[..]].concat())["keys"][0].clone();
        let rotated = process.json(&["keys", "rotate", "--only", "master-key"]);
        let old = rotated["masterKey"]["verify"][1].as_str().unwrap().to_owned();
        process.json(&["keys", "retire", "--only", "master-key"]);
        // The tenant wrote nothing between rotation and retirement. Its log goes on with the new key.
        process.json(&["token", "scim", "--tenant", "acme", "--name", "Later"]);
        // On a distributed database, the server looks for entries of commands every 30 seconds.
        let patience = if TestDatabase::is_distributed() { 60 } else { 10 };
        super::until("the new entry is sealed", Duration::from_secs(patience), || {
            String::from_utf8_lossy(&verify(&["--retired-key", &old]).stdout).contains("unsealed 0")
        });
        let verified = verify(&["--retired-key", &old]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stdout));
        let unaware = String::from_utf8_lossy(&verify(&[]).stdout).into_owned();
        assert!(unaware.ends_with(&format!("--retired-key {old}\n")), "{unaware}");
        let purged = run(&[&["audit", "purge"], &acme[..], &["--retired-key", &old]].concat());
        assert!(purged.status.success(), "{}", String::from_utf8_lossy(&purged.stderr));
        // The old public key still verifies what it signed.
        let with_both = verify(&["--retired-key", &old, "--key", old_key.as_str().unwrap()]);
        assert!(with_both.status.success(), "{}", String::from_utf8_lossy(&with_both.stdout));
        assert!(!server.log().contains("could not be sealed"), "{}", server.log());
    }
}

#[test]
fn prepared_key_verifies_and_signs_after_its_promotion() {
    let process = Process::on(Kind::Sqlite, &[]);
    process.tenant("acme");
    drop(process.serve());
    let keys = |words: &[&str]| process.json(&[&["keys"], words].concat())["masterKey"].clone();
    let first = keys(&["list"])["signs"].clone();
    let prepared = keys(&["rotate", "--prepare"]);
    assert_eq!((&prepared["signs"], &prepared["verify"][0]), (&first, &first));
    let new = prepared["verify"][1].clone();
    let promoted = keys(&["rotate", "--promote"]);
    assert_eq!((&promoted["signs"], &promoted["verify"]), (&new, &json!([new, first])));
}

#[test]
fn rotation_changes_no_other_secret() {
    let mut process = Process::on(Kind::Sqlite, &[]);
    process.tenant("acme");
    drop(process.serve());
    let path = process.path().join("data/secrets.toml");
    let kept = |name: &str| {
        let text = std::fs::read_to_string(&path).unwrap();
        text.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
    };
    let (auth, master) = (kept("auth_secret"), kept("master_key"));
    process.set("GATEHOUSE_AUTH_SECRET", "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi");
    process.json(&["keys", "rotate", "--only", "master-key"]);
    assert_eq!(kept("auth_secret"), auth, "stored secrets do not change");
    assert_ne!(kept("master_key"), master);
    // Only one rotation at a time.
    std::fs::write(process.path().join("data/secrets.toml.new"), "").unwrap();
    let (_, problem) = process.refused(&["keys", "rotate", "--only", "master-key"]);
    assert!(problem.contains("another rotation is running"), "{problem}");
}

#[test]
fn broken_key_file_is_reported_without_its_content() {
    let process = Process::on(Kind::Sqlite, &[]);
    process.tenant("acme");
    let server = process.serve();
    let path = process.path().join("data/secrets.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"\nmaster", "\nmaster")).unwrap();
    // The server may read the file while it is written, and report another problem first.
    super::until("the problem is logged", Duration::from_secs(5), || {
        server.log().lines().any(|line| line.contains("cannot load") && line.contains("secrets.toml: line 2"))
    });
    let secret = text.split('"').nth(1).unwrap();
    assert!(!server.log().contains(secret), "{}", server.log());
    std::fs::write(&path, text).unwrap();
    assert_eq!(Caller::anonymous(server.address).get("/readyz").status, 200, "the known keys remain in use");
}

#[test]
fn keys_may_be_in_files_of_their_own() {
    let secret = |process: &Process, name: &str, text: &str| {
        let path = process.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let mut process = Process::on(Kind::Sqlite, &[]);
    let master = secret(&process, "master", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n");
    let url = secret(&process, "url", &format!("sqlite:{}/kept.db\n", process.path().display()));
    process.set("GATEHOUSE_MASTER_KEY_FILE", &master.to_string_lossy());
    process.set("GATEHOUSE_DATABASE_URL_FILE", &url.to_string_lossy());
    process.tenant("acme");
    assert!(process.path().join("kept.db").exists());
    let server = process.serve();
    assert_eq!(Caller::anonymous(server.address).get("/readyz").status, 200);
    process.json(&["keys", "rotate", "--only", "master-key"]);
    let text = std::fs::read_to_string(&master).unwrap();
    assert!(text.trim().ends_with(",1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="), "{text}");
    assert!(Path::new(&master).exists());
}

#[test]
fn keys_in_variables_are_refused_and_printed_on_request() {
    let mut process = Process::on(Kind::Sqlite, &[]);
    process.set("GATEHOUSE_AUTH_SECRET", "q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi");
    process.set("GATEHOUSE_MASTER_KEY", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    let (code, problem) = process.refused(&["keys", "rotate"]);
    assert_eq!(code, 1);
    assert!(problem.contains("auth_secret is set by a variable") && problem.contains("--print"), "{problem}");
    let printed = process.json(&["keys", "rotate", "--print"]);
    assert!(printed["authSecret"].as_str().unwrap().ends_with(",q3LZ8Fj0yD1uWm7xTnB5cKe9RsAhVgPi"));
    let (_, problem) = process.refused(&["keys", "retire", "--only", "auth-secret", "--print"]);
    insta::assert_snapshot!(problem, @"gatehouse: auth_secret: has only one key");
    let (code, problem) = process.refused(&["keys", "retire", "--print"]);
    assert!(code == 2 && problem.contains("--only <ONLY>"), "without --only it could retire both: {problem}");
    let listed = process.run(&["keys", "list"]);
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert!(!listed.contains("q3LZ8F") && !listed.contains("AAECAw"), "{listed}");
    process.set("GATEHOUSE_AUTH_SECRET_FILE", "/nowhere");
    assert!(process.refused(&["keys", "list"]).1.contains("/nowhere: No such file"));
}
