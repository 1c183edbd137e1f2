//! The transparency log on both databases.

mod forged_history;
mod forged_places;
mod forged_removal;
mod removal;
mod sealing;
mod tampering;

use audit::{
    Audited, Entry, Event, Unaudited,
    events::{audit_log::AuditEntriesDropped, users::UserDeactivated},
    log::{
        Checkpoint, CheckpointKeys, Lease, Removal, Retention, RetentionStore, SealPolicy, Statement,
        Verified, VerifyKeys, seal, verify,
    },
};
use kernel::{Actor, Ctx, MasterKeys, Secret, StoreError, StoreResult, Timestamp};
use store::{
    Tx,
    testing::{Kind, entry_keys},
};

use crate::support::World;

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

/// Formats bytes as an SQL literal.
pub(crate) fn hex(kind: Kind, bytes: &[u8]) -> String {
    let hex = data_encoding::HEXLOWER.encode(bytes);
    if kind == Kind::Sqlite { format!("x'{hex}'") } else { format!("'\\x{hex}'") }
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
