//! `gatehouse tenant export` and `gatehouse tenant import`: a tenant moves to another installation.

use std::time::Duration;

use serde_json::{Value, json};
use store::testing::Kind;

use super::tenant_with_secrets::{PASSWORD, SETTINGS, TenantWithSecrets, administrator, sign_in};
use crate::support::{Process, Sink};

/// The keys of the source, and those of the target before and after its operator adds that of the source.
const SOURCE: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const TARGET: &str = "HxobHB0eHxgZFhcUFRITEBEODwwNCgsICQYHBAUCAwA=";

/// Returns an installation with these master keys.
fn installation(kind: Kind, keys: &str) -> Process {
    let mut process = Process::on(kind, &SETTINGS);
    process.set("GATEHOUSE_MASTER_KEY", keys);
    process
}

#[test]
fn imported_tenant_works_with_its_log_under_other_ids_of_keys() {
    for (from, to) in [(Kind::Sqlite, Kind::Postgres), (Kind::Postgres, Kind::Sqlite)] {
        let source = installation(from, SOURCE);
        let sink = Sink::start();
        let acme = TenantWithSecrets::new(&source, &sink);
        let file = source.path().join("acme.jsonl");
        let file = file.to_str().unwrap();
        let exported = source.json(&["tenant", "export", "--slug", "acme", "--to", file]);
        let text = std::fs::read_to_string(file).unwrap();
        assert!(!text.contains("neighbor"), "only rows of the tenant");
        assert_eq!(exported["rows"], json!(text.matches("\n[").count()));

        // The target has a key with the same id, and another password for the same address.
        let mut target = installation(to, TARGET);
        target.tenant("host");
        administrator(&target, "host", "the password of the host");
        let import = ["tenant", "import", "--from", file];
        let (code, problem) = target.refused(&import);
        assert_eq!((code, problem.contains("none of the master keys of the source")), (1, true), "{problem}");
        target.set("GATEHOUSE_MASTER_KEY", &format!("1:{TARGET},acme1:{SOURCE}"));
        let imported = target.json(&import);
        assert_eq!((&imported["rows"], &imported["tables"]), (&exported["rows"], &exported["tables"]));
        let log = &imported["auditLog"];
        let entries = log["entries"].as_u64().unwrap() + log["waiting"].as_u64().unwrap();
        assert!(log["count"] == 0 && entries > 8, "{log}");
        let (code, problem) = target.refused(&import);
        assert_eq!((code, problem.as_str()), (1, "gatehouse: the tenant exists here already"));

        let server = target.serve();
        acme.works(&server, &sink);
        // The other tenant's user has the same address. Its password works at once.
        let (_, host) = sign_in(&server, Some("host"), "the password of the host");
        assert_eq!(host.json()["status"], "SIGNED_IN", "{}", host.text);
        // The first sign-in has replaced the salt, so that another one needs no tenant.
        let (_, asked) = sign_in(&server, None, PASSWORD);
        assert_eq!(asked.json()["status"], "MFA_REQUIRED", "{}\n{}", asked.text, server.log());
        drop(server);
        let doctor = target.run(&["doctor"]);
        assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
        assert_eq!(target.json(&["audit", "verify", "--tenant", "acme"])["count"], 0);
        assert_eq!(target.json(&["audit", "verify", "--tenant", "host"])["count"], 0);
    }
}

/// Returns the master keys that an SQLite installation has generated, with their ids.
fn generated_keys(process: &Process) -> String {
    let secrets = std::fs::read_to_string(process.path().join("data/secrets.toml")).unwrap();
    let line = secrets.lines().find(|line| line.starts_with("master_key")).unwrap();
    line.split('"').nth(1).unwrap().to_owned()
}

