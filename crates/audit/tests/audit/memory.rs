//! The audit log in memory answers as the storage traits say.

use audit::{
    AuditQueryStore, AuditStore, Entry, Event, Filter, Position, Span, StoredEntry,
    events::users::UserDeactivated,
    log::{Checkpoint, ProofStore, Retention, RetentionStore, SealStore, TreeStore, VerifyStore},
};
use kernel::Actor;

use crate::support::World;

/// A log of six entries, a millisecond apart: four are sealed in two batches, two wait.
async fn six() -> (World, Vec<StoredEntry>) {
    let mut world = World::new();
    for _ in 0..2 {
        world.append(2).await;
        world.seal().await;
    }
    world.append(2).await;
    let entries = world.audit_log.latest(10).await.unwrap().into_iter().rev().collect();
    (world, entries)
}

fn position(entry: &StoredEntry) -> Position {
    Position { timestamp: entry.timestamp, id: entry.id.clone() }
}

fn ids<'e>(entries: impl IntoIterator<Item = &'e StoredEntry>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.id.clone()).collect()
}

#[tokio::test]
async fn latest_entries_are_newest_first() {
    let (mut world, all) = six().await;
    assert_eq!(all.len(), 6);
    let latest = world.audit_log.latest(2).await.unwrap();
    assert_eq!(ids(&latest), [all[5].id.clone(), all[4].id.clone()]);
}

#[tokio::test]
async fn span_begins_after_one_entry_and_ends_with_another() {
    let (mut world, all) = six().await;
    let (after, until) = (position(&all[4]), position(&all[2]));
    let any = Filter::default();
    for (span, limit, expected) in [
        (Span::default(), 10, vec![5, 4, 3, 2, 1, 0]),
        (Span { after: Some(&after), until: None }, 10, vec![3, 2, 1, 0]),
        (Span { after: None, until: Some(&until) }, 10, vec![5, 4, 3, 2]),
        (Span { after: Some(&after), until: Some(&until) }, 10, vec![3, 2]),
        (Span { after: Some(&after), until: None }, 1, vec![3]),
    ] {
        let found = world.audit_log.entries(&any, span, limit).await.unwrap();
        let expected = expected.iter().map(|index: &usize| &all[*index]);
        assert_eq!(ids(found.iter().map(|listed| &listed.entry)), ids(expected), "{span:?}");
    }
    let log = &mut world.audit_log;
    assert_eq!(log.further(&any, Some(&after), 0).await.unwrap(), None);
    assert_eq!(log.further(&any, Some(&after), 2).await.unwrap(), Some(position(&all[2])));
    assert_eq!(log.further(&any, Some(&after), 5).await.unwrap(), None);
}

#[tokio::test]
async fn entries_are_counted_from_one_time_to_before_another() {
    let (mut world, all) = six().await;
    let (from, to) = (all[1].timestamp, all[4].timestamp);
    let (log, action) = (&mut world.audit_log, &*all[0].action);
    assert_eq!(log.count(None, from, to, 10).await.unwrap(), 3);
    assert_eq!(log.count(Some(action), from, to, 10).await.unwrap(), 3);
    assert_eq!(log.count(Some("OTHER"), from, to, 10).await.unwrap(), 0);
    assert_eq!(log.count(None, from, to, 2).await.unwrap(), 2);
}

#[tokio::test]
async fn sealed_entries_are_read_by_position() {
    let (mut world, all) = six().await;
    let log = &mut world.audit_log;
    assert_eq!(log.sealed_size().await.unwrap(), 4);
    assert_eq!((log.sequence(&all[3].id), log.sequence(&all[4].id)), (Some(3), None));
    let any = Filter::default();
    let found = log.sealed_entries(&any, 1, 4, 2).await.unwrap();
    let found: Vec<_> = found.iter().map(|(sequence, listed)| (*sequence, &*listed.entry.id)).collect();
    assert_eq!(found, [(1, &*all[1].id), (2, &*all[2].id)]);
    let other = Filter { actor: Some("usr_9".into()), ..any };
    assert!(log.sealed_entries(&other, 0, 4, 10).await.unwrap().is_empty());
    let rows = log.sealed(1, 3).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.sequence).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(rows[0].entry.as_ref(), Some(&all[1]));
    let hashes = log.hashes(0, 2, 9).await.unwrap();
    assert_eq!(hashes, [(2, all[2].leaf), (3, all[3].leaf)]);
    assert_eq!(log.position_of(&all[2].id).await.unwrap(), Some((2, all[2].leaf)));
    assert_eq!(log.position_of(&all[5].id).await.unwrap(), None);
    assert_eq!(log.entry(&all[5].id).await.unwrap(), Some(all[5].clone()));
    assert_eq!((log.next_place(1, 9).await.unwrap(), log.next_place(4, 9).await.unwrap()), (Some(1), None));
    assert_eq!(log.outside(2, 10).await.unwrap(), ids(&all[2..4]));
    assert_eq!(log.outside(2, 1).await.unwrap(), ids(&all[2..3]));
}

