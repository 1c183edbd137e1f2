//! Protection of the audit log on PostgreSQL: roles for the server and for retention, and triggers.

use std::{
    process::{Command, Output},
    sync::Arc,
};

use audit::{AuditStore, Audited, Entry, EntryKeys, Event, Unaudited, events::users::UserDeactivated};
use kernel::{Actor, Ctx, Env, ManualEnv, MasterKeys, Secret, StoreError, SystemEnv};
use serde_json::{Value, json};
use store::{
    Store, Tx,
    testing::{Kind, TestDatabase},
};

use crate::support::{Browser, Caller, Process, eventually};

const ROLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/postgresql/roles.sql");
const APPEND_ONLY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/postgresql/append-only.sql");

fn psql(url: &str, words: &[&str]) -> Output {
    Command::new("psql").args(["-qAt", "-v", "ON_ERROR_STOP=1"]).args(words).arg(url).output().unwrap()
}

fn done(url: &str, words: &[&str]) -> String {
    let output = psql(url, words);
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn refused(url: &str, statement: &str, expected: &str) {
    let output = psql(url, &["-c", statement]);
    let problem = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && problem.contains(expected), "{statement}: {problem}");
}

fn as_role(url: &str, role: &str) -> String {
    let (_, rest) = url.split_once('@').unwrap();
    format!("postgres://{role}@{rest}")
}

/// Checks that with the triggers, not even the owner can change the audit log without dropping them first.
fn nobody_can(owner: &str) {
    if TestDatabase::is_distributed() {
        let output = psql(owner, &["-f", APPEND_ONLY]);
        let problem = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(problem.contains("triggers are not supported on distributed tables"), "{problem}");
        return;
    }
    done(owner, &["-f", APPEND_ONLY]);
    done(owner, &["-f", APPEND_ONLY]);
    for statement in [
        "UPDATE audit_entries SET actor_id = 'x'",
        "UPDATE audit_entries SET ip = NULL, salt = NULL",
        "DELETE FROM audit_entries",
        "TRUNCATE audit_entries",
        "UPDATE audit_sealed SET sequence = 0",
        "DELETE FROM audit_sealed",
        "DELETE FROM audit_checkpoints",
        "UPDATE audit_subtrees SET hash = ''",
        "UPDATE audit_logs SET size = 0",
        "DELETE FROM audit_logs",
        "DELETE FROM audit_drops",
        "UPDATE audit_entries SET mac = NULL",
        "DELETE FROM audit_statements",
    ] {
        refused(owner, statement, "audit log");
    }
}

/// Appends old entries, as the server would have written them a week ago.
fn of_last_week(owner: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // The master key of `Process`.
        let keys = EntryKeys::derive(
            &MasterKeys::new(vec![("1".to_owned(), Secret::new((0..32).collect()))]).unwrap(),
        );
        let store = Store::open(&owner.parse().unwrap(), 1, keys).unwrap();
        let acme = store.across(async |across| across.tenant_of_slug("acme").await).await.unwrap().unwrap();
        let then = SystemEnv::default().now().plus_millis(-7 * 24 * 60 * 60 * 1000);
        let env = Arc::new(ManualEnv::at(then));
        let ctx = Ctx::new(Arc::clone(&env) as Arc<dyn Env>, acme.id, Actor::system("test"));
        let entry = |_| {
            env.advance_millis(1);
            Entry::new(&ctx, Event::new("usr_1", &UserDeactivated {}))
        };
        let entries: Vec<_> = (0..300).map(entry).collect();
        let work = async move |_: &Ctx, tx: &mut Tx| {
            tx.append(&entries).await?;
            Ok::<_, StoreError>(Audited::without((), Unaudited::StepTaken))
        };
        store.write(ctx.clone(), work).await.unwrap();
    });
}

