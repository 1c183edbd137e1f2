//! An attacker with SQL access to the database, but without the master key, forges history and hides it.

use audit::StoredEntry;
use serde_json::{Value, json};
use store::testing::Kind;

use crate::support::{Browser, Caller, Process, Running, eventually};

pub(super) const LOG: &str = "/api/settings/audit-log";

/// A server with a tenant and an administrator, and an attacker with access to its database.
pub(super) struct World {
    pub(super) process: Process,
    pub(super) server: Running,
    kind: Kind,
    pub(super) admin: Browser,
    pub(super) scim: Caller,
    pub(super) tenant: String,
}

impl World {
    pub(super) fn new(kind: Kind) -> Self {
        println!("on {kind:?}");
        let process = Process::on(kind, &[]);
        let token = process.tenant("acme");
        let server = process.serve();
        process.json(&[
            "user",
            "create",
            "--tenant",
            "acme",
            "--email",
            "ada@example.com",
            "--role",
            "ADMIN",
        ]);
        let who = ["--tenant", "acme", "--email", "ada@example.com"];
        let mint = ["token", "pat", "--name", "CI", "--scopes", "admin:tenant"];
        let pat = process.json(&[&mint[..], &who].concat())["token"].as_str().unwrap().to_owned();
        let admin = Browser::new(server.address).with("Authorization", &format!("Bearer {pat}"));
        let scim = Caller::anonymous(server.address).bearer(&token);
        let key = process.json(&["audit", "key", "--tenant", "acme"])["keys"][0].as_str().unwrap().to_owned();
        let tenant = key.split('+').next().unwrap().rsplit('/').next().unwrap().to_owned();
        Self { process, server, kind, admin, scim, tenant }
    }

    /// Creates users until all their entries are sealed. Returns the size of the log.
    pub(super) fn busy(&self, name: &str, users: usize) -> u64 {
        let before = self.size();
        for number in 0..users {
            let made =
                self.scim.post("/api/scim/v2/Users", &json!({ "userName": format!("{name}{number}") }));
            assert_eq!(made.status, 201, "{}", made.text);
        }
        eventually(|| self.size() >= before + users as u64);
        self.size()
    }

    pub(super) fn checkpoint(&self) -> String {
        self.admin.get(&format!("{LOG}/checkpoint")).text
    }

    fn size(&self) -> u64 {
        self.checkpoint().lines().nth(1).and_then(|line| line.parse().ok()).unwrap_or_default()
    }

    pub(super) fn bytes(&self, bytes: &[u8]) -> String {
        let hex = data_encoding::HEXLOWER.encode(bytes);
        if self.kind == Kind::Sqlite { format!("x'{hex}'") } else { format!("'\\x{hex}'") }
    }

    /// Inserts an entry with the correct hash, like the server, but without a valid MAC.
    pub(super) fn forge(&self, id: &str, action: &str, metadata: &str) {
        let entry = StoredEntry {
            id: id.into(),
            timestamp: "2026-01-01T00:00:00.000Z".parse().unwrap(),
            actor_type: "USER".into(),
            actor_id: "usr_somebody".into(),
            action: action.into(),
            resource_type: "tenant".into(),
            resource_id: self.tenant.clone(),
            ip: None,
            metadata: metadata.into(),
            leaf: [0; 32],
            salt: None,
            ip_commitment: None,
            mac: None,
        };
        let leaf = self.bytes(&entry.content_leaf(&self.tenant).unwrap());
        self.process.sql(&format!(
            "INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, \
             metadata, leaf) VALUES ('{0}', '{id}', '2026-01-01 00:00:00', 'USER', 'usr_somebody', '{action}', 'tenant', \
             '{0}', '{metadata}', {leaf}); INSERT INTO audit_unsealed VALUES ('{0}', '{id}')",
            self.tenant
        ));
    }

    /// Verifies the log against an earlier checkpoint, which must fail, and returns the findings.
    pub(super) fn findings(&self, kept: &str) -> Vec<Value> {
        let file = self.process.path().join("kept.txt");
        std::fs::write(&file, kept).unwrap();
        let words = ["audit", "verify", "--tenant", "acme", "--checkpoint", file.to_str().unwrap(), "--json"];
        let output = self.process.run(&words);
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        found["findings"].as_array().unwrap().clone()
    }
}

#[test]
fn forged_entry_is_not_sealed_and_is_reported() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 3);
        let kept = world.checkpoint();
        world.forge("aud_00000000forged", "ACCOUNT_USER_DELETED", "{}");
        // Entries after it are sealed.
        world.busy("b", 3);
        let sealed = world.admin.get(&format!("{LOG}?order=sequence&limit=200")).text;
        assert!(!sealed.contains("aud_00000000forged"), "{sealed}");
        let finding = json!({
            "finding": "UNAUTHENTICATED", "sequence": null, "id": "aud_00000000forged", "problem": "MISSING"
        });
        assert_eq!(world.findings(&kept), [finding]);
        let metrics = || Caller::anonymous(world.server.address).get("/metrics").text;
        eventually(|| metrics().contains("gatehouse_audit_unauthenticated_entries 1"));
        assert!(world.server.log().contains("audit entries are not sealed"), "{}", world.server.log());
        let doctor = world.process.run(&["doctor", "--json"]);
        let report = String::from_utf8(doctor.stdout).unwrap();
        assert!(!doctor.status.success() && report.contains("have no valid MAC"), "{report}");
    }
}

