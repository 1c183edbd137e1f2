//! An attacker with SQL access to the database forges sequence numbers and checkpoints, and tries to make the
//! operator's own command remove history.

use serde_json::json;
use store::testing::Kind;

use super::forged_history::{LOG, World};
use crate::support::{Caller, eventually};

const DROP: [&str; 4] = ["audit", "drop", "--tenant", "acme"];

#[test]
fn restored_old_retention_removes_nothing() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        for days in ["1", "400"] {
            world.process.json(&["audit", "retain", "--tenant", "acme", "--days", days]);
        }
        world.busy("a", 3);
        assert_eq!(world.process.json(&DROP)["dropped"], 0);
        let tenant = &world.tenant;
        world.process.sql(&format!(
            "INSERT INTO audit_statements SELECT tenant_id, kind, 99, created_at, note FROM audit_statements \
             WHERE kind = 'retention' AND number = 0; UPDATE tenants SET audit_days = 1 WHERE id = '{tenant}'"
        ));
        assert!(world.process.refused(&DROP).1.contains("setting 99 is older"));
        let finding = json!({ "finding": "OUT_OF_ORDER", "statement": "retention setting 99" });
        assert!(world.findings(&world.checkpoint()).contains(&finding));
    }
}

#[test]
fn forged_retention_entry_blocks_removal() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.process.json(&["audit", "retain", "--tenant", "acme", "--days", "400"]);
        world.busy("a", 3);
        // A forged entry with an older time: the newest entry is genuine.
        world.forge("aud_00000000forged", "ACCOUNT_AUDIT_RETENTION_CHANGED", "{}");
        assert!(world.process.refused(&DROP).1.contains("was changed after it was sealed"));
        // The true one is made to look forged.
        let changed = "action = 'ACCOUNT_AUDIT_RETENTION_CHANGED'";
        if kind == Kind::Sqlite {
            world.process.sql("DROP TRIGGER audit_entries_stay_as_they_are");
        }
        world.process.sql(&format!("UPDATE audit_entries SET mac_key = 'x' WHERE {changed}"));
        assert!(world.process.refused(&DROP).1.contains("has no valid MAC"));
    }
}

#[test]
fn unsigned_row_removes_nothing() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.process.json(&["audit", "retain", "--tenant", "acme", "--days", "400"]);
        let size = world.busy("a", 3);
        let sealed = || {
            let page = world.admin.get(&format!("{LOG}?order=sequence&limit=200")).json();
            page["entries"].as_array().unwrap().clone()
        };
        let before = sealed();
        assert!(before.len() as u64 >= size, "{before:?}");
        let row = format!("('{}', 9999999, '2026-01-01 00:00:00')", world.tenant);
        world.process.sql(&format!("INSERT INTO audit_drops VALUES {row}"));
        assert!(world.process.refused(&DROP).1.contains("the removal before 9999999 is not signed"));
        // Entries of the set-up may be sealed meanwhile.
        assert_eq!(sealed()[..before.len()], before);
    }
}

#[test]
fn entry_with_an_invalid_sequence_is_a_finding_and_has_no_proof() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 3);
        let kept = world.checkpoint();
        world.forge("aud_00000000forged", "ACCOUNT_USER_DELETED", "{}");
        let (drops, constraints) = match kind {
            Kind::Sqlite => ("DROP TRIGGER audit_unsealed_wait;", "PRAGMA ignore_check_constraints = ON;"),
            Kind::Postgres => ("", "ALTER TABLE audit_sealed DROP CONSTRAINT audit_sealed_sequence_check;"),
        };
        world.process.sql(&format!(
            "{drops} DELETE FROM audit_unsealed WHERE entry_id = 'aud_00000000forged'; {constraints} \
             INSERT INTO audit_sealed VALUES ('{}', -1, 'aud_00000000forged', {})",
            world.tenant,
            world.bytes(&[0; 32])
        ));
        let proof = world.admin.get(&format!("{LOG}/aud_00000000forged/proof"));
        assert_eq!(proof.status, 409, "{}", proof.text);
        let finding = json!({ "finding": "INSERTED", "id": "aud_00000000forged" });
        assert_eq!(world.findings(&kept), [finding]);
    }
}

#[test]
fn unsigned_checkpoint_is_not_returned() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 3);
        let kept = world.checkpoint();
        let size = 9_000_000_000_000_000_000_u64;
        let root = data_encoding::BASE64.encode(&[0; 32]);
        let note = format!("gatehouse/audit/{}\n{size}\n{root}\n\n— x AAAAAAAA\n", world.tenant);
        world.process.sql(&format!(
            "INSERT INTO audit_checkpoints VALUES ('{}', {size}, '2026-01-01 00:00:00', '{note}')",
            world.tenant
        ));
        let answered = world.admin.get(&format!("{LOG}/checkpoint"));
        assert_eq!(answered.status, 500, "{}", answered.text);
        assert!(
            world.server.log().contains("the newest checkpoint is invalid (not signed with a known key)")
        );
        let finding = json!({ "finding": "UNSIGNED", "size": size });
        assert_eq!(world.findings(&kept), [finding]);
    }
}

#[test]
fn blocked_sealing_is_reported() {
    for kind in Kind::ALL {
        let world = World::new(kind);
        world.busy("a", 3);
        let metrics = || Caller::anonymous(world.server.address).get("/metrics").text;
        eventually(|| metrics().contains("gatehouse_audit_oldest_unsealed_seconds 0\n"));
        let until = match kind {
            Kind::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', 'now', '+50 seconds')",
            Kind::Postgres => "(now() AT TIME ZONE 'utc') + interval '50 seconds'",
        };
        world.process.sql(&format!("UPDATE audit_logs SET lease_owner = 'x', lease_until = {until}"));
        let made = world.scim.post("/api/scim/v2/Users", &json!({ "userName": "held" }));
        assert_eq!(made.status, 201, "{}", made.text);
        // Backdate the entry, so that the test does not wait for a minute.
        if kind == Kind::Sqlite {
            world.process.sql("DROP TRIGGER audit_entries_stay_as_they_are");
        }
        world.process.sql(
            "UPDATE audit_entries SET created_at = '2026-01-01 00:00:00' WHERE id IN (SELECT entry_id FROM audit_unsealed)",
        );
        let age = || {
            let metrics = metrics();
            let line =
                metrics.lines().find(|line| line.starts_with("gatehouse_audit_oldest_unsealed_seconds "));
            line.unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        eventually(|| age() > 60.0);
        eventually(|| world.server.log().contains("has been unsealed for more than a minute"));
        let doctor = String::from_utf8(world.process.run(&["doctor", "--json"]).stdout).unwrap();
        assert!(doctor.contains("entries have been unsealed for"), "{doctor}");
    }
}
