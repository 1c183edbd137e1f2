//! `gatehouse doctor` on healthy and unhealthy installations.

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use store::testing::{Kind, TestDatabase};

use crate::support::Process;

/// Returns the exit status and the checks that did not pass.
fn doctor(process: &Process) -> (i32, Vec<(String, String, String)>) {
    let output = process.run(&["doctor", "--json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap().iter().filter(|check| check["status"] != "ok");
    let bad =
        checks.map(|check| (text(check, "check"), text(check, "status"), text(check, "message"))).collect();
    let code = output.status.code().unwrap();
    assert_eq!(report["ok"], code == 0);
    (code, bad)
}

/// Does the same without checks that depend on the machine of the test.
fn failed_checks(process: &Process) -> (i32, Vec<(String, String, String)>) {
    let (code, mut bad) = doctor(process);
    bad.retain(|(check, _, says)| check != "open files" && !says.contains("fsync"));
    (code, bad)
}

#[test]
fn healthy_installation_passes_before_and_after_its_first_start() {
    for kind in Kind::ALL {
        let process = Process::on(kind, &[]);
        assert_eq!(failed_checks(&process), (0, Vec::new()), "new");
        process.tenant("acme");
        let server = process.serve();
        assert_eq!(failed_checks(&process), (0, Vec::new()), "running");
        drop(server);
        let lines = String::from_utf8(process.run(&["doctor"]).stdout).unwrap();
        assert!(lines.lines().all(|line| line.starts_with("ok ") || line.starts_with("warn")), "{lines}");
    }
}

#[test]
fn problems_are_reported_with_a_remedy() {
    let mut process = Process::on(Kind::Sqlite, &[("GATEHOUSE_BASE_URL", "https://gate.example.com")]);
    process.tenant("acme");
    drop(process.serve());
    let secrets = process.path().join("data/secrets.toml");
    std::fs::set_permissions(&secrets, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, bad) = failed_checks(&process);
    assert_eq!((code, bad.len()), (0, 2), "{bad:?}");
    assert!(
        bad[0].2.ends_with("secrets.toml is accessible to all users of this machine (644). Run chmod 600")
    );
    assert!(bad[1].2.contains("trusted_proxies is not set"), "{bad:?}");

    process.set("GATEHOUSE_TLS_CERT", "none.pem");
    process.set("GATEHOUSE_TLS_KEY", "none.pem");
    let (code, bad) = failed_checks(&process);
    let failed: Vec<_> = bad.iter().filter(|(_, status, _)| status == "fail").collect();
    assert!(code == 1 && failed[0].2.contains("tls_cert: none.pem"), "{bad:?}");

    process.set("GATEHOUSE_ATTESTATION_METADATA", "none.jwt");
    let (code, bad) = failed_checks(&process);
    let says = |words: &str| bad.iter().any(|(_, status, says)| status == "fail" && says.contains(words));
    assert!(code == 1 && says("attestation_metadata: none.jwt: No such file"), "{bad:?}");

    process.set("GATEHOUSE_BIND", "here");
    let (code, bad) = failed_checks(&process);
    assert!(code == 1 && bad[0].2.starts_with("bind (GATEHOUSE_BIND): write an address"), "{bad:?}");
}

#[test]
fn damaged_database_file_is_reported() {
    let process = Process::on(Kind::Sqlite, &[]);
    process.tenant("acme");
    for number in 0..50 {
        let email = format!("person-{number}@example.com");
        process.json(&["user", "create", "--tenant", "acme", "--email", &email]);
    }
    let path = process.path().join("data/gatehouse.db");
    let mut bytes = std::fs::read(&path).unwrap();
    // The header stays intact; the pages in the middle are overwritten.
    let (from, to) = (bytes.len() / 3, bytes.len() / 2);
    bytes[from..to].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let (code, bad) = failed_checks(&process);
    assert_eq!(code, 1, "{bad:?}");
    assert!(bad.iter().any(|(check, status, _)| check == "database" && status == "fail"), "{bad:?}");
}

#[test]
fn unreachable_or_unmigrated_database_is_reported() {
    let mut process = Process::on(Kind::Postgres, &[]);
    process.set("GATEHOUSE_DATABASE_URL", "postgres://gatehouse@127.0.0.1:1/none");
    let (code, bad) = failed_checks(&process);
    assert!(code == 1 && bad[0].0 == "database", "{bad:?}");
    process.set("GATEHOUSE_DATABASE_URL", &store::testing::cluster());
    let (code, bad) = failed_checks(&process);
    assert!(code == 1 && bad[0].2.contains("Run gatehouse migrate"), "{bad:?}");
}

/// Returns the script that makes the audit log append-only on PostgreSQL, without its `psql` commands.
fn append_only() -> String {
    let script = include_str!("../../../../../docs/postgresql/append-only.sql");
    script.lines().filter(|line| !line.starts_with('\\')).collect::<Vec<_>>().join("\n")
}

#[test]
fn missing_or_unknown_audit_log_triggers_are_reported() {
    for kind in Kind::ALL {
        let process = Process::on(kind, &[]);
        process.tenant("acme");
        drop(process.serve());
        let (missing, drop_one, swallow, elsewhere) = match kind {
            Kind::Sqlite => (
                "audit_sealed.audit_sealed_stay",
                "DROP TRIGGER audit_sealed_stay",
                "CREATE TRIGGER swallow AFTER INSERT ON audit_unsealed BEGIN DELETE FROM audit_unsealed; END",
                "CREATE TRIGGER elsewhere AFTER UPDATE ON users BEGIN DELETE FROM audit_entries; END",
            ),
            // Triggers are not supported there, so none is missing.
            Kind::Postgres if TestDatabase::is_distributed() => {
                assert_eq!(failed_checks(&process), (0, Vec::new()));
                continue;
            }
            Kind::Postgres => {
                process.sql(&append_only());
                (
                    "audit_sealed.stay",
                    "DROP TRIGGER stay ON audit_sealed",
                    "CREATE TRIGGER swallow AFTER INSERT ON audit_unsealed EXECUTE FUNCTION audit_refuse()",
                    "CREATE FUNCTION forget() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                     DELETE FROM AUDIT_ENTRIES WHERE actor_id = 'x'; RETURN NULL; END $$; \
                     CREATE TRIGGER elsewhere AFTER UPDATE ON users EXECUTE FUNCTION forget()",
                )
            }
        };
        assert_eq!(failed_checks(&process), (0, Vec::new()));
        let says = |words: &str| {
            let (code, bad) = failed_checks(&process);
            let is_said = bad.iter().any(|(check, status, says)| {
                check == "audit log" && status == "fail" && says.contains(words)
            });
            assert!(code == 1 && is_said, "{words}: {bad:?}");
        };
        process.sql(swallow);
        says("unknown trigger audit_unsealed.swallow");
        process.sql(elsewhere);
        says("unknown trigger users.elsewhere");
        process.sql(drop_one);
        says(&format!("the trigger {missing} is missing"));
        match kind {
            Kind::Sqlite => {
                process.sql(
                    "DROP TRIGGER audit_logs_grow; CREATE TRIGGER audit_logs_grow BEFORE UPDATE ON audit_logs BEGIN SELECT 1; END",
                );
                says("the trigger audit_logs.audit_logs_grow differs from the expected one");
            }
            Kind::Postgres => {
                process.sql("ALTER TABLE audit_logs DISABLE TRIGGER grow");
                says("the trigger audit_logs.grow differs from the expected one");
                process.sql("CREATE RULE quiet AS ON INSERT TO audit_entries DO INSTEAD NOTHING");
                says("unknown trigger audit_entries.quiet");
                process.sql("CREATE RULE also AS ON UPDATE TO users DO ALSO DELETE FROM audit_entries");
                says("unknown trigger users.also");
            }
        }
    }
}
