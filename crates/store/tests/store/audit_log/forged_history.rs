//! Attacks on the audit log by someone with SQL access but without the master key.

use audit::{
    EntryKeys, MacProblem, StoredEntry,
    log::{Finding, GROUP, Removal, Statement, VerifyStore, removable},
};
use data_encoding::BASE64;
use kernel::{MasterKeys, Secret, StoreError, Timestamp};
use store::{
    Tx,
    testing::{Kind, entry_keys},
};

use crate::{
    audit_log::{behind, declare, hex, keys, read, record, retain, sealed, verified},
    support::{World, on_both},
};

/// Returns the SQL that inserts an unsealed entry.
fn insert(world: &World, entry: &StoredEntry) -> String {
    let (tenant, at) = (world.ctx().tenant, entry.timestamp.to_string().replace(['T', 'Z'], " "));
    let mac = entry
        .mac
        .as_ref()
        .map_or("NULL, NULL".to_owned(), |mac| format!("'{}', {}", mac.key, hex(world.kind, &mac.tag)));
    format!(
        "INSERT INTO audit_entries (tenant_id, id, created_at, actor_type, actor_id, action, resource_type, resource_id, \
         metadata, leaf, mac_key, mac) VALUES ('{tenant}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', {}, {mac}); \
         INSERT INTO audit_unsealed VALUES ('{tenant}', '{}')",
        entry.id,
        at.trim().trim_end_matches(".000"),
        entry.actor_type,
        entry.actor_id,
        entry.action,
        entry.resource_type,
        entry.resource_id,
        entry.metadata,
        hex(world.kind, &entry.leaf),
        entry.id
    )
}

