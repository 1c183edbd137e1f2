//! The transparency log on both databases: sealing, late commits, tampering, removal and erasure.

use audit::{
    Audited, Entry, Event, Filter, StoredEntry, Unaudited,
    events::{
        audit_log::{AuditAddressesErased, AuditEntriesDropped},
        users::UserDeactivated,
    },
    follow,
    log::{
        Checkpoint, CheckpointKeys, Finding, Lease, Nodes, Removal, Retention, RetentionStore, SealPolicy,
        Statement, TreeStore, Verified, VerifyKeys, VerifyStore, inclusion, removable, seal, verify,
        verify_inclusion,
    },
};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use kernel::{Actor, Ctx, MasterKeys, Secret, StoreError, StoreResult, TenantId, Timestamp};
use store::{
    Tx,
    testing::{Kind, entry_keys},
};

use crate::support::{World, on_both, world};

pub(crate) fn keys() -> CheckpointKeys {
    CheckpointKeys::derive(&MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![7; 32]))]).unwrap())
}

/// Records entries at the given times, in seconds, by an actor with an address.
pub(crate) async fn record(world: &World, times: impl IntoIterator<Item = i64>) -> Vec<Entry> {
    let ctx = Ctx {
        ip: Some("192.0.2.7".parse().unwrap()),
        actor: Actor { id: "usr_1".into(), ..Actor::system("x") },
        ..world.ctx()
    };
    let at = |seconds: i64| {
        let now = Timestamp::from_unix_millis(1_700_000_000_000 + seconds * 1000);
        Entry::new(&Ctx { now, ..ctx.clone() }, Event::new("usr_1", &UserDeactivated {}))
    };
    let entries: Vec<Entry> = times.into_iter().map(at).collect();
    let written = entries.clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        audit::AuditStore::append(tx, &written).await?;
        Ok::<_, StoreError>(Audited::without((), Unaudited::StepTaken))
    };
    world.store.write(ctx, work).await.unwrap();
    entries
}

pub(crate) fn lease(world: &World, owner: &str) -> Lease {
    let now = world.env.now();
    Lease { owner: owner.into(), now, until: now.plus_millis(60_000) }
}

/// Seals once with this lease.
async fn seal_once(world: &World, lease: Lease) -> StoreResult<usize> {
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (checkpoints, entries) = (&keys(), &entry_keys());
        let policy = SealPolicy { checkpoints, entries, accepts_missing_macs: false };
        let count = seal(tx, policy, &ctx.tenant, &lease, None).await?.count;
        Ok::<_, StoreError>(Audited::without(count, Unaudited::Sealed))
    };
    world.store.write(world.ctx(), work).await
}

/// Seals once as this owner.
async fn seal_as(world: &World, owner: &str) -> StoreResult<usize> {
    seal_once(world, lease(world, owner)).await
}

pub(crate) async fn sealed(world: &World) -> usize {
    let mut all = 0;
    loop {
        match seal_as(world, "one").await.unwrap() {
            0 => return all,
            some => all += some,
        }
    }
}

pub(crate) async fn verified(world: &World, known: Vec<Checkpoint>) -> Verified {
    let tenant = world.ctx().tenant;
    let (checkpoints, entries) = (keys().of(tenant.as_str()), entry_keys());
    let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&entries), retired: &[] };
    let name = tenant.to_string();
    let look = async |tx: &mut Tx| verify(tx, &name, keys, known).await;
    world.store.on_snapshot(tenant, look).await.unwrap()
}