#[test]
fn servers_role_cannot_change_the_audit_log() {
    let mut process = Process::on(Kind::Postgres, &[]);
    let owner = process.database_url();
    let token = process.tenant("acme");
    of_last_week(&owner);
    // Roles belong to the whole cluster, which other tests share, so their names must be unique.
    let key = process.json(&["audit", "key", "--tenant", "acme"])["keys"][0].as_str().unwrap().to_owned();
    let name = key.split('+').next().unwrap().rsplit('_').next().unwrap().to_owned();
    let (app, retention) = (format!("app_{name}"), format!("retention_{name}"));
    done(&owner, &["-c", &format!("CREATE ROLE {app} LOGIN; CREATE ROLE {retention} LOGIN")]);
    let granted = ["-v", &format!("app={app}"), "-v", &format!("retention={retention}"), "-f", ROLES];
    done(&owner, &granted);
    done(&owner, &granted);

    let (by_app, by_retention) = (as_role(&owner, &app), as_role(&owner, &retention));
    process.set("GATEHOUSE_DATABASE_URL", &by_app);
    let server = process.serve();
    let scim = Caller::anonymous(server.address).bearer(&token);
    for number in 0..300 {
        let made = scim.post("/api/scim/v2/Users", &json!({ "userName": format!("u{number}") }));
        assert_eq!(made.status, 201, "{}", made.text);
    }
    process.json(&["user", "create", "--tenant", "acme", "--email", "ada@example.com", "--role", "ADMIN"]);
    let who = ["--tenant", "acme", "--email", "ada@example.com"];
    let mint = ["token", "pat", "--name", "CI", "--scopes", "admin:tenant"];
    let pat = process.json(&[&mint[..], &who].concat())["token"].as_str().unwrap().to_owned();
    let by = Browser::new(server.address).with("Authorization", &format!("Bearer {pat}"));
    let size = || {
        let note = by.get("/api/settings/audit-log/checkpoint").text;
        note.lines().nth(1).and_then(|line| line.parse::<u64>().ok()).unwrap_or_default()
    };
    eventually(|| size() >= 600);

    let denied = "permission denied";
    for statement in [
        "UPDATE audit_entries SET actor_id = 'x'",
        "DELETE FROM audit_entries",
        "TRUNCATE audit_entries",
        "UPDATE audit_sealed SET sequence = 0",
        "DELETE FROM audit_sealed",
        "DELETE FROM audit_checkpoints",
        "UPDATE audit_subtrees SET hash = ''",
        "DELETE FROM audit_logs",
        "INSERT INTO audit_drops VALUES ('x', 0, now())",
        "INSERT INTO audit_statements VALUES ('x', 'retention', 0, now(), '')",
        "UPDATE audit_entries SET mac = NULL",
        "DROP TABLE audit_entries",
        "ALTER TABLE audit_entries DISABLE TRIGGER ALL",
        "UPDATE tenants SET audit_days = 1",
    ] {
        let says = if statement.contains("TABLE") { "must be owner" } else { denied };
        refused(&by_app, statement, says);
    }
    for statement in [
        "UPDATE audit_entries SET actor_id = 'x'",
        "DELETE FROM audit_checkpoints",
        "SELECT * FROM users",
        "UPDATE audit_logs SET size = 0",
    ] {
        refused(&by_retention, statement, denied);
    }

    // Only the retention role may set the retention and remove entries. The removal is recorded in the log.
    let output = process.run(&["audit", "retain", "--tenant", "acme", "--days", "1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains(denied));
    process.set("GATEHOUSE_DATABASE_URL", &by_retention);
    process.json(&["audit", "retain", "--tenant", "acme", "--days", "1"]);
    let drop_old = ["audit", "drop", "--tenant", "acme"];
    let dropped = process.json(&drop_old);
    assert_eq!((&dropped["dropped"], &dropped["beforeSequence"]), (&json!(256), &json!(256)), "{dropped}");
    assert_eq!(process.json(&drop_old)["dropped"], 0);
    process.set("GATEHOUSE_DATABASE_URL", &by_app);
    let newest = by.get("/api/settings/audit-log?action=ACCOUNT_AUDIT_ENTRIES_DROPPED").json();
    let metadata: &Value = &newest["entries"][0]["metadata"];
    assert_eq!(metadata, &json!({ "fromSequence": 0, "beforeSequence": 256 }));

    nobody_can(&owner);
    let before = size();
    let rule = json!({ "cidr": "10.0.0.1", "label": "Office" });
    let added = by.post("/api/settings/network-policy/rules", &rule);
    assert_eq!(added.status, 200, "{}", added.text);
    let newest = by.get("/api/settings/audit-log?action=ACCOUNT_NETWORK_RULE_ADDED&limit=1").json();
    let ada = newest["entries"][0]["actor"]["id"].as_str().unwrap().to_owned();
    assert_eq!(scim.post("/api/scim/v2/Users", &json!({ "userName": "later" })).status, 201);
    eventually(|| size() > before);
    process.set("GATEHOUSE_DATABASE_URL", &by_retention);
    let erase = ["audit", "erase", "--tenant", "acme", "--user", &ada];
    assert_eq!(process.json(&erase)["erased"], 1);
    assert_eq!(process.json(&erase)["erased"], 0);
    drop(server);

    // Only the retention role may sign a log again, before a key is retired.
    let keys =
        "k2:ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=,1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    process.set("GATEHOUSE_MASTER_KEY", keys);
    process.set("GATEHOUSE_DATABASE_URL", &by_app);
    let _sealing = process.serve();
    let retire = ["keys", "retire", "--only", "master-key", "--print"];
    assert!(process.refused(&retire).1.contains(denied));
    process.set("GATEHOUSE_DATABASE_URL", &by_retention);
    // That role cannot read secrets, so it cannot tell whether one needs the key.
    let unchecked = process.refused(&retire).1;
    assert!(unchecked.contains(denied) && unchecked.contains("--force"), "{unchecked}");
    let retire = [&retire[..], &["--force"]].concat();
    assert!(process.json(&retire)["masterKey"].as_str().unwrap().starts_with("k2:"));
}