/// Forges an entry with a valid hash but without a MAC.
fn forged(world: &World, id: &str, action: &str, metadata: &str) -> StoredEntry {
    let entry = StoredEntry {
        id: id.into(),
        timestamp: Timestamp::from_unix_millis(1_700_000_000_000),
        actor_type: "USER".into(),
        actor_id: "usr_1".into(),
        action: action.into(),
        resource_type: "user".into(),
        resource_id: "usr_2".into(),
        ip: None,
        metadata: metadata.into(),
        leaf: [0; 32],
        salt: None,
        ip_commitment: None,
        mac: None,
    };
    let leaf = entry.content_leaf(world.ctx().tenant.as_str()).unwrap();
    StoredEntry { leaf, ..entry }
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_entries_are_never_sealed_and_always_found() {
    on_both(async |world: World| {
        let written = record(&world, 0..5).await;
        let tenant = world.ctx().tenant;
        let theirs =
            EntryKeys::derive(&MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![8; 32]))]).unwrap());
        let base = |id: &str| forged(&world, id, "ACCOUNT_USER_DELETED", "{}");
        let genuine = written[0].stored(&entry_keys()).unwrap();
        let without = base("aud_0a");
        let signed = |keys: &EntryKeys, id: &str| {
            let entry = base(id);
            StoredEntry { mac: keys.sign(tenant.as_str(), id, &entry.leaf), ..entry }
        };
        let by_them = signed(&theirs, "aud_0b");
        let unknown = EntryKeys::derive(
            &MasterKeys::new(vec![("other".to_owned(), Secret::new(vec![8; 32]))]).unwrap(),
        );
        let under_unknown = signed(&unknown, "aud_0c");
        // The MAC and hash of a genuine entry, under another id.
        let copied = StoredEntry { leaf: genuine.leaf, mac: genuine.mac.clone(), ..base("aud_0d") };
        for entry in [&without, &by_them, &under_unknown, &copied] {
            world.raw(&insert(&world, entry)).await;
        }
        // The forged entries come first in the queue, but do not block the others.
        assert_eq!(sealed(&world).await, 5);
        let found = verified(&world, Vec::new()).await;
        let finding = |id: &str, problem| Finding::Unauthenticated { sequence: None, id: id.into(), problem };
        assert_eq!(
            found.findings,
            [
                finding("aud_0a", MacProblem::Missing),
                finding("aud_0b", MacProblem::Wrong),
                finding("aud_0c", MacProblem::UnknownKey),
                finding("aud_0d", MacProblem::Wrong),
            ]
        );
        assert_eq!((found.size, found.waiting), (5, 4));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn macs_of_sealed_entries_are_verified() {
    on_both(async |world: World| {
        record(&world, 0..4).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let rows = read(&world, async |tx| tx.sealed(0, 4).await).await;
        let set = |at: usize, values: &str| {
            format!(
                "UPDATE audit_entries SET {values} WHERE tenant_id = '{tenant}' AND id = '{}'",
                rows[at].id
            )
        };
        let mac = |of: usize| {
            let mac = rows[of].entry.as_ref().unwrap().mac.clone().unwrap();
            format!("mac_key = '{}', mac = {}", mac.key, hex(world.kind, &mac.tag))
        };
        for (values, problem) in [
            (mac(2), MacProblem::Wrong),
            ("mac_key = 'other'".to_owned(), MacProblem::UnknownKey),
            (format!("mac = {}", hex(world.kind, &[1; 31])), MacProblem::Wrong),
            ("mac = NULL".to_owned(), MacProblem::Wrong),
            ("mac = NULL, mac_key = NULL".to_owned(), MacProblem::Missing),
        ] {
            behind(&world, &set(1, &values)).await;
            let found = verified(&world, Vec::new()).await.findings;
            let id = rows[1].id.clone();
            assert_eq!(found, [Finding::Unauthenticated { sequence: Some(1), id, problem }], "{values}");
            behind(&world, &set(1, &mac(1))).await;
        }
        assert_eq!(verified(&world, Vec::new()).await.count, 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn forged_removal_declaration_does_not_hide_a_deletion() {
    on_both(async |world: World| {
        record(&world, 0..600).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        // Everything that a removal leaves: the entry, the row, and a statement signed with the attacker's key.
        let data = "{\"fromSequence\":0,\"beforeSequence\":512}";
        let entry = forged(&world, "aud_0a", "ACCOUNT_AUDIT_ENTRIES_DROPPED", data);
        world.raw(&insert(&world, &entry)).await;
        world.raw(&format!("INSERT INTO audit_drops VALUES ('{tenant}', 512, '2026-01-01 00:00:00')")).await;
        let theirs = audit::log::CheckpointKeys::derive(
            &MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![8; 32]))]).unwrap(),
        );
        let at = world.env.now();
        let removal = Removal { from: 0, before: 512, root: String::new(), newest: at, days: 1, at };
        let note = removal.sign(tenant.as_str(), &theirs).unwrap();
        let statement = format!("('{tenant}', 'removal', 512, '2026-01-01 00:00:00', '{note}')");
        world.raw(&format!("INSERT INTO audit_statements VALUES {statement}")).await;
        for table in [
            "audit_entries WHERE id IN (SELECT entry_id FROM audit_sealed WHERE sequence < 512) AND",
            "audit_sealed WHERE sequence < 512 AND",
        ] {
            behind(&world, &format!("DELETE FROM {table} tenant_id = '{tenant}'")).await;
        }
        assert_eq!(sealed(&world).await, 0);
        let found = verified(&world, Vec::new()).await.findings;
        for finding in [
            Finding::NotSigned { statement: "the removal before 512".into() },
            Finding::Missing { from: 0, to: 256 },
            Finding::Missing { from: 256, to: 512 },
            Finding::Unauthenticated { sequence: None, id: "aud_0a".into(), problem: MacProblem::Missing },
        ] {
            assert!(found.contains(&finding), "{finding:?} in {found:?}");
        }
        // Passing it off as a removal by a version without signatures does not help either.
        behind(&world, "DELETE FROM audit_statements; UPDATE audit_logs SET mac_start = NULL").await;
        let found = verified(&world, Vec::new()).await.findings;
        assert!(found.contains(&Finding::Missing { from: 0, to: 512 }), "{found:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removal_before_the_end_of_retention_is_found() {
    on_both(async |world: World| {
        record(&world, 0..600).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let (name, checkpoints) = (tenant.to_string(), keys().of(tenant.as_str()));
        let now = world.env.now();
        let look = async move |tx: &mut Tx| removable(tx, &name, &checkpoints, 0, now).await;
        let old = world.store.read::<_, StoreError>(tenant.clone(), look).await.unwrap().unwrap();
        assert_eq!(old.before, 2 * GROUP);
        retain(&world, Some(36_500)).await;
        // The attacker changes the retention, and the operator's removal uses it.
        world.raw(&format!("UPDATE tenants SET audit_days = 1 WHERE id = '{tenant}'")).await;
        let root = BASE64.encode(&old.root);
        let removal =
            Removal { from: 0, before: 512, root, newest: old.newest, days: 1, at: world.env.now() };
        declare(&world, &removal).await;
        let found = verified(&world, Vec::new()).await.findings;
        assert_eq!(found, [Finding::RemovedEarly { from: 0, to: 512 }]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_rows_are_located() {
    on_both(async |world: World| {
        record(&world, 0..520).await;
        sealed(&world).await;
        record(&world, 520..523).await;
        let tenant = world.ctx().tenant;
        let rows = read(&world, async |tx| tx.sealed(0, 520).await).await;
        let waiting = read(&world, async |tx| tx.waiting("", 10).await).await;
        let is_sqlite = world.kind == Kind::Sqlite;
        let found = async |statement: String| {
            behind(&world, &statement).await;
            verified(&world, Vec::new()).await.findings
        };
        let unreadable = |table: &'static str, at: &str| Finding::Unreadable { table, at: at.into() };
        let garbage = if is_sqlite { "'not a time'" } else { "'infinity'" };
        let of = |id: &str| format!("WHERE tenant_id = '{tenant}' AND id = '{id}'");

        let sealed = format!("UPDATE audit_entries SET created_at = {garbage} {}", of(&rows[300].id));
        assert_eq!(found(sealed).await, [unreadable("audit_entries", "300")]);
        let one = format!("UPDATE audit_entries SET created_at = {garbage} {}", of(&waiting[1]));
        let all = found(one).await;
        assert!(all.contains(&unreadable("audit_entries", &waiting[1])), "{all:?}");
        // Invalid UTF-8 is unreadable. Invalid JSON counts as a changed entry.
        if is_sqlite {
            let text = format!("UPDATE audit_entries SET actor_id = CAST(x'ff' AS TEXT) {}", of(&rows[7].id));
            assert!(found(text).await.contains(&unreadable("audit_entries", "7")));
            let json = format!("UPDATE audit_entries SET metadata = '{{' {}", of(&rows[8].id));
            assert!(found(json).await.contains(&Finding::Changed { sequence: 8, id: rows[8].id.clone() }));
        } else {
            let column = "ALTER TABLE audit_entries ALTER COLUMN action DROP NOT NULL;";
            let null = format!("{column} UPDATE audit_entries SET action = NULL {}", of(&rows[7].id));
            // An entry with a NULL column counts as deleted.
            assert!(found(null).await.contains(&Finding::Deleted { sequence: 7, id: rows[7].id.clone() }));
        }
        let short = hex(world.kind, &[1; 31]);
        let leaf = format!("UPDATE audit_entries SET leaf = {short} {}", of(&rows[9].id));
        assert!(found(leaf).await.contains(&Finding::Changed { sequence: 9, id: rows[9].id.clone() }));
        let subtree =
            format!("UPDATE audit_subtrees SET hash = {short} WHERE tenant_id = '{tenant}' AND number = 1");
        assert!(found(subtree).await.contains(&unreadable("audit_subtrees", "1 of level 1")));
        let log = format!("UPDATE audit_logs SET frontier = {short} WHERE tenant_id = '{tenant}'");
        assert!(found(log).await.contains(&unreadable("audit_logs", "")));
        // A deleted unsealed entry leaves only its row in the queue.
        let gone = format!("DELETE FROM audit_entries {}", of(&waiting[2]));
        assert!(found(gone).await.contains(&Finding::DeletedUnsealed { id: waiting[2].clone() }));
        // A missing table also ends the verification with a finding.
        let all = found("DROP TABLE audit_statements".into()).await;
        assert!(matches!(all.last(), Some(Finding::Unreadable { table: "the database", .. })), "{all:?}");
    })
    .await;
}
