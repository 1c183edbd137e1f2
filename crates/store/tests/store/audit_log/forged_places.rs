//! Impossible positions, times and sizes, written by someone with SQL access.

use std::time::Duration;

use audit::log::{Checkpoint, Finding, Verified, VerifyStore};
use store::{Tx, testing::Kind};
use tokio::time::timeout;

use crate::{
    audit_log::{behind, hex, read, record, sealed, verified},
    support::{World, on_both},
};

/// Runs a verification, which must finish in time.
async fn ended(world: &World) -> Verified {
    timeout(Duration::from_secs(30), verified(world, Vec::new())).await.unwrap()
}

/// Runs a statement without check constraints.
async fn unconstrained(world: &World, statement: &str) {
    let first = match world.kind {
        Kind::Sqlite => "PRAGMA ignore_check_constraints = ON;",
        Kind::Postgres => "ALTER TABLE audit_sealed DROP CONSTRAINT IF EXISTS audit_sealed_sequence_check;",
    };
    behind(world, &format!("{first} {statement}")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_outside_the_log_are_found() {
    on_both(async |world: World| {
        record(&world, 0..5).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let leaf = hex(world.kind, &[0; 32]);
        let forge = format!(
            "INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, \
             metadata, leaf) VALUES ('{tenant}', 'aud_forged', '2026-01-01 00:00:00', 'USER', 'usr_1', 'ACCOUNT_USER_DELETED', \
             'user', 'usr_2', '{{}}', {leaf})"
        );
        behind(&world, &forge).await;
        let outside = ["-1", "9223372036854775807", "5", "4000"];
        for place in outside.into_iter().chain((world.kind == Kind::Sqlite).then_some("'x'")) {
            let put = format!("INSERT INTO audit_sealed VALUES ('{tenant}', {place}, 'aud_forged', {leaf})");
            unconstrained(&world, &put).await;
            let found = ended(&world).await.findings;
            assert_eq!(found, [Finding::Inserted { id: "aud_forged".into() }], "{place}");
            if place == "-1" {
                let look = async |tx: &mut Tx| tx.position_of("aud_forged").await;
                assert_eq!(read(&world, look).await, None, "it has no valid position");
            }
            behind(&world, "DELETE FROM audit_sealed WHERE entry_id = 'aud_forged'").await;
        }
        // A second row for an entry or for a position.
        let second = match world.kind {
            Kind::Sqlite => "DROP INDEX audit_sealed_entry; INSERT INTO audit_sealed \
                 SELECT tenant_id, sequence + 0.5, entry_id, leaf FROM audit_sealed WHERE sequence = 2",
            Kind::Postgres => "DROP INDEX audit_sealed_entry; ALTER TABLE audit_sealed DROP CONSTRAINT audit_sealed_pkey; \
                 INSERT INTO audit_sealed SELECT * FROM audit_sealed WHERE sequence = 2",
        };
        let second_id = read(&world, async |tx: &mut Tx| tx.sealed(2, 3).await).await[0].id.clone();
        behind(&world, second).await;
        let found = ended(&world).await.findings;
        assert!(found.contains(&Finding::Inserted { id: second_id }), "{found:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn time_in_another_format_is_found() {
    on_both(async |world: World| {
        record(&world, 0..5).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let id = read(&world, async |tx: &mut Tx| tx.sealed(2, 3).await).await[0].id.clone();
        let of = format!("WHERE tenant_id = '{tenant}' AND id = '{id}'");
        let (spellings, back): (&[&str], _) = match world.kind {
            Kind::Sqlite => (
                &[
                    "'+' || created_at",
                    "' ' || created_at",
                    "replace(created_at, ' ', 'T')",
                    "created_at || '.000'",
                    "created_at || 'Z'",
                    "CAST(created_at AS BLOB)",
                ],
                "(SELECT was FROM aside)",
            ),
            // The hash covers milliseconds, but the order uses microseconds.
            Kind::Postgres => (&["created_at + interval '1 microsecond'"], "(SELECT was FROM aside)"),
        };
        world.raw(&format!("CREATE TABLE aside AS SELECT created_at AS was FROM audit_entries {of}")).await;
        for spelling in spellings {
            behind(&world, &format!("UPDATE audit_entries SET created_at = {spelling} {of}")).await;
            let found = ended(&world).await.findings;
            let expected = Finding::Unreadable { table: "audit_entries", at: "2".into() };
            assert_eq!(found, [expected], "{spelling}");
            behind(&world, &format!("UPDATE audit_entries SET created_at = {back} {of}")).await;
        }
        assert_eq!(ended(&world).await.count, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_size_does_not_stall_a_verification() {
    on_both(async |world: World| {
        record(&world, 0..300).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let huge: u64 = 9_000_000_000_000_000_000;
        let (note, _) = read(&world, async |tx: &mut Tx| tx.newest_checkpoint().await).await.unwrap();
        let origin = Checkpoint::read(&note).unwrap().origin;
        let root = data_encoding::BASE64.encode(&[0; 32]);
        let made_up = format!("{origin}\n{huge}\n{root}\n\n— x AAAAAAAA\n");
        let row = format!(
            "INSERT INTO audit_checkpoints VALUES ('{tenant}', {huge}, '2026-01-01 00:00:00', '{made_up}')"
        );
        behind(&world, &row).await;
        assert_eq!(ended(&world).await.findings, [Finding::Unsigned { size: huge }]);
        // A signed note of another size does not match either.
        let old = format!("UPDATE audit_checkpoints SET note = '{note}' WHERE size = {huge}");
        behind(&world, &old).await;
        assert_eq!(ended(&world).await.findings, [Finding::Unsigned { size: huge }]);
        let look = async |tx: &mut Tx| tx.newest_checkpoint().await;
        assert!(
            world.store.read(tenant.clone(), look).await.is_err(),
            "a checkpoint of another size must not count"
        );
        behind(&world, &format!("DELETE FROM audit_checkpoints WHERE size = {huge}")).await;
        if world.kind == Kind::Sqlite {
            for garbage in ["'zz'", "x'ffff'"] {
                let row = format!("VALUES ('{tenant}', {garbage}, '2026-01-01 00:00:00', 'x')");
                behind(&world, &format!("INSERT INTO audit_checkpoints {row}")).await;
                let found = ended(&world).await.findings;
                let expected = Finding::Unreadable { table: "audit_checkpoints", at: "after 300".into() };
                assert_eq!(found, [expected], "{garbage}");
                behind(&world, &format!("DELETE FROM audit_checkpoints WHERE size = {garbage}")).await;
            }
        }
        // The log's own row claims the size, and there is a row at its end.
        let peaks = hex(world.kind, &vec![1; 32 * huge.count_ones() as usize]);
        behind(&world, &format!("UPDATE audit_logs SET size = {huge}, frontier = {peaks}")).await;
        let found = ended(&world).await.findings;
        assert!(found.contains(&Finding::Unsigned { size: huge }), "{found:?}");
        let leaf = hex(world.kind, &[0; 32]);
        let last = huge - 1;
        let put = format!("INSERT INTO audit_sealed VALUES ('{tenant}', {last}, 'aud_forged', {leaf})");
        behind(&world, &put).await;
        let found = ended(&world).await.findings;
        assert!(found.contains(&Finding::Deleted { sequence: last, id: "aud_forged".into() }), "{found:?}");
    })
    .await;
}
