//! Which entries may be removed, and what a verification finds where entries are gone: removed by a version that did not
//! sign removals, or deleted.

use async_trait::async_trait;
use audit::{
    AuditStore, Entry, Event,
    events::audit_log::AuditEntriesDropped,
    log::{Finding, Hash, Removal, TreeStore, is_covered, root_before},
};
use kernel::StoreResult;

use crate::{
    retention::DAY,
    rfc6962::{mth, sha256},
    support::World,
    tampering::{Damage, Damaged, Log},
};

#[tokio::test]
async fn group_is_removed_when_its_newest_entry_is_older_than_the_retention() {
    let mut world = World::new();
    world.append_sealed(256).await;
    let newest = world.ctx.now;
    world.retain(Some(7)).await;
    world.append_sealed(1).await;
    let end = newest.plus_millis(7 * DAY);
    world.advance(end.unix_millis() - world.ctx.now.unix_millis());
    assert_eq!(world.plan().await.unwrap().before(), 0);
    world.advance(1);
    assert_eq!(world.plan().await.unwrap().before(), 256);
}

#[tokio::test]
async fn removal_covers_no_group_that_differs_from_its_stored_hash() {
    let mut world = World::new();
    world.append_sealed(256).await;
    let (tenant, now) = (world.ctx.tenant.to_string(), world.ctx.now);
    for (damage, covered) in [
        (Damage::default(), true),
        (Damage { hashes: |_, hashes| hashes[0].1 = [0; 32], ..Damage::default() }, false),
    ] {
        let mut store = Damaged { log: &mut world.audit_log, damage };
        let root = root_before(&mut store, 256).await.unwrap().unwrap();
        let root = data_encoding::BASE64.encode(&root);
        let removal = Removal { from: 0, before: 256, root, newest: now, days: 7, at: now };
        assert_eq!(is_covered(&mut store, &tenant, &removal, 0, 256).await.unwrap(), covered);
    }
}

/// A log of this many whole groups. The hash of a group is that of its number.
struct Groups(u64);

#[async_trait]
impl TreeStore for Groups {
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<Vec<(u64, Hash)>> {
        assert_eq!(level, 1);
        Ok((from..to.min(self.0)).map(|group| (group, sha256(&group.to_be_bytes()))).collect())
    }
}

#[tokio::test]
async fn root_of_many_groups_is_computed_in_parts() {
    let groups = 10_000_u64;
    let hashes: Vec<Hash> = (0..groups).map(|group| sha256(&group.to_be_bytes())).collect();
    // A tree of whole groups has the form of a tree whose leaves are the groups.
    for count in [1, 2, 4_097, 10_000] {
        let root = root_before(&mut Groups(groups), count * 256).await.unwrap();
        assert_eq!(root, Some(mth(&hashes[..usize::try_from(count).unwrap()])), "{count}");
    }
    assert_eq!(root_before(&mut Groups(groups), (groups + 1) * 256).await.unwrap(), None);
}

/// Appends entries without MACs to a log, as early versions wrote them. The last one says that those before
/// `before` were removed.
async fn early_log(before: u64) -> Log {
    let mut world = World::new();
    world.append(300).await;
    let data = AuditEntriesDropped { from_sequence: 0, before_sequence: before };
    world.advance(1);
    let entry = Entry::new(&world.ctx, Event::new("ten_1", &data));
    world.audit_log.append(&[entry]).await.unwrap();
    world.audit_log.tamper().values_mut().for_each(|entry| entry.mac = None);
    assert_eq!(world.seal_with(true).await.count, 301);
    Log(world)
}

/// The first group is gone, and was removed without a signed statement.
fn removed() -> Damage {
    Damage {
        rows: |rows| rows.retain(|row| row.sequence >= 256),
        removals: |removals| removals.push(256),
        ..Damage::default()
    }
}

#[tokio::test]
async fn unsigned_removal_needs_an_entry_that_announces_it() {
    let found = early_log(256).await.verify(removed()).await.unwrap();
    assert_eq!((found.findings, found.entries), (vec![], 45));
    let missing = Finding::Missing { from: 255, to: 256 };
    assert_eq!(early_log(255).await.verify(removed()).await.unwrap().findings, [missing]);
    // An entry that was changed announces nothing.
    let mut log = early_log(0).await;
    let (id, entry) = log.0.audit_log.tamper().iter_mut().next_back().unwrap();
    let id = id.clone();
    entry.metadata = entry.metadata.replace("\"beforeSequence\":0", "\"beforeSequence\":256");
    let expected = [Finding::Missing { from: 0, to: 256 }, Finding::Changed { sequence: 300, id }];
    let mut found = log.verify(removed()).await.unwrap().findings;
    found.sort_by_key(|finding| matches!(finding, Finding::Changed { .. }));
    assert_eq!(found, expected);
}

#[tokio::test]
async fn gap_of_many_groups_ends_at_the_group_of_the_next_entry() {
    let mut world = World::new();
    world.append(5_000).await;
    while world.seal().await > 0 {}
    let gone = Damage {
        rows: |rows| rows.retain(|row| row.sequence >= 4_700),
        hashes: |level, hashes| hashes.retain(|(group, _)| level != 1 || *group > 18),
        ..Damage::default()
    };
    let found = Log(world).verify(gone).await.unwrap();
    let missing = |from, to| Finding::Missing { from, to };
    let expected = [missing(0, 4_608), missing(4_608, 4_700), Finding::NotCompared { size: 5_000 }];
    assert_eq!((found.findings, found.entries), (expected.to_vec(), 300));
}

#[tokio::test]
async fn checkpoint_of_an_altered_group_is_compared_once() {
    let mut world = World::new();
    world.append(256).await;
    world.seal().await;
    let mut log = Log(world);
    let clean = log.verify(Damage::default()).await.unwrap();
    let altered = Damage { rows: |rows| rows[7].leaf = [0; 32], ..Damage::default() };
    let found = log.verify(altered).await.unwrap();
    assert!(found.count > 0);
    assert_eq!(found.checkpoints, clean.checkpoints);
}