pub(crate) async fn read<T: Send + 'static>(
    world: &World,
    look: impl AsyncFnOnce(&mut Tx) -> StoreResult<T> + Send + 'static,
) -> T {
    world.store.read::<_, StoreError>(world.ctx().tenant, look).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sealed_entries_have_positions_and_proofs() {
    on_both(async |world: World| {
        assert_eq!((sealed(&world).await, verified(&world, Vec::new()).await.count), (0, 0));
        let entries = record(&world, 0..1500).await;
        let across = async |across: &mut store::Across| across.next_unsealed(None).await;
        let waiting = world.store.across(across).await.unwrap().unwrap();
        assert_eq!(waiting.tenant, world.ctx().tenant);
        assert_eq!(sealed(&world).await, 1500);
        assert_eq!(world.store.across(across).await.unwrap(), None);
        let clean = verified(&world, Vec::new()).await;
        assert_eq!((clean.size, clean.entries, clean.waiting, clean.count), (1500, 1500, 0, 0), "{clean:?}");

        let (note, _) = read(&world, async |tx| tx.newest_checkpoint().await).await.unwrap();
        let checkpoint = Checkpoint::verified(&note, &keys().of(world.ctx().tenant.as_str())).unwrap();
        assert_eq!((checkpoint.size, data_encoding::HEXLOWER.encode(&checkpoint.root)), (1500, clean.root));
        for entry in [&entries[0], &entries[700], &entries[1499]] {
            let id = entry.id.to_string();
            let (place, leaf) = read(&world, async move |tx| tx.position_of(&id).await).await.unwrap();
            assert_eq!(leaf, entry.leaf());
            let path = async move |tx: &mut Tx| inclusion(tx, &mut Nodes::default(), place, 1500).await;
            let path = read(&world, path).await.unwrap();
            assert!(verify_inclusion(&leaf, place, 1500, &path, &checkpoint.root));
        }
        // Following from the beginning returns each entry once. A filter checks each entry.
        let (mut next, mut seen) = (0, Vec::new());
        loop {
            let page = async move |tx: &mut Tx| follow(tx, &Filter::default(), next, 200).await;
            let page = read(&world, page).await;
            seen.extend(page.entries.iter().map(|(_, listed)| listed.entry.id.clone()));
            if next == page.next {
                break;
            }
            next = page.next;
        }
        let mut ids: Vec<_> = entries.iter().map(|entry| entry.id.to_string()).collect();
        ids.sort_unstable();
        assert_eq!(seen, ids);
        let some = Filter {
            actor: Some("usr_1".into()),
            actions: Some(vec!["ACCOUNT_USER_DEACTIVATED".into()]),
            from: Some(entries[1490].timestamp),
            ..Filter::default()
        };
        let page = read(&world, async move |tx| follow(tx, &some, 0, 200).await).await;
        assert_eq!((page.entries.len(), page.next), (10, 1500));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entry_committed_late_is_sealed_and_followed() {
    let world = world(Kind::Postgres).await;
    let early = record(&world, [1]).await;
    // A transaction that began before the next ones and commits after them.
    let mut late = AsyncPgConnection::establish(world.postgres()).await.unwrap();
    let tenant = world.ctx().tenant;
    let of_late = StoredEntry { id: "aud_0late".into(), ..early[0].stored(&entry_keys()).unwrap() };
    let leaf = of_late.content_leaf(tenant.as_str()).unwrap();
    let mac = entry_keys().sign(tenant.as_str(), "aud_0late", &leaf).unwrap();
    let copy = format!(
        "BEGIN; INSERT INTO audit_entries SELECT tenant_id, 'aud_0late', created_at, actor_type, actor_id, action, \
         resource_type, resource_id, ip, metadata, salt, {}, NULL, '{}', {} FROM audit_entries WHERE id = '{}'; \
         INSERT INTO audit_unsealed VALUES ('{tenant}', 'aud_0late')",
        hex(world.kind, &leaf),
        mac.key,
        hex(world.kind, &mac.tag),
        early[0].id
    );
    late.batch_execute(&copy).await.unwrap();
    record(&world, 2..10).await;
    assert_eq!(sealed(&world).await, 9);
    let page = read(&world, async |tx| follow(tx, &Filter::default(), 0, 100).await).await;
    assert_eq!((page.entries.len(), page.next), (9, 9));
    late.batch_execute("COMMIT").await.unwrap();
    // The late entry is now visible and is sealed next. A follower receives it although its time and id are earlier.
    assert_eq!(sealed(&world).await, 1);
    let page = read(&world, async |tx| follow(tx, &Filter::default(), 9, 100).await).await;
    assert_eq!(
        page.entries.iter().map(|(at, listed)| (*at, &*listed.entry.id)).collect::<Vec<_>>(),
        [(9, "aud_0late")]
    );
    assert_eq!(page.next, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_one_sealer_continues_a_log() {
    on_both(async |world: World| {
        record(&world, 0..300).await;
        let all: Vec<_> = ["one", "two", "three", "four"].map(|owner| seal_as(&world, owner)).into();
        let counts = futures_util::future::join_all(all).await;
        let counts: Vec<usize> = counts.into_iter().map(Result::unwrap).collect();
        assert_eq!(counts.iter().sum::<usize>(), 300, "{counts:?}");
        assert_eq!(counts.iter().filter(|count| **count > 0).count(), 1);
        let owner = ["one", "two", "three", "four"][counts.iter().position(|count| *count > 0).unwrap()];
        let other = if owner == "one" { "two" } else { "one" };
        record(&world, 0..5).await;
        assert_eq!(seal_as(&world, other).await.unwrap(), 0, "another owner has the lease");
        assert_eq!(seal_as(&world, owner).await.unwrap(), 5);
        // A crashed sealer loses its lease.
        record(&world, 0..5).await;
        let mut later = lease(&world, other);
        later.now = later.now.plus_millis(120_000);
        assert_eq!(seal_once(&world, later).await.unwrap(), 5);
        assert_eq!(verified(&world, Vec::new()).await.count, 0);
    })
    .await;
}

/// Runs a statement as an attacker with the database's password, who first drops the triggers.
pub(crate) async fn behind(world: &World, statement: &str) {
    if world.kind == Kind::Sqlite {
        for trigger in [
            "audit_entries_stay",
            "audit_entries_stay_as_they_are",
            "audit_sealed_stay",
            "audit_sealed_once",
            "audit_sealed_stay_as_they_are",
            "audit_subtrees_stay_as_they_are",
            "audit_checkpoints_stay_as_they_are",
            "audit_checkpoints_stay",
            "audit_logs_grow",
            "audit_unsealed_wait",
            "audit_statements_stay",
            "audit_statements_stay_as_they_are",
        ] {
            world.raw(&format!("DROP TRIGGER IF EXISTS {trigger}")).await;
        }
    }
    world.raw(statement).await;
}

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

type Hash = [u8; 32];

/// Formats bytes as an SQL literal.
pub(crate) fn hex(kind: Kind, bytes: &[u8]) -> String {
    let hex = data_encoding::HEXLOWER.encode(bytes);
    if kind == Kind::Sqlite { format!("x'{hex}'") } else { format!("'\\x{hex}'") }
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

#[tokio::test(flavor = "multi_thread")]
async fn old_entries_are_removed_and_the_others_stay_provable() {
    on_both(async |world: World| {
        for hundred in 0..10 {
            record(&world, hundred * 100..hundred * 100 + 100).await;
            sealed(&world).await;
        }
        record(&world, 1000..1010).await;
        sealed(&world).await;
        let tenant = world.ctx().tenant;
        let old = async |from: u64| {
            let (name, keys) = (tenant.to_string(), keys().of(tenant.as_str()));
            let time = Timestamp::from_unix_millis(1_700_000_000_000 + 700 * 1000);
            let look = async move |tx: &mut Tx| removable(tx, &name, &keys, from, time).await;
            world.store.read::<_, StoreError>(tenant.clone(), look).await
        };
        let removable = old(0).await.unwrap().unwrap();
        assert_eq!(removable.before, 512, "whole groups");
        // Within a batch, entries are ordered by id.
        let newest = (removable.newest.unix_millis() - 1_700_000_000_000) / 1000;
        assert!((511..600).contains(&newest), "{newest}");
        assert_eq!(old(512).await.unwrap(), None);
        // A changed entry prevents the removal of its group.
        let change = |value: &str| {
            format!(
                "UPDATE audit_entries SET actor_id = '{value}' WHERE id = (SELECT entry_id FROM audit_sealed \
                 WHERE tenant_id = '{tenant}' AND sequence = 300)"
            )
        };
        behind(&world, &change("x")).await;
        assert!(old(0).await.is_err());
        behind(&world, &change("usr_1")).await;
        let (note, _) = read(&world, async |tx| tx.newest_checkpoint().await).await.unwrap();
        let known = Checkpoint::read(&note).unwrap();
        let removal = Removal {
            from: 0,
            before: 512,
            root: data_encoding::BASE64.encode(&removable.root),
            newest: removable.newest,
            days: 30,
            at: world.env.now(),
        };
        retain(&world, Some(30)).await;
        for before in [300, 1024] {
            let removal = Removal { before, ..removal.clone() };
            let declare = async move |_: &Ctx, tx: &mut Tx| tx.declare_removal(&removal, "").await;
            assert!(world.change(&tenant, declare).await.is_err(), "only whole groups that are sealed");
        }
        let removal = Removal { at: world.env.now(), ..removal };
        declare(&world, &removal).await;
        // Entries that are declared but not removed yet are verified like the others.
        let halfway = verified(&world, Vec::new()).await;
        assert_eq!((halfway.dropped, halfway.entries, halfway.count), (512, 1010, 0), "{halfway:?}");
        let remove = async |ctx: &Ctx, tx: &mut Tx| {
            let keys = keys().of(ctx.tenant.as_str());
            let removed = tx.remove_declared(&keys).await?;
            Ok::<_, StoreError>(Audited::without(removed, Unaudited::Announced))
        };
        assert_eq!(world.store.write(world.ctx(), remove).await.unwrap(), 512);
        assert_eq!(world.store.write(world.ctx(), remove).await.unwrap(), 0);
        sealed(&world).await;
        let left = verified(&world, vec![known]).await;
        assert_eq!((left.size, left.dropped, left.entries, left.count), (1012, 512, 500, 0), "{left:?}");
        // The remaining entries are still provable, and followers continue with them.
        let page = read(&world, async |tx| follow(tx, &Filter::default(), 0, 5).await).await;
        assert_eq!(page.entries.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [512, 513, 514, 515, 516]);
        let path = async |tx: &mut Tx| inclusion(tx, &mut Nodes::default(), 600, 1012).await;
        assert!(read(&world, path).await.is_some());
        let path = async |tx: &mut Tx| inclusion(tx, &mut Nodes::default(), 100, 1012).await;
        assert_eq!(read(&world, path).await, None);
        // A checkpoint of removed entries cannot be compared, which is reported.
        let lost = Checkpoint { origin: String::new(), size: 100, root: [0; 32] };
        assert_eq!(verified(&world, vec![lost]).await.findings, [Finding::NotCompared { size: 100 }]);
        // An attacker who removes entries and adds only the row in `audit_drops` is detected.
        let forged = format!("INSERT INTO audit_drops VALUES ('{tenant}', 768, '2026-01-01 00:00:00')");
        world.raw(&forged).await;
        world.raw(&format!("DELETE FROM audit_sealed WHERE tenant_id = '{tenant}' AND sequence < 768")).await;
        let found = verified(&world, Vec::new()).await.findings;
        assert!(found.contains(&Finding::Missing { from: 512, to: 768 }), "{found:?}");
    })
    .await;
}

/// Sets the retention as the command line does.
pub(crate) async fn retain(world: &World, days: Option<u32>) {
    let set = async move |ctx: &Ctx, tx: &mut Tx| {
        let retention = Retention { days, at: ctx.now };
        let note = retention.sign(ctx.tenant.as_str(), &keys()).unwrap();
        tx.set_retention(&retention, &note).await
    };
    world.change(&world.ctx().tenant, set).await.unwrap();
}

/// Declares a removal, as the command line does.
pub(crate) async fn declare(world: &World, removal: &Removal) {
    let removal = removal.clone();
    let declare = async move |ctx: &Ctx, tx: &mut Tx| {
        let note = removal.sign(ctx.tenant.as_str(), &keys()).unwrap();
        tx.declare_removal(&removal, &note).await?;
        let data = AuditEntriesDropped { from_sequence: removal.from, before_sequence: removal.before };
        Ok::<_, StoreError>(Audited::new((), Event::new(ctx.tenant.as_str(), &data)))
    };
    world.store.write(world.ctx(), declare).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sealing_stops_if_the_log_differs_from_its_checkpoint() {
    on_both(async |world: World| {
        record(&world, 0..10).await;
        sealed(&world).await;
        record(&world, 10..20).await;
        let tenant = world.ctx().tenant;
        if world.kind == Kind::Sqlite {
            world.raw("DROP TRIGGER audit_checkpoints_stay").await;
        }
        // Without the old checkpoint, the server would sign a different history.
        let was = read(&world, async |tx| tx.newest_checkpoint().await).await.unwrap().0;
        behind(&world, &format!("DELETE FROM audit_checkpoints WHERE tenant_id = '{tenant}'")).await;
        assert!(seal_as(&world, "one").await.is_err());
        for note in [was.replace("\n10\n", "\n9\n"), "nonsense".to_owned()] {
            let row = format!("VALUES ('{tenant}', 10, '2026-01-01 00:00:00', '{note}')");
            behind(&world, &format!("INSERT INTO audit_checkpoints {row}")).await;
            assert!(seal_as(&world, "one").await.is_err());
            behind(&world, &format!("DELETE FROM audit_checkpoints WHERE tenant_id = '{tenant}'")).await;
        }
        let row = format!("VALUES ('{tenant}', 10, '2026-01-01 00:00:00', '{was}')");
        behind(&world, &format!("INSERT INTO audit_checkpoints {row}")).await;
        assert_eq!(seal_as(&world, "one").await.unwrap(), 10);
        // A follower whose position is beyond the end of the log learns that the log was rolled back.
        let ahead = read(&world, async |tx| follow(tx, &Filter::default(), 21, 5).await).await;
        assert!(ahead.is_ahead);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_an_address_keeps_proofs_valid() {
    on_both(async |world: World| {
        record(&world, 0..20).await;
        sealed(&world).await;
        let erase = async |_: &Ctx, tx: &mut Tx| tx.erase_addresses("usr_1").await;
        let declared = async |_: &Ctx, tx: &mut Tx| {
            let entries = tx.erase_addresses("usr_1").await?;
            Ok::<_, StoreError>(Audited::new(entries, Event::new("usr_1", &AuditAddressesErased { entries })))
        };
        assert_eq!(world.store.write(world.ctx(), declared).await.unwrap(), 20);
        assert_eq!(world.change(&world.ctx().tenant, erase).await.unwrap(), 0);
        let found = verified(&world, Vec::new()).await;
        assert_eq!((found.erased, found.count), (20, 0));
        // An erasure without a declaration is detected, whether the entries are sealed or not.
        record(&world, 20..22).await;
        assert_eq!(world.change(&world.ctx().tenant, erase).await.unwrap(), 2);
        let undeclared = Finding::ErasedUndeclared { actor: "usr_1".into(), erased: 22, declared: 20 };
        assert_eq!(verified(&world, Vec::new()).await.findings, std::slice::from_ref(&undeclared));
        sealed(&world).await;
        assert_eq!(verified(&world, Vec::new()).await.findings, [undeclared]);
        let rows = read(&world, async |tx| tx.sealed(0, 20).await).await;
        let is_gone = |entry: &StoredEntry| entry.ip.is_none() && entry.salt.is_none();
        assert!(rows.iter().all(|row| row.entry.as_ref().is_some_and(is_gone)));
        let other: TenantId = world.other_tenant();
        assert_eq!(world.change(&other, erase).await.unwrap(), 0);
    })
    .await;
}
