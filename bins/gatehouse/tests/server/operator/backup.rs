//! A backup taken during writes and restored to a new place contains everything acknowledged before it started.

use std::{
    path::Path,
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::json;
use store::testing::{Kind, TestDatabase};

use crate::support::{Caller, Process};

const USERS: &str = "/api/scim/v2/Users";

/// Creates users until stopped; `answered` collects the acknowledged ones.
fn provision(scim: &Caller, writer: usize, stop: &AtomicBool, answered: &Mutex<Vec<String>>) {
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let made = scim.post(USERS, &json!({ "userName": format!("person-{writer}-{number}") }));
        assert_eq!(made.status, 201);
        answered.lock().unwrap().push(made.json()["id"].as_str().unwrap().to_owned());
    }
}

struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `back_up` during writes. Returns the IDs acknowledged before it started.
fn during_writes(process: &Process, token: &str, back_up: impl FnOnce()) -> Vec<String> {
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(token);
    let (stop, answered) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        // Also stops the writers after a panic, because the scope waits for them.
        let _at_the_end = Stop(&stop);
        for writer in 0..4 {
            let (scim, stop, answered) = (&scim, &stop, &answered);
            scope.spawn(move || provision(scim, writer, stop, answered));
        }
        while answered.lock().unwrap().len() < 200 {
            std::thread::yield_now();
        }
        let before = answered.lock().unwrap().clone();
        back_up();
        before
    })
}

/// Reads users and their creation entries with the database's own client.
fn count_rows(database: &str) -> Vec<String> {
    let query = "SELECT (SELECT count(*) FROM users), \
                 (SELECT count(*) FROM audit_entries WHERE action = 'ACCOUNT_USER_CREATED')";
    let (program, words) = match database.strip_prefix("sqlite:") {
        Some(path) => ("sqlite3", [path, query]),
        None => ("psql", ["-qAtc", query]),
    };
    let mut command = Command::new(program);
    command.args(words);
    if program == "psql" {
        command.arg(database);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().split('|').map(str::to_owned).collect()
}

/// Checks that the restored server has these users, with as many entries, and is healthy.
fn assert_complete(restored: &Process, database: &str, token: &str, ids: &[String]) {
    let counts = count_rows(database);
    assert_eq!(counts[0], counts[1], "one entry per user");
    assert!(counts[0].parse::<usize>().unwrap() >= ids.len());
    assert!(restored.run(&["doctor"]).status.success(), "{:?}", restored.run(&["doctor"]));
    assert_eq!(restored.json(&["migrate"]), json!({ "applied": [] }));
    let server = restored.serve();
    let scim = Caller::anonymous(server.address).bearer(token);
    for id in ids {
        assert_eq!(scim.get(&format!("{USERS}/{id}")).status, 200, "{id}");
    }
    assert_eq!(scim.post(USERS, &json!({ "userName": "after" })).status, 201, "the server continues");
}

fn copy(from: &Process, to: &Process, name: &str) {
    let folder = to.path().join("data");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::copy(from.path().join("data").join(name), folder.join(name)).unwrap();
}

#[test]
fn sqlite_backup_during_writes_is_complete() {
    let process = Process::on(Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let copied = process.path().join("copy.db");
    let to = copied.to_string_lossy().into_owned();
    let before = during_writes(&process, &token, || {
        assert!(process.json(&["backup", "--to", &to])["bytes"].as_u64().unwrap() > 10_000);
    });
    assert!(
        process.refused(&["backup", "--to", &to]).1.contains("exists"),
        "existing files are not overwritten"
    );

    let restored = Process::on(Kind::Sqlite, &[]);
    std::fs::create_dir_all(restored.path().join("data")).unwrap();
    std::fs::copy(&copied, restored.path().join("data/gatehouse.db")).unwrap();
    // Without its keys the database is not served, and no new ones are made.
    for words in ["doctor", "serve"] {
        let output = restored.run(&[words]);
        let said = [output.stdout, output.stderr].concat();
        assert!(!output.status.success() && String::from_utf8_lossy(&said).contains("Put secrets.toml back"));
    }
    assert!(!restored.path().join("data/secrets.toml").exists());
    copy(&process, &restored, "secrets.toml");
    let database = format!("sqlite:{}", restored.path().join("data/gatehouse.db").display());
    assert_complete(&restored, &database, &token, &before);
}

#[test]
fn postgresql_backup_during_writes_is_complete() {
    let process = Process::on(Kind::Postgres, &[]);
    let token = process.tenant("acme");
    let dump = process.path().join("dump");
    let run = |program: &str, words: &[&str], last: &Path| {
        let output = Command::new(program).args(words).arg(last).output().unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let to = format!("--file={}", dump.display());
    let before = during_writes(&process, &token, || {
        run("pg_dump", &["--format=custom", &to], Path::new(&process.database_url()));
    });
    assert!(process.refused(&["backup", "--to", "x"]).1.contains("pg_dump"));

    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut restored = Process::on(Kind::Postgres, &[]);
    let empty = runtime.block_on(TestDatabase::empty());
    restored.set("GATEHOUSE_DATABASE_URL", &empty);
    run("pg_restore", &["--no-owner", "--exit-on-error", "--dbname", &empty], &dump);
    assert_complete(&restored, &empty, &token, &before);
}
