//! Sealing: positions and proofs, entries committed late, several sealers, and a log that is not the signed one.

use audit::{
    Filter, StoredEntry, follow,
    log::{Checkpoint, Nodes, inclusion, verify_inclusion},
};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use store::{
    Tx,
    testing::{Kind, entry_keys},
};

use super::{behind, hex, keys, lease, read, record, seal_as, seal_once, sealed, verified};
use crate::support::{World, on_both, world};

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
