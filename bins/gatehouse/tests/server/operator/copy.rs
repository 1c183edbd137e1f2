//! `gatehouse copy`: from SQLite to PostgreSQL and back.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, ChildStderr, Stdio},
};

use serde_json::{Value, json};
use store::testing::{Kind, TestDatabase};

use crate::support::{Caller, Process};

/// Texts that a careless copy would damage.
const NAME: &str = "a \"quoted\" name, with a comma,\n a line break, \\N, \\u0041, \u{1F511} and {json}";

/// Starts a copy that holds its source, and waits until it is complete. Returns the rest of its error output too.
fn held(process: &Process, to: &str) -> (Child, BufReader<ChildStderr>) {
    let mut command = process.command(&["copy", "--hold", "--json"]);
    command.env("TARGET_DATABASE_URL", to).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut problems = BufReader::new(child.stderr.take().unwrap());
    let mut first = String::new();
    problems.read_line(&mut first).unwrap();
    assert_eq!(first, "The copy is complete. The source refuses changes until Ctrl-C or SIGTERM.\n");
    (child, problems)
}

/// Ends it and returns its report.
fn released(child: Child) -> Value {
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns a PostgreSQL installation with the keys of this one.
fn with_keys_of(sqlite: &Process) -> Process {
    let mut postgres = Process::on(Kind::Postgres, &[]);
    let secrets = std::fs::read_to_string(sqlite.path().join("data/secrets.toml")).unwrap();
    for (name, variable) in [("auth_secret", "GATEHOUSE_AUTH_SECRET"), ("master_key", "GATEHOUSE_MASTER_KEY")]
    {
        let line = secrets.lines().find(|line| line.starts_with(name)).unwrap();
        postgres.set(variable, line.split('"').nth(1).unwrap());
    }
    postgres
}

#[test]
fn copies_have_the_same_rows_and_work_while_the_source_answers_reads() {
    let sqlite = Process::on(Kind::Sqlite, &[]);
    let token = sqlite.tenant("acme");
    let ada = ["--tenant", "acme", "--email", "admin@example.com"];
    sqlite.json(&[&["user", "create", "--role", "ADMIN"][..], &ada].concat());
    let pat = ["token", "pat", "--name", "CI", "--scopes", "read:profile"];
    let pat = sqlite.json(&[&pat[..], &ada].concat())["token"].as_str().unwrap().to_owned();
    let server = sqlite.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    let created = scim.post(
        "/api/scim/v2/Users",
        &json!({ "userName": "ada@example.com", "displayName": NAME, "emails": [{ "value": "ada@example.com" }] }),
    );
    assert_eq!(created.status, 201, "{}", created.text);
    let member = json!([{ "value": created.json()["id"] }]);
    let group = scim.post("/api/scim/v2/Groups", &json!({ "displayName": "Everyone", "members": member }));
    assert_eq!(group.status, 201, "{}", group.text);

    // To PostgreSQL. The server of the source answers reads and refuses changes.
    let postgres = with_keys_of(&sqlite);
    let (copy, _problems) = held(&sqlite, &postgres.database_url());
    let admin = Caller::anonymous(server.address).bearer(&pat);
    assert_eq!(admin.get("/api/me").status, 200);
    let filter = "/api/scim/v2/Users?filter=userName%20eq%20%22ada@example.com%22";
    assert_eq!(scim.get(filter).json()["Resources"][0]["displayName"], NAME);
    assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "late@example.com" })).status, 503);
    let there = released(copy);
    assert!(there["rows"].as_u64().unwrap() > 20, "{there}");
    assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "late@example.com" })).status, 201);
    drop(server);

    // The copy works, and its audit log verifies.
    let verified = postgres.json(&["audit", "verify", "--tenant", "acme"]);
    let entries = verified["entries"].as_u64().unwrap() + verified["waiting"].as_u64().unwrap();
    assert!(verified["count"] == 0 && entries > 3, "{verified}");
    let again = ["copy", "--to", "sqlite:back.db", "--json"];
    let back: Value = postgres.json(&again[..3]);
    assert_eq!(back, there, "the digests depend only on the rows");
    let server = postgres.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    let found = scim.get(filter).json();
    assert_eq!(found["Resources"][0]["displayName"], NAME);
    assert_eq!(found["Resources"][0]["meta"]["created"], created.json()["meta"]["created"]);
    assert_eq!(Caller::anonymous(server.address).bearer(&pat).get("/api/me").status, 200);

    // PostgreSQL as the source answers reads too.
    let (copy, _problems) = held(&postgres, "sqlite:again.db");
    assert_eq!(Caller::anonymous(server.address).bearer(&pat).get("/api/me").status, 200);
    assert_eq!(scim.get(filter).status, 200);
    assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "late@example.com" })).status, 503);
    released(copy);
    drop(server);

    // Back on SQLite.
    let mut returned = Process::on(Kind::Sqlite, &[]);
    let secrets = sqlite.path().join("data/secrets.toml");
    std::fs::create_dir_all(returned.path().join("data")).unwrap();
    std::fs::copy(secrets, returned.path().join("data/secrets.toml")).unwrap();
    returned.set("GATEHOUSE_DATABASE_URL", &format!("sqlite:{}", postgres.path().join("back.db").display()));
    let server = returned.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    let user = format!("/api/scim/v2/Users/{}", created.json()["id"].as_str().unwrap());
    assert_eq!(scim.get(&user).json()["groups"][0]["display"], "Everyone");
    assert_eq!(scim.get(&user).json()["meta"]["created"], created.json()["meta"]["created"]);
    let renamed = json!([{ "op": "replace", "path": "displayName", "value": "Ada" }]);
    assert_eq!(scim.operations(&user, &renamed).status, 200);
    drop(server);
    assert_eq!(returned.json(&["audit", "verify", "--tenant", "acme"])["count"], 0);
}