#[tokio::test]
async fn unsealed_entries_are_read_after_an_id() {
    let (mut world, all) = six().await;
    let log = &mut world.audit_log;
    let unsealed = async |log: &mut audit::MemoryAuditLog, after, limit| {
        let found = log.unsealed(after, limit).await.unwrap();
        found.into_iter().map(|unsealed| unsealed.id).collect::<Vec<_>>()
    };
    assert_eq!(unsealed(log, None, 10).await, ids(&all[4..]));
    assert_eq!(unsealed(log, None, 1).await, ids(&all[4..5]));
    assert_eq!(unsealed(log, Some(&*all[4].id), 10).await, ids(&all[5..]));
    let first = log.unsealed(None, 1).await.unwrap().remove(0);
    assert_eq!((first.leaf, first.mac.is_some()), (Some(all[4].leaf), true));
    assert_eq!(log.waiting("", 10).await.unwrap(), ids(&all[4..]));
    assert_eq!(log.waiting(&all[4].id, 10).await.unwrap(), ids(&all[5..]));
    assert_eq!(log.waiting("", 1).await.unwrap(), ids(&all[4..5]));
    let some = [all[5].id.clone(), "aud_x".into()];
    assert_eq!(log.entries_of(&some).await.unwrap(), [all[5].clone()]);
    for name in ["aud_y", "aud_z"] {
        log.tamper().insert(name.into(), StoredEntry { id: name.into(), ..all[0].clone() });
    }
    assert_eq!(log.unaccounted(10).await.unwrap(), ["aud_y", "aud_z"]);
    assert_eq!(log.unaccounted(1).await.unwrap(), ["aud_y"]);
}

#[tokio::test]
async fn checkpoints_are_read_by_size() {
    let (mut world, all) = six().await;
    let log = &mut world.audit_log;
    let sizes = async |log: &mut audit::MemoryAuditLog, after, limit| {
        let found = log.checkpoints(after, limit).await.unwrap();
        found.into_iter().map(|(size, _)| size).collect::<Vec<_>>()
    };
    assert_eq!(sizes(log, 0, 10).await, [2, 4]);
    assert_eq!(sizes(log, 2, 10).await, [4]);
    assert_eq!(sizes(log, 0, 1).await, [2]);
    let (note, at) = log.newest_checkpoint().await.unwrap().unwrap();
    assert_eq!((log.checkpoint(), at), (Some(&*note), all[3].timestamp));
    assert_eq!(log.newest_note().await.unwrap().as_deref(), Some(&*note));
    assert_eq!(Checkpoint::verified(&note, &world.checkpoint_keys()).unwrap().size, 4);
}

#[tokio::test]
async fn hashes_of_groups_are_read_by_level() {
    let mut world = World::new();
    world.append(700).await;
    world.seal().await;
    let groups = world.audit_log.hashes(1, 0, 9).await.unwrap();
    assert_eq!(groups.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(world.audit_log.hashes(1, 1, 2).await.unwrap(), groups[1..]);
    assert!(world.audit_log.hashes(2, 0, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn addresses_of_one_actor_are_erased() {
    let (mut world, all) = six().await;
    world.advance(1);
    world.ctx.actor = Actor::scim("sct_2");
    let other = Entry::new(&world.ctx, Event::new("usr_1", &UserDeactivated {}));
    world.audit_log.append(&[other]).await.unwrap();
    let newest = world.audit_log.newest_of_action(&all[0].action).await.unwrap().unwrap();
    assert_eq!(
        (&*newest.actor_id, world.audit_log.newest_of_action("OTHER").await.unwrap()),
        ("sct_2", None)
    );
    assert_eq!(world.audit_log.erase_addresses("sct_1").await.unwrap(), 6);
    assert_eq!(world.audit_log.erase_addresses("sct_1").await.unwrap(), 0);
    for entry in world.audit_log.tamper().values() {
        let is_erased = entry.actor_id == "sct_1";
        assert_eq!((entry.ip.is_none(), entry.salt.is_none()), (is_erased, is_erased), "{}", entry.actor_id);
        assert_eq!(entry.ip_commitment.is_some(), is_erased);
    }
}

#[tokio::test]
async fn statements_of_a_kind_are_numbered() {
    let mut world = World::new();
    let (log, at) = (&mut world.audit_log, world.ctx.now);
    log.add_countersignature("one", at).await.unwrap();
    log.add_countersignature("two", at).await.unwrap();
    log.set_retention(&Retention { days: Some(7), at }, "seven").await.unwrap();
    log.add_countersignature("three", at).await.unwrap();
    log.set_retention(&Retention { days: Some(8), at }, "eight").await.unwrap();
    let numbered = log.tamper_statements().iter().map(|(_, number, note)| (*number, note.as_str()));
    assert_eq!(
        numbered.collect::<Vec<_>>(),
        [(0, "one"), (1, "two"), (0, "seven"), (2, "three"), (1, "eight")]
    );
    assert_eq!(log.retention_days().await.unwrap(), Some(8));
}

#[test]
fn entries_of_an_operation_keep_its_order() {
    let world = World::new();
    let users = ["usr_3", "usr_1", "usr_2"];
    let events = users.map(|user| Event::new(user, &UserDeactivated {}));
    let entries = Entry::all(&world.ctx, events.to_vec());
    assert!(entries.is_sorted_by(|one, other| one.id.as_str() < other.id.as_str()));
    let resources: Vec<_> =
        entries.iter().map(|entry| entry.stored(&world.entries).unwrap().resource_id).collect();
    assert_eq!(resources, users);
}