#[test]
fn log_with_a_retired_key_verifies_while_a_server_runs() {
    // Both installations have generated a first key with the same id. The source has replaced and retired its own.
    let source = Process::on(Kind::Sqlite, &SETTINGS);
    source.tenant("acme");
    let server = source.serve();
    let verified = || source.json(&["audit", "verify", "--tenant", "acme"]);
    super::until("the log is sealed", Duration::from_secs(10), || verified()["waiting"] == 0);
    source.json(&["keys", "rotate", "--only", "master-key"]);
    source.json(&["keys", "retire", "--only", "master-key"]);
    drop(server);
    let remaining = generated_keys(&source);
    let key = remaining.rsplit(':').next().unwrap();
    let path = source.path().join("acme.jsonl");
    let file = path.to_str().unwrap();
    source.json(&["tenant", "export", "--slug", "acme", "--to", file]);

    let mut target = Process::on(Kind::Sqlite, &SETTINGS);
    target.tenant("host");
    let own = generated_keys(&target);
    let own = own.rsplit(':').next().unwrap().to_owned();
    target.set("GATEHOUSE_MASTER_KEY", &format!("1:{own},acme1:{key}"));
    let server = target.serve();
    let imported = target.json(&["tenant", "import", "--from", file]);
    assert_eq!(imported["auditLog"]["count"], 0, "{imported}");
    let retired = imported["retiredKeys"]["1"].as_str().unwrap();
    assert!(retired.starts_with("retired"), "{imported}");
    let verify = |more: &[&str]| target.run(&[&["audit", "verify", "--tenant", "acme"], more].concat());
    assert!(!verify(&[]).status.success(), "the retired key is not trusted");
    assert!(verify(&["--retired-key", retired]).status.success());
    assert_eq!(target.json(&["audit", "verify", "--tenant", "host"])["count"], 0);
    // The running server serves the tenant and goes on with its log.
    target.json(&["token", "scim", "--tenant", "acme", "--name", "Later"]);
    super::until("the new entry is sealed", Duration::from_secs(10), || {
        let verified = verify(&["--retired-key", retired, "--json"]);
        serde_json::from_slice::<Value>(&verified.stdout).unwrap()["waiting"] == 0
    });
    assert!(!server.log().contains("could not be sealed"), "{}", server.log());
}

#[test]
fn damaged_files_and_conflicts_are_refused_and_change_nothing() {
    let source = installation(Kind::Sqlite, SOURCE);
    source.tenant("acme");
    source.json(&["domain", "verify", "--tenant", "acme", "--domain", "corp.example"]);
    let path = source.path().join("acme.jsonl");
    let file = path.to_str().unwrap();
    let export = ["tenant", "export", "--slug", "acme", "--to", file];
    source.json(&export);
    let (_, problem) = source.refused(&export);
    assert!(problem.contains("acme.jsonl: File exists"), "{problem}");
    let text = std::fs::read_to_string(&path).unwrap();
    for kind in Kind::ALL {
        let target = installation(kind, SOURCE);
        target.tenant("host");
        let refused = |text: &str| {
            let changed = target.path().join("changed.jsonl");
            std::fs::write(&changed, text).unwrap();
            let (code, problem) = target.refused(&["tenant", "import", "--from", "changed.jsonl"]);
            assert_eq!(code, 1);
            problem
        };
        let cut = text.rsplit_once("{\"key\"").unwrap().0;
        for damaged in [
            text.replace("ENTERPRISE", "STANDARD"),
            cut.to_owned(),
            format!("{text}[]\n"),
            text.replacen("\"signature\":\"", "\"signature\":\"00", 1),
            text.replacen("\"slug\":\"acme\"", "\"slug\":\"host\"", 1),
        ] {
            assert_eq!(refused(&damaged), "gatehouse: the file was changed or cut off after the export");
        }
        assert_eq!(refused("{}\n"), "gatehouse: line 1 of the file is not part of an exported tenant");
        let malformed = refused(&text.replacen("\n[", "\n[[", 1));
        assert_eq!(malformed, "gatehouse: line 3 of the file is not part of an exported tenant");

        target.sql("UPDATE tenant_slugs SET slug = 'acme' WHERE slug = 'host'");
        target.sql("UPDATE tenants SET slug = 'acme' WHERE slug = 'host'");
        assert_eq!(refused(&text), "gatehouse: another tenant here has the slug acme");
        target.sql("UPDATE tenants SET slug = 'host' WHERE slug = 'acme'");
        target.sql("UPDATE tenant_slugs SET slug = 'host' WHERE slug = 'acme'");
        target.json(&["domain", "verify", "--tenant", "host", "--domain", "corp.example"]);
        assert_eq!(
            refused(&text),
            "gatehouse: another tenant here has verified the email domain corp.example"
        );
        let tenants: Value = target.json(&["tenant", "list"]);
        assert_eq!(tenants["tenants"].as_array().unwrap().len(), 1, "nothing was imported: {tenants}");
        target.json(&["domain", "remove", "--tenant", "host", "--domain", "corp.example"]);
        assert_eq!(target.json(&["tenant", "import", "--from", file])["slug"], "acme");
    }
}