#[test]
fn copies_that_would_harm_are_refused() {
    let mut sqlite = Process::on(Kind::Sqlite, &[]);
    sqlite.tenant("acme");
    let refused = |process: &Process, to: &str| {
        let (code, problem) = process.refused(&["copy", "--to", to]);
        assert_eq!(code, 1, "{problem}");
        problem
    };
    let other = Process::on(Kind::Sqlite, &[]);
    other.tenant("other");
    let there = format!("sqlite:{}", other.path().join("data/gatehouse.db").display());
    assert_eq!(
        refused(&sqlite, &there),
        "gatehouse: the target is not empty: its table audit_entries has rows"
    );
    assert_eq!(other.json(&["user", "list", "--tenant", "other"])["users"], json!([]), "it is unchanged");
    assert!(refused(&sqlite, "mysql://db").contains("--to: write sqlite:PATH or postgres://"));

    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let empty = runtime.block_on(TestDatabase::empty());
    let own = format!("sqlite:{}", sqlite.path().join("data/gatehouse.db").display());
    sqlite.set("GATEHOUSE_DATABASE_URL", &own);
    assert_eq!(refused(&sqlite, &own), "gatehouse: both URLs name the same database");
    sqlite.set("GATEHOUSE_DATABASE_URL", "sqlite:none.db");
    assert_eq!(refused(&sqlite, &empty), "gatehouse: the database does not exist");
    sqlite.set("GATEHOUSE_DATABASE_URL", &empty);
    assert!(
        refused(&sqlite, "sqlite:new.db").contains("the schema of the source is older than this program")
    );
}

#[test]
fn copy_whose_source_is_released_is_not_called_good() {
    let postgres = Process::on(Kind::Postgres, &[]);
    postgres.tenant("acme");
    let (copy, mut problems) = held(&postgres, "sqlite:copy.db");
    // As a failover does.
    postgres.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
         AND state LIKE 'idle in transaction%'",
    );
    let output = copy.wait_with_output().unwrap();
    let mut problem = String::new();
    problems.read_to_string(&mut problem).unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{problem}");
    assert!(problem.contains("may have accepted changes since the copy: do not use the copy"), "{problem}");
}
