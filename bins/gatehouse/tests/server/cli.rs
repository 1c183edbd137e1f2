//! The command line: the real binary on a database of its own.

use serde_json::json;

use crate::support::{Caller, Process, ada};

fn acme(process: &Process) -> (String, String) {
    process.json(&["migrate"]);
    process.json(&["tenant", "create", "--slug", "acme", "--name", "Acme", "--tier", "ENTERPRISE"]);
    let minted = process.json(&["token", "scim", "--tenant", "acme", "--name", "Okta"]);
    (minted["id"].as_str().unwrap().into(), minted["token"].as_str().unwrap().into())
}

#[test]
fn output_that_nobody_reads_is_no_error() {
    let process = Process::new(&[]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = process.command(&["reference", "cli"]).stdout(writer).output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn operator_creates_a_tenant_and_provisioning_works() {
    let process = Process::new(&[("GATEHOUSE_BIND", "127.0.0.1:0")]);
    let (id, token) = acme(&process);
    let mut server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "ada" })).status, 201);

    // Commands work while the server runs and take effect on the next request.
    let person = process.json(&[
        "user",
        "create",
        "--tenant",
        "acme",
        "--email",
        "Bob@Example.com",
        "--role",
        "ADMIN",
    ]);
    assert_eq!(person["email"], "Bob@Example.com");
    let user = scim.get(&format!("/api/scim/v2/Users/{}", person["id"].as_str().unwrap())).json();
    assert_eq!((&user["userName"], &user["emails"][0]["primary"]), (&json!("Bob@Example.com"), &json!(true)));
    assert_eq!(process.json(&["token", "revoke", "--id", &id])["revoked"], true);
    assert_eq!(scim.get("/api/scim/v2/Users").status, 401);

    let (code, _) = server.terminate();
    assert_eq!(code, Some(0), "{}", server.log());
}

