//! Changes of the database: the server cannot make them, and a verification finds those of an attacker.

use audit::log::{Checkpoint, Finding, Hash, TreeStore, VerifyStore};
use store::testing::Kind;

use super::{behind, hex, read, record, sealed, verified};
use crate::support::{World, on_both, world};

#[tokio::test(flavor = "multi_thread")]
async fn tampering_is_located() {
    on_both(async |world: World| {
        record(&world, 0..600).await;
        sealed(&world).await;
        let (note, _) = read(&world, async |tx| tx.newest_checkpoint().await).await.unwrap();
        let known = Checkpoint::read(&note).unwrap();
        record(&world, 600..700).await;
        sealed(&world).await;
        record(&world, 700..702).await;
        let tenant = world.ctx().tenant;
        let rows = read(&world, async |tx| tx.sealed(0, 700).await).await;
        let id = |at: usize| rows[at].id.clone();
        let found = async |statement: String, back: String| {
            behind(&world, &statement).await;
            let found = verified(&world, Vec::new()).await.findings;
            behind(&world, &back).await;
            assert_eq!(verified(&world, vec![known.clone()]).await.count, 0, "restored: {back}");
            found
        };
        let of = |at: usize| format!("WHERE tenant_id = '{tenant}' AND id = '{}'", id(at));

        for (column, value, was) in [
            ("actor_id", "'usr_2'", "'usr_1'"),
            ("action", "'ACCOUNT_USER_UPDATED'", "'ACCOUNT_USER_DEACTIVATED'"),
            ("ip", "'192.0.2.8'", "'192.0.2.7'"),
            ("ip", "NULL", "'192.0.2.7'"),
            ("metadata", "'{\"a\":1}'", "'{}'"),
        ] {
            let set = |value: &str| format!("UPDATE audit_entries SET {column} = {value} {}", of(300));
            assert_eq!(found(set(value), set(was)).await, [Finding::Changed { sequence: 300, id: id(300) }]);
        }
        // Delete an entry, keeping a copy to restore it.
        let copy = format!("CREATE TABLE aside AS SELECT * FROM audit_entries {}", of(4));
        world.raw(&copy).await;
        let back = "INSERT INTO audit_entries SELECT * FROM aside; DROP TABLE aside";
        let gone = found(format!("DELETE FROM audit_entries {}", of(4)), back.into()).await;
        assert_eq!(gone, [Finding::Deleted { sequence: 4, id: id(4) }]);
        // Insert an entry.
        let forged = format!(
            "CREATE TABLE aside AS SELECT * FROM audit_entries {}; UPDATE aside SET id = 'aud_forged'; \
             INSERT INTO audit_entries SELECT * FROM aside; DROP TABLE aside",
            of(5)
        );
        let back = "DELETE FROM audit_entries WHERE id = 'aud_forged'";
        assert_eq!(found(forged, back.into()).await, [Finding::Inserted { id: "aud_forged".into() }]);
        // Swap entries in the log: first the ids, then the leaf hashes too.
        let place = |at: usize, column: &str, of: usize| {
            let value =
                if column == "entry_id" { format!("'{}'", id(of)) } else { hex(world.kind, &rows[of].leaf) };
            format!("UPDATE audit_sealed SET {column} = {value} WHERE tenant_id = '{tenant}' AND sequence = {at};")
        };
        let aside = format!(
            "UPDATE audit_sealed SET entry_id = 'aside' WHERE tenant_id = '{tenant}' AND sequence = 10;"
        );
        let swap = |a: usize, b: usize| [aside.clone(), place(b, "entry_id", a), place(10, "entry_id", b)].concat();
        let back = [aside.clone(), place(520, "entry_id", 520), place(10, "entry_id", 10)].concat();
        let moved = found(swap(10, 520), back.clone()).await;
        let is_moved = |at: usize, of: usize| Finding::Moved { sequence: at as u64, id: id(of), sealed_at: of as u64 };
        assert_eq!(moved, [is_moved(10, 520), is_moved(520, 10)]);
        let leaves = [place(10, "leaf", 520), place(520, "leaf", 10)].concat();
        let leaves_back = [place(10, "leaf", 10), place(520, "leaf", 520)].concat();
        let moved = found(swap(10, 520) + &leaves, back + &leaves_back).await;
        assert!(
            moved.iter().all(|finding| matches!(finding, Finding::Altered { from: 0, to: 256 } | Finding::Altered { from: 512, .. })),
            "located to the groups of both: {moved:?}"
        );
        assert!(moved.len() >= 2, "{moved:?}");
        // Alter a stored subtree hash.
        let flip = |at: u64, of: &Hash| {
            let value = hex(world.kind, of);
            format!("UPDATE audit_subtrees SET hash = {value} WHERE tenant_id = '{tenant}' AND level = 1 AND number = {at}")
        };
        let was = read(&world, async |tx| tx.hashes(1, 1, 2).await).await[0].1;
        let altered = found(flip(1, &[0; 32]), flip(1, &was)).await;
        assert_eq!(altered.first(), Some(&Finding::Altered { from: 256, to: 512 }));

        // Truncate the log with everything that refers to its end. Only an externally kept checkpoint reveals this.
        let end = [
            format!("DELETE FROM audit_sealed WHERE tenant_id = '{tenant}' AND sequence >= 500;"),
            format!("DELETE FROM audit_entries WHERE tenant_id = '{tenant}' AND id >= '{}';", id(500)),
            format!("DELETE FROM audit_checkpoints WHERE tenant_id = '{tenant}';"),
            format!("DELETE FROM audit_unsealed WHERE tenant_id = '{tenant}';"),
        ];
        behind(&world, &end.concat()).await;
        let found = verified(&world, vec![known]).await.findings;
        assert!(found.contains(&Finding::Missing { from: 500, to: 512 }), "{found:?}");
        assert!(found.contains(&Finding::NotCompared { size: 600 }), "{found:?}");
        assert!(found.contains(&Finding::Unsigned { size: 700 }), "{found:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_cannot_be_changed() {
    let world = world(Kind::Sqlite).await;
    record(&world, 0..2).await;
    sealed(&world).await;
    record(&world, 2..3).await;
    let refused = |statement: &str| {
        let mut conn = world.raw_sqlite();
        diesel::connection::SimpleConnection::batch_execute(&mut conn, statement).unwrap_err().to_string()
    };
    for (statement, says) in [
        ("DELETE FROM audit_entries", "entries of the audit log are not deleted"),
        ("UPDATE audit_entries SET metadata = '{}x'", "entries of the audit log are not changed"),
        ("UPDATE audit_entries SET ip = NULL", "entries of the audit log are not changed"),
        (
            "UPDATE audit_entries SET ip = NULL, salt = NULL, ip_commitment = x'00', actor_id = 'x'",
            "not changed",
        ),
        ("REPLACE INTO audit_entries SELECT * FROM audit_entries", "not replaced"),
        (
            "REPLACE INTO audit_sealed SELECT tenant_id, sequence + 9, entry_id, leaf FROM audit_sealed",
            "not replaced",
        ),
        ("REPLACE INTO audit_checkpoints SELECT * FROM audit_checkpoints", "not replaced"),
        ("REPLACE INTO audit_logs SELECT * FROM audit_logs", "not replaced"),
        ("UPDATE audit_unsealed SET entry_id = 'x'", "wait for their place"),
        ("DELETE FROM audit_unsealed", "wait for their place"),
        ("DELETE FROM audit_sealed", "places of the audit log are not deleted"),
        ("UPDATE audit_sealed SET sequence = sequence + 5", "places of the audit log are not changed"),
        ("UPDATE audit_logs SET size = 1", "audit logs grow"),
        ("DELETE FROM audit_logs", "audit logs are not deleted"),
        ("DELETE FROM audit_checkpoints", "checkpoints of the audit log are not deleted"),
        ("UPDATE audit_checkpoints SET note = ''", "checkpoints of the audit log are not changed"),
    ] {
        let error = refused(&format!("PRAGMA busy_timeout = 5000; {statement}"));
        assert!(error.contains(says), "{statement}: {error}");
    }
    assert_eq!(verified(&world, Vec::new()).await.count, 0);
}