#[test]
fn forged_removal_entry_does_not_hide_a_deletion() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 520);
        let kept = world.checkpoint();
        let tenant = &world.tenant;
        // All triggers are in place: they allow deleting entries that are declared as removed.
        let data = r#"{"fromSequence":0,"beforeSequence":512}"#;
        world.forge("aud_00000000forged", "ACCOUNT_AUDIT_ENTRIES_DROPPED", data);
        world
            .process
            .sql(&format!("INSERT INTO audit_drops VALUES ('{tenant}', 512, '2026-01-01 00:00:00')"));
        world.process.sql(&format!(
            "DELETE FROM audit_entries WHERE tenant_id = '{tenant}' AND id IN \
             (SELECT entry_id FROM audit_sealed WHERE tenant_id = '{tenant}' AND sequence < 512)"
        ));
        world
            .process
            .sql(&format!("DELETE FROM audit_sealed WHERE tenant_id = '{tenant}' AND sequence < 512"));
        world.busy("b", 3);
        let found = world.findings(&kept);
        for finding in [
            json!({ "finding": "NOT_SIGNED", "statement": "the removal before 512" }),
            json!({ "finding": "MISSING", "from": 0, "to": 256 }),
            json!({ "finding": "MISSING", "from": 256, "to": 512 }),
        ] {
            assert!(found.contains(&finding), "{finding} in {found:?}");
        }
    }
}

#[test]
fn retention_changed_in_the_database_removes_nothing() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 3);
        let drop_old = ["audit", "purge", "--tenant", "acme"];
        // Never set by the operator, and set once to something else.
        world.process.sql("UPDATE tenants SET audit_days = 1");
        assert!(world.process.refused(&drop_old).1.contains("is not signed"));
        world.process.json(&["audit", "retain", "--tenant", "acme", "--days", "400"]);
        assert_eq!(world.process.json(&drop_old)["dropped"], 0);
        world.process.sql("UPDATE tenants SET audit_days = 1");
        assert!(world.process.refused(&drop_old).1.contains("was changed in the database"));
        // The attacker deletes the newest statement to restore an older setting.
        world.process.json(&["audit", "retain", "--tenant", "acme", "--days", "1"]);
        world.process.json(&["audit", "retain", "--tenant", "acme", "--days", "400"]);
        if kind == Kind::Sqlite {
            world.process.sql("DROP TRIGGER audit_statements_stay");
        }
        world.process.sql("DELETE FROM audit_statements WHERE number = 2; UPDATE tenants SET audit_days = 1");
        assert!(world.process.refused(&drop_old).1.contains("its signed statement is missing"));
        world.busy("b", 1);
        let found = world.findings(&world.checkpoint());
        assert!(
            found.iter().any(|finding| finding.to_string().contains("the retention set at")),
            "{found:?}"
        );
        // A statement signed with another key is invalid.
        let note = "gatehouse/audit-retention/x\n{}\n\n— x AAAA\n";
        world.process.sql(&format!(
            "INSERT INTO audit_statements VALUES ('{}', 'retention', 9, '2026-01-01 00:00:00', '{note}')",
            world.tenant
        ));
        assert!(world.process.refused(&drop_old).1.contains("is signed by an unknown key"));
        let finding = json!({ "finding": "NOT_SIGNED", "statement": "retention setting 9" });
        assert!(world.findings(&world.checkpoint()).contains(&finding));
    }
}

#[test]
fn unreadable_rows_are_findings() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 3);
        let kept = world.checkpoint();
        let garbage = if kind == Kind::Sqlite {
            world.process.sql("DROP TRIGGER audit_entries_stay_as_they_are");
            "'not a time'"
        } else {
            "'infinity'"
        };
        let of = "(SELECT entry_id FROM audit_sealed WHERE sequence = 1)";
        world.process.sql(&format!("UPDATE audit_entries SET created_at = {garbage} WHERE id = {of}"));
        let finding = json!({ "finding": "UNREADABLE", "table": "audit_entries", "at": "1" });
        assert_eq!(world.findings(&kept), [finding]);
        let short = world.bytes(&[1; 31]);
        world.process.sql(&format!("UPDATE audit_logs SET frontier = {short}"));
        let finding = json!({ "finding": "UNREADABLE", "table": "audit_logs", "at": "" });
        assert!(world.findings(&kept).contains(&finding));
    }
}