#[test]
fn errors_say_what_to_write() {
    let process = Process::new(&[]);
    acme(&process);
    insta::assert_debug_snapshot!(process.refused(&["tenant", "create", "--slug", "acme", "--name", "Other"]), @r#"
(
    1,
    "gatehouse: slug: acme is taken by another tenant",
)
"#);
    insta::assert_debug_snapshot!(process.refused(&["tenant", "create", "--slug", "Not Good", "--name", "Other"]), @r#"
(
    1,
    "gatehouse: slug: write 2 to 63 characters of a-z, 0-9 and inner hyphens",
)
"#);
    insta::assert_debug_snapshot!(process.refused(&["token", "scim", "--tenant", "nobody", "--name", "x"]), @r#"
(
    1,
    "gatehouse: --tenant: unknown tenant nobody. List tenants with: gatehouse tenant list",
)
"#);
    insta::assert_debug_snapshot!(process.refused(&["token", "scim", "--tenant", "acme", "--name", ""]), @r#"
(
    1,
    "gatehouse: name: write 1 to 100 printable characters",
)
"#);
    insta::assert_debug_snapshot!(process.refused(&["token", "revoke", "--id", "sct_00000000000000000000000000"]), @r#"
(
    1,
    "gatehouse: there is no such token",
)
"#);
    process.json(&["user", "create", "--tenant", "acme", "--email", "ada@example.com"]);
    insta::assert_debug_snapshot!(process.refused(&["user", "create", "--tenant", "acme", "--email", "ADA@example.com"]), @r#"
(
    1,
    "gatehouse: email: ADA@example.com is taken by another user of this tenant",
)
"#);
    assert_eq!(
        process.run(&["user", "create", "--tenant", "acme", "--email", "nonsense"]).status.code(),
        Some(2)
    );
    assert_eq!(process.run(&["nonsense"]).status.code(), Some(2));
}

#[test]
fn settings_are_checked_before_anything_starts() {
    let process = Process::new(&[("GATEHOUSE_BNID", "127.0.0.1:0")]);
    insta::assert_debug_snapshot!(process.refused(&["serve"]), @r#"
(
    1,
    "gatehouse: bnid (GATEHOUSE_BNID): unknown setting. Did you mean bind?",
)
"#);
    let process = Process::new(&[("GATEHOUSE_AUTH_SECRET", "please-changeme-please-changeme-please")]);
    insta::assert_debug_snapshot!(process.refused(&["config", "check"]), @r#"
(
    1,
    "gatehouse: auth_secret (GATEHOUSE_AUTH_SECRET): a secret that contains \"changeme\" comes from an example; generate one with: openssl rand -base64 48",
)
"#);
    let process = Process::new(&[("GATEHOUSE_DATABASE_URL", "postgres://gate:hunter2@127.0.0.1:1/gate")]);
    insta::assert_debug_snapshot!(process.refused(&["serve"]), @r#"
(
    1,
    "gatehouse: GATEHOUSE_AUTH_SECRET is not set. On PostgreSQL all instances need the same value; generate one with: openssl rand -base64 48",
)
"#);

    std::fs::write(
        process.path().join("gatehouse.toml"),
        "bind = '127.0.0.1:0'\nbase_url = 'https://gate.example.com'",
    )
    .unwrap();
    let checked = process.json(&["config", "check", "--config", "gatehouse.toml"]);
    assert_eq!(checked["baseUrl"], "https://gate.example.com");
    assert!(!checked.to_string().contains("hunter2"));
    let named = Process::new(&[("GATEHOUSE_CONFIG_FILE", "named.toml")]);
    std::fs::write(named.path().join("named.toml"), "log_format = 'pretty'").unwrap();
    assert_eq!(named.json(&["config", "check"])["logFormat"], "pretty");
    std::fs::write(process.path().join("gatehouse.toml"), "bind = ").unwrap();
    let (code, problem) = process.refused(&["config", "check", "--config", "gatehouse.toml"]);
    assert!(code == 1 && problem.contains("gatehouse.toml"), "{problem}");
}

#[test]
fn a_token_is_inspected_without_a_database() {
    let process = Process::new(&[]);
    let (_, token) = acme(&process);
    let output = process.with_input(&["token", "inspect", "--json"], &format!("{token}\n"));
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["kind"], "scim");
    let output = process.with_input(&["token", "inspect"], &token.replace("scim_", "scim_x"));
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn printed_documents_equal_the_served_ones() {
    let process = Process::new(&[]);
    assert_eq!(process.json(&["openapi"]), gatehouse::api::document());
    assert_eq!(process.json(&["events"]), gatehouse::api::events());
}

#[test]
fn start_on_an_existing_database_is_fast_and_small() {
    let process = Process::new(&[("GATEHOUSE_BIND", "127.0.0.1:0")]);
    acme(&process);
    drop(process.serve());
    let start = std::time::Instant::now();
    let server = process.serve();
    let time = start.elapsed();
    assert!(time.as_secs_f64() < 1.0, "ready after {time:?}");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    // Anonymous memory only: the code pages of a test build differ from a release build.
    let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = resident.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kib < 60_000, "{kib} KiB idle");
}

#[test]
fn commands_work_while_the_server_writes() {
    let rates = ("GATEHOUSE_SCIM_RATES", "10000,10000,10000");
    let process = Process::new(&[("GATEHOUSE_BIND", "127.0.0.1:0"), rates]);
    let (_, token) = acme(&process);
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let (scim, stop) = (&scim, &stop);
            scope.spawn(move || {
                for number in 0.. {
                    if stop.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    let body = json!({ "userName": format!("u-{writer}-{number}") });
                    assert_eq!(scim.post("/api/scim/v2/Users", &body).status, 201);
                }
            });
        }
        let minted: Vec<_> = (0..5)
            .map(|number| {
                process.run(&["token", "scim", "--tenant", "acme", "--name", &format!("t{number}"), "--json"])
            })
            .collect();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        for output in minted {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    });
}

#[test]
fn migrations_are_listed_and_data_is_readable_only_by_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let process = Process::new(&[]);
    assert_eq!(process.json(&["migrate"])["applied"].as_array().unwrap().len(), 28);
    assert_eq!(process.json(&["migrate"]), json!({ "applied": [] }));
    let mode = std::fs::metadata(process.path().join("data")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn database_without_the_extension_is_not_distributed() {
    let distribute: &[&str] = &["migrate", "--distribute"];
    let file = Process::on(store::testing::Kind::Sqlite, &[]);
    let (code, message) = file.refused(distribute);
    assert!(code == 1 && message.contains("only a PostgreSQL database"), "{code} {message}");
    if store::testing::TestDatabase::is_distributed() {
        let distributed = Process::on(store::testing::Kind::Postgres, &[]);
        assert_eq!(distributed.json(distribute), json!({ "applied": [], "statements": [] }));
        return;
    }
    let plain = Process::on(store::testing::Kind::Postgres, &[]);
    for words in [distribute, &["migrate", "--distribute", "--dry-run"]] {
        let (code, message) = plain.refused(words);
        assert!(code == 1 && message.contains("CREATE EXTENSION citus"), "{code} {message}");
    }
    let (code, message) = plain.refused(&["migrate", "--dry-run"]);
    assert!(code == 2 && message.contains("--distribute"), "{code} {message}");
}

#[test]
fn server_on_a_loopback_address_uses_localhost_in_urls() {
    let process = Process::on(store::testing::Kind::Sqlite, &[]);
    let token = process.tenant("acme");
    let server = process.serve();
    let made = Caller::anonymous(server.address).bearer(&token);
    let made = made.post("/api/scim/v2/Users", &ada()).json();
    let start = format!("http://localhost:{}/api/scim/v2/Users/", server.address.port());
    assert!(made["meta"]["location"].as_str().unwrap().starts_with(&start), "{made}");
}
