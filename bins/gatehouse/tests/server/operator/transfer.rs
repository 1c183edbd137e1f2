//! `gatehouse tenant export` and `gatehouse tenant import`: a tenant moves to another installation.

use std::time::Duration;

use serde_json::{Value, json};
use store::testing::Kind;
use webhooks::verify::{ReceiverSecrets, verify};

use crate::support::{Answer, Browser, Caller, Idp, Process, Running, Sink, code_at};

const PASSWORD: &str = "four tall blue towers";
const SETTINGS: [(&str, &str); 2] =
    [("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8"), ("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true")];
/// The keys of the source, and those of the target before and after its operator adds that of the source.
const SOURCE: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
const TARGET: &str = "HxobHB0eHxgZFhcUFRITEBEODwwNCgsICQYHBAUCAwA=";

fn now() -> i64 {
    kernel::Env::now(&kernel::SystemEnv::default()).unix_millis() / 1000
}

/// Returns an installation with these master keys.
fn installation(kind: Kind, keys: &str) -> Process {
    let mut process = Process::on(kind, &SETTINGS);
    process.set("GATEHOUSE_MASTER_KEY", keys);
    process
}

/// Creates an administrator with a password.
fn administrator(process: &Process, tenant: &str, password: &str) {
    let words = ["user", "create", "--tenant", tenant, "--email", "ada@example.com", "--role", "ADMIN"];
    let created = process.with_input(&[&words[..], &["--password-stdin"]].concat(), password);
    assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stderr));
}

fn sign_in(server: &Running, tenant: Option<&str>, password: &str) -> (Browser, Answer) {
    let browser = Browser::new(server.address);
    let body = json!({ "email": "ada@example.com", "password": password, "tenant": tenant });
    let answer = browser.post("/api/auth/sign-in", &body);
    (browser, answer)
}

/// What the tenant `acme` has at the source.
struct Acme {
    scim: String,
    pat: String,
    totp: String,
    webhook: String,
    connection: String,
}

/// Fills the tenant with one of each value that depends on a master key.
fn fill(source: &Process, sink: &Sink) -> Acme {
    let scim = source.tenant("acme");
    source.tenant("neighbor");
    administrator(source, "acme", PASSWORD);
    administrator(source, "neighbor", "another password");
    source.json(&["domain", "verify", "--tenant", "acme", "--domain", "corp.example"]);
    std::fs::write(source.path().join("idp.xml"), Idp::new("idp.example.com").metadata()).unwrap();
    let words = [
        "saml",
        "add",
        "--tenant",
        "acme",
        "--name",
        "Okta",
        "--metadata",
        "idp.xml",
        "--email-domains",
        "corp.example",
    ];
    let connection = source.json(&words)["id"].as_str().unwrap().to_owned();
    let of = ["--tenant", "acme", "--email", "ada@example.com"];
    let words = ["token", "pat", "--name", "x", "--scopes", "admin:tenant"];
    let pat = source.json(&[&words[..], &of].concat())["token"].as_str().unwrap().to_owned();

    let server = source.serve();
    let new = json!({ "name": "x", "url": sink.url("/in"), "eventFilters": ["ACCOUNT_USER_*"] });
    let made = Caller::anonymous(server.address).bearer(&pat);
    let made = made.send("POST", "/api/settings/webhooks", Some("application/json"), &new.to_string());
    let webhook = made.json()["secret"].as_str().unwrap().to_owned();
    let new = json!({ "name": "x", "type": "HTTPS", "url": sink.url("/log"), "header": "X-Key", "secret": "log key" });
    let made = Caller::anonymous(server.address).bearer(&pat);
    let made = made.send("POST", "/api/settings/log-streams", Some("application/json"), &new.to_string());
    assert_eq!(made.status, 200, "{}", made.text);
    let (ada, answer) = sign_in(&server, Some("acme"), PASSWORD);
    assert_eq!(answer.json()["status"], "SIGNED_IN", "{}", answer.text);
    let begun = ada.post("/api/me/factors/totp", &json!({})).json();
    let totp = begun["secret"].as_str().unwrap().to_owned();
    let body = json!({ "id": begun["id"], "code": code_at(&totp, now() - 30) });
    assert_eq!(ada.post("/api/me/factors/totp/verify", &body).status, 200);
    let created = Caller::anonymous(server.address).bearer(&scim).post(
        "/api/scim/v2/Users",
        &json!({ "userName": "grace@example.com", "displayName": "Grace \u{1F511}", "emails": [{ "value": "grace@example.com" }] }),
    );
    assert_eq!(created.status, 201, "{}", created.text);
    sink.await_received("/in", 1);
    Acme { scim, pat, totp, webhook, connection }
}

#[test]
fn imported_tenant_works_with_its_log_under_other_ids_of_keys() {
    for (from, to) in [(Kind::Sqlite, Kind::Postgres), (Kind::Postgres, Kind::Sqlite)] {
        let source = installation(from, SOURCE);
        let sink = Sink::start();
        let acme = fill(&source, &sink);
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

        works(&target, &acme, &sink);
        let doctor = target.run(&["doctor"]);
        assert!(doctor.status.success(), "{}", String::from_utf8_lossy(&doctor.stdout));
        assert_eq!(target.json(&["audit", "verify", "--tenant", "acme"])["count"], 0);
        assert_eq!(target.json(&["audit", "verify", "--tenant", "host"])["count"], 0);
    }
}

/// Uses everything that was moved.
fn works(target: &Process, acme: &Acme, sink: &Sink) {
    let server = target.serve();
    let before = sink.received("/in").len();
    let scim = Caller::anonymous(server.address).bearer(&acme.scim);
    let found = scim.get("/api/scim/v2/Users?filter=userName%20eq%20%22grace@example.com%22").json();
    assert_eq!(found["Resources"][0]["displayName"], "Grace \u{1F511}");
    assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "late@example.com" })).status, 201);
    let received = sink.await_received("/in", before + 1).pop().unwrap();
    let secrets = ReceiverSecrets::new([&*acme.webhook]).unwrap();
    let (time, signature) = (received.header("x-service-timestamp"), received.header("x-service-signature"));
    assert_eq!(verify(&secrets, time, signature, received.body.as_bytes(), now()), Ok(()));

    let admin = Caller::anonymous(server.address).bearer(&acme.pat);
    assert_eq!(admin.get("/api/settings/webhooks").status, 200);
    let sent = sink.await_received("/log", sink.received("/log").len() + 1).pop().unwrap();
    assert_eq!(sent.header("x-key"), "log key", "the secret of the log stream is decrypted");
    let started = Caller::anonymous(server.address).get(&format!("/api/saml/{}/login", acme.connection));
    assert_eq!(started.status, 200, "the request is signed with the moved key: {}", started.text);

    // Both passwords of the address work: that of the host at once, the moved one where its tenant is named.
    let (_, host) = sign_in(&server, Some("host"), "the password of the host");
    assert_eq!(host.json()["status"], "SIGNED_IN", "{}", host.text);
    for tenant in [Some("acme"), None] {
        // The first sign-in replaces the salt, so that the second one needs no tenant.
        let (browser, asked) = sign_in(&server, tenant, PASSWORD);
        assert_eq!(asked.json()["status"], "MFA_REQUIRED", "{}\n{}", asked.text, server.log());
        if tenant.is_some() {
            let done = browser.verify(&asked.json()["ticket"], "TOTP", &code_at(&acme.totp, now()));
            assert_eq!(done.json()["status"], "SIGNED_IN", "{}", done.text);
        }
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
