//! Which entries are sealed, and what stops sealing.

use async_trait::async_trait;
use audit::{
    MacProblem, MemoryAuditLog, StoredEntry,
    log::{
        Batch, Checkpoint, CheckpointKeys, Finding, Lease, LockedLog, SealPolicy, SealStore, Unsealed,
        VerifyStore as _, seal,
    },
};
use kernel::{StoreError, StoreResult};

use crate::support::{World, masters};

type Change = fn(&mut StoredEntry);

#[tokio::test]
async fn entry_without_a_valid_mac_is_never_sealed() {
    let mut world = World::new();
    world.append(4).await;
    let ids: Vec<String> = world.audit_log.tamper().keys().cloned().collect();
    let original = world.audit_log.tamper().clone();
    let changes: [(Change, MacProblem); 4] = [
        (|entry| entry.mac = None, MacProblem::Missing),
        (|entry| entry.mac.as_mut().unwrap().key = "other".into(), MacProblem::UnknownKey),
        (|entry| entry.mac.as_mut().unwrap().tag[0] ^= 1, MacProblem::Wrong),
        (|entry| entry.leaf = [0; 32], MacProblem::Wrong),
    ];
    for (change, problem) in changes {
        change(world.audit_log.tamper().get_mut(&ids[1]).unwrap());
        let found = world.verify().await;
        let finding = Finding::Unauthenticated { sequence: None, id: ids[1].clone(), problem };
        assert_eq!(found.findings, [finding]);
        *world.audit_log.tamper() = original.clone();
    }
    // Two entries with swapped MACs are not sealed, but the others are.
    let [one, other] = [&ids[1], &ids[2]].map(|id| original[id].mac.clone());
    world.audit_log.tamper().get_mut(&ids[1]).unwrap().mac = other;
    world.audit_log.tamper().get_mut(&ids[2]).unwrap().mac = one;
    let done = world.seal_with(true).await;
    assert_eq!((done.count, done.seen), (2, 4));
    assert_eq!(done.last.as_ref(), Some(&ids[3]), "the last entry that was read");
    assert_eq!(done.refused, [(ids[1].clone(), MacProblem::Wrong), (ids[2].clone(), MacProblem::Wrong)]);
    *world.audit_log.tamper() = original;
    assert_eq!((world.seal().await, world.verify().await.count), (2, 0));
}

#[tokio::test]
async fn entries_without_macs_are_accepted_only_until_macs_start() {
    let mut world = World::new();
    world.append(3).await;
    world.audit_log.tamper().values_mut().for_each(|entry| entry.mac = None);
    let done = world.seal_with(false).await;
    assert_eq!((done.count, done.refused.len()), (0, 3));
    assert_eq!(world.seal_with(true).await.count, 3);
    assert_eq!(world.verify().await.count, 0);
    // From the next sealed entry on, each must have a MAC.
    world.append(2).await;
    assert_eq!(world.seal().await, 2);
    assert_eq!((world.verify().await.count, world.verify().await.macs), (0, 2));
    let original = world.audit_log.tamper().clone();
    let ids: Vec<String> = original.keys().cloned().collect();
    for sequence in [3, 4] {
        let id = &ids[sequence];
        world.audit_log.tamper().get_mut(id).unwrap().mac = None;
        let (sequence, problem) = (Some(sequence as u64), MacProblem::Missing);
        let finding = Finding::Unauthenticated { sequence, id: id.clone(), problem };
        assert_eq!(world.verify().await.findings, [finding]);
        *world.audit_log.tamper() = original.clone();
    }
}

#[tokio::test]
async fn start_of_macs_is_kept_until_an_entry_without_one_is_accepted() {
    let mut world = World::new();
    world.append(1).await;
    world.seal().await;
    let start = world.audit_log.mac_start().await.unwrap();
    assert!(start.is_some());
    world.append(1).await;
    assert_eq!(world.seal_with(true).await.count, 1);
    assert_eq!(world.audit_log.mac_start().await.unwrap(), start);
    world.append(2).await;
    world.audit_log.tamper().values_mut().next_back().unwrap().mac = None;
    assert_eq!(world.seal_with(true).await.count, 2);
    assert_eq!(world.audit_log.mac_start().await.unwrap(), None);
}

/// A log with another newest checkpoint.
struct WithNote<'l>(&'l mut MemoryAuditLog, Option<String>);

#[async_trait]
impl SealStore for WithNote<'_> {
    async fn claim(&mut self, lease: &Lease) -> StoreResult<Option<LockedLog>> {
        self.0.claim(lease).await
    }
    async fn newest_note(&mut self) -> StoreResult<Option<String>> {
        Ok(self.1.clone())
    }
    async fn unsealed(&mut self, after: Option<&str>, limit: usize) -> StoreResult<Vec<Unsealed>> {
        self.0.unsealed(after, limit).await
    }
    async fn store_batch(&mut self, batch: &Batch, lease: &Lease) -> StoreResult<()> {
        self.0.store_batch(batch, lease).await
    }
}

#[tokio::test]
async fn sealing_stops_if_the_log_is_not_as_it_was_signed() {
    let mut world = World::new();
    world.append(2).await;
    world.seal().await;
    let signed = world.audit_log.checkpoint().unwrap().to_owned();
    let root = Checkpoint::verified(&signed, &world.checkpoint_keys()).unwrap().root;
    world.append(1).await;
    let tenant = world.ctx.tenant.as_str();
    let note =
        |keys: &CheckpointKeys, tenant: &str, size, root| keys.sign(&Checkpoint::new(tenant, size, root));
    let strangers = CheckpointKeys::derive(&masters(&[8]));
    let lease = world.lease();
    for refused in [
        None,
        note(&world.keys, tenant, 2, [0; 32]),
        note(&world.keys, tenant, 3, root),
        note(&world.keys, "ten_other", 2, root),
        note(&strangers, tenant, 2, root),
    ] {
        let policy =
            SealPolicy { checkpoints: &world.keys, entries: &world.entries, accepts_missing_macs: false };
        let mut store = WithNote(&mut world.audit_log, refused.clone());
        let stopped = seal(&mut store, policy, &world.ctx.tenant, &lease, None).await;
        assert!(matches!(stopped, Err(StoreError::Aborted(_))), "{refused:?}: {stopped:?}");
    }
    assert_eq!(world.seal().await, 1);
}
