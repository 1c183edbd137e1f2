//! Retention and purges, and the states of the database in which nothing is purged.

use audit::{
    AuditStore, Audited, Entry, EntryKeys,
    log::{
        CheckpointKeys, CountersignError, Countersigned, Finding, MacStart, NoteError, PurgePlan,
        PurgeRefusal, Removal, Retention, RetentionStore, SealRules, Statement, VerifyKeys, VerifyStore as _,
        countersign, declare_purge, erase_some_addresses, is_covered, newest_removal, plan_purge, purge_some,
        set_retention, verify,
    },
};
use kernel::{StoreError, Timestamp};
use serde::{Deserialize, Serialize};

use crate::support::{World, masters};

pub(crate) const DAY: i64 = 24 * 60 * 60 * 1000;

impl World {
    pub(crate) async fn append_sealed(&mut self, count: usize) {
        self.append(count).await;
        self.seal().await;
    }

    /// Removes all entries that are past the retention, and returns their number.
    pub(crate) async fn purge(&mut self) -> u64 {
        let plan = self.plan().await.unwrap();
        let declared = declare_purge(&self.ctx, &mut self.audit_log, &self.keys, plan).await.unwrap();
        self.commit(declared).await;
        self.seal().await;
        let checkpoints = self.checkpoint_keys();
        purge_some(&mut self.audit_log, &checkpoints).await.unwrap().into_parts().0
    }

    async fn findings(&mut self) -> Vec<Finding> {
        self.verify().await.findings
    }

    /// Records the entries of a change.
    async fn commit<T>(&mut self, audited: Audited<T>) -> (T, usize) {
        let (value, events) = audited.into_parts();
        let entries: Vec<_> = events.into_iter().map(|event| Entry::new(&self.ctx, event)).collect();
        self.audit_log.append(&entries).await.unwrap();
        (value, entries.len())
    }

    pub(crate) async fn retain(&mut self, days: Option<u32>) -> usize {
        let set = set_retention(&self.ctx, &mut self.audit_log, &self.keys, days).await.unwrap();
        self.commit(set).await.1
    }

    pub(crate) async fn plan(&mut self) -> Result<PurgePlan, PurgeRefusal> {
        let (tenant, checkpoints) = (self.ctx.tenant.clone(), self.checkpoint_keys());
        let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&self.entries), retired: &[] };
        plan_purge(&mut self.audit_log, tenant.as_str(), keys, self.ctx.now).await
    }

    async fn refusal(&mut self) -> String {
        self.plan().await.unwrap_err().explain("acme")
    }
}

#[tokio::test]
async fn whole_groups_past_retention_are_purged_and_the_log_stays_verifiable() {
    let mut world = World::new();
    world.append_sealed(600).await;
    assert_eq!((world.retain(Some(7)).await, world.retain(Some(7)).await), (1, 0));
    assert_eq!(world.plan().await.unwrap(), PurgePlan { days: 7, from: 0, old: None });
    world.advance(8 * DAY);
    world.append_sealed(1).await;
    let plan = world.plan().await.unwrap();
    assert_eq!((plan.from, plan.before()), (0, 512));
    let declared = declare_purge(&world.ctx, &mut world.audit_log, &world.keys, plan).await.unwrap();
    assert_eq!(world.commit(declared).await.1, 1);
    let checkpoints = world.checkpoint_keys();
    for expected in [512, 0] {
        let purged = purge_some(&mut world.audit_log, &checkpoints).await.unwrap();
        assert_eq!(purged.into_parts().0, expected);
    }
    let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&world.entries), retired: &[] };
    let tenant = world.ctx.tenant.clone();
    let found = verify(&mut world.audit_log, tenant.as_str(), keys, Vec::new()).await.unwrap();
    assert_eq!((found.findings, found.dropped), (Vec::new(), 512));
    let plan = world.plan().await.unwrap();
    assert_eq!((plan.from, plan.old), (512, None));
}

#[tokio::test]
async fn log_verifies_and_is_purged_without_the_key_that_began_it() {
    let rules = |keys: &[u8]| SealRules::derive(&masters(keys));
    let mut world = World::new();
    world.append_sealed(600).await;
    world.retain(Some(7)).await;
    let (tenant, now) = (world.ctx.tenant.clone(), world.ctx.now);
    let (all, remaining) = (rules(&[8, 7]), rules(&[8]));
    let waits = countersign(&mut world.audit_log, &tenant, &all, &remaining, now).await;
    assert!(matches!(waits, Err(CountersignError::Unsealed(1))), "{waits:?}");
    world.append_sealed(1).await;
    let signed = countersign(&mut world.audit_log, &tenant, &all, &remaining, now).await.unwrap();
    let all_signed = Countersigned { count: 3, refused: 0 };
    assert_eq!(signed.into_parts().0, all_signed, "the checkpoint, the start of MACs and the retention");
    let again = countersign(&mut world.audit_log, &tenant, &all, &remaining, now).await.unwrap();
    assert_eq!(again.into_parts().0, Countersigned::default());
    let stranger = countersign(&mut world.audit_log, &tenant, &rules(&[9]), &rules(&[9]), now).await.unwrap();
    assert_eq!(stranger.into_parts().0, Countersigned { count: 0, refused: 3 });

    // Sealing goes on with the remaining key alone, and the log verifies.
    world.keys = CheckpointKeys::derive(&masters(&[8]));
    world.entries.adopt(&remaining.entries);
    world.advance(8 * DAY);
    for _ in 0..40 {
        world.append_sealed(1).await;
    }
    let start = world.audit_log.mac_start().await.unwrap().unwrap();
    assert_eq!(start.matches("— ").count(), 1, "signatures do not pile up: {start}");
    assert!(world.refusal().await.contains("--retired-key"));
    let (checkpoints, retired) = (world.checkpoint_keys(), ["k7".to_owned()]);
    let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&world.entries), retired: &retired };
    let found = verify(&mut world.audit_log, tenant.as_str(), keys, Vec::new()).await.unwrap();
    assert_eq!((found.findings, found.size), (Vec::new(), 642));
    let plan = plan_purge(&mut world.audit_log, tenant.as_str(), keys, world.ctx.now).await.unwrap();
    assert_eq!(plan.before(), 512);
}

#[tokio::test]
async fn nothing_is_purged_without_a_valid_signed_retention() {
    let mut world = World::new();
    assert!(world.refusal().await.starts_with("Entries of acme are kept forever."));
    let (ctx, at) = (world.ctx.clone(), world.ctx.now);
    let forged = Retention { days: Some(1), at };
    let note = forged.sign("ten_of_another_log", &world.keys).unwrap();
    world.audit_log.set_retention(&forged, &note).await.unwrap();
    assert!(world.refusal().await.contains("signed by an unknown key"));
    world.retain(Some(7)).await;
    let rewritten = Retention { days: Some(1), at };
    let note = Retention { days: Some(7), at: at.plus_millis(1) }.sign(ctx.tenant.as_str(), &world.keys);
    world.audit_log.set_retention(&rewritten, &note.unwrap()).await.unwrap();
    let text = world.refusal().await;
    assert!(text.contains("changed in the database to 1 day; 7 days was set at"), "{text}");
    let again = set_retention(&ctx, &mut world.audit_log, &world.keys, Some(7)).await;
    assert!(matches!(again, Err(StoreError::Aborted(_))), "the clock is behind the newest setting");
}

#[tokio::test]
async fn nothing_is_purged_if_statements_or_their_entries_were_changed() {
    let mut world = World::new();
    world.append_sealed(3).await;
    world.retain(Some(7)).await;
    let older = world.audit_log.tamper_statements().clone();
    world.audit_log.tamper_statements().clear();
    assert!(world.refusal().await.starts_with("The retention of acme is not signed."));
    *world.audit_log.tamper_statements() = older.clone();

    world.advance(1000);
    world.retain(Some(30)).await;
    let both = world.audit_log.tamper_statements().clone();
    *world.audit_log.tamper_statements() = older.clone();
    let text = world.refusal().await;
    assert!(
        text.contains(&format!("was set at {}, but its signed statement is missing", world.ctx.now)),
        "{text}"
    );

    let (kind, _, note) = older.into_iter().next().unwrap();
    world.audit_log.tamper_statements().clone_from(&both);
    world.audit_log.tamper_statements().push((kind, 2, note));
    assert!(world.refusal().await.contains("setting 2 is older than the one before it"));

    *world.audit_log.tamper_statements() = both;
    assert_eq!(world.plan().await.unwrap().days, 30);
    let newest = world.audit_log.tamper().values_mut().next_back().unwrap();
    newest.mac.as_mut().unwrap().tag[0] ^= 1;
    let text = world.refusal().await;
    assert!(text.contains("records a change but has no valid MAC"), "{text}");
    // A key that is unknown counts only if the operator says that it was retired.
    let newest = world.audit_log.tamper().values_mut().next_back().unwrap();
    newest.mac.as_mut().unwrap().key = "other".into();
    let text = world.refusal().await;
    assert!(text.contains("records a change but has no valid MAC"), "{text}");
}

#[tokio::test]
async fn nothing_is_purged_from_a_changed_log_or_without_keys() {
    let mut world = World::new();
    world.append_sealed(3).await;
    world.retain(Some(7)).await;
    world.entries = EntryKeys::none();
    assert!(world.refusal().await.contains("GATEHOUSE_MASTER_KEY"));
    let mut world = World::new();
    world.append_sealed(3).await;
    world.retain(Some(7)).await;
    let (_, entry) = world.audit_log.tamper().iter_mut().next().unwrap();
    entry.resource_id = "usr_2".into();
    let text = world.refusal().await;
    assert!(text.contains("nothing is purged. 1 finding (list them with gatehouse audit verify)"), "{text}");
}

#[tokio::test]
async fn erased_addresses_leave_the_log_verifiable() {
    let mut world = World::new();
    world.append_sealed(3).await;
    world.ctx.ip = None;
    for (expected, events) in [(3, 1), (0, 0)] {
        let erased = erase_some_addresses(&mut world.audit_log, "sct_1").await.unwrap();
        assert_eq!(world.commit(erased).await, (expected, events));
    }
    world.retain(Some(7)).await;
    assert!(world.plan().await.is_ok());
}

/// A stored statement: its kind, its number and its note.
type StoredStatement = (&'static str, u64, String);

/// A log of which the first 512 of 600 entries are purged.
struct Purged {
    world: World,
    /// The statements of the retention and of the removal.
    statements: Vec<StoredStatement>,
    retention: Retention,
    removal: Removal,
}

impl Purged {
    async fn new() -> Self {
        let mut world = World::new();
        world.append_sealed(600).await;
        world.retain(Some(7)).await;
        world.advance(8 * DAY);
        world.append_sealed(1).await;
        world.purge().await;
        let statements = world.audit_log.tamper_statements().clone();
        let [(_, _, retention), (_, _, removal)] = &statements[..] else { unreachable!("two statements") };
        let (tenant, keys) = (world.ctx.tenant.as_str(), world.checkpoint_keys());
        let retention = Retention::verified(retention, tenant, &keys).unwrap();
        let removal = Removal::verified(removal, tenant, &keys).unwrap();
        Self { world, statements, retention, removal }
    }
}

fn signed<S: Statement>(world: &World, number: u64, statement: &S) -> StoredStatement {
    (S::KIND, number, statement.sign(world.ctx.tenant.as_str(), &world.keys).unwrap())
}

fn not_stated(at: Timestamp) -> Finding {
    Finding::NotSigned { statement: format!("the retention set at {at}") }
}

#[tokio::test]
async fn removal_without_its_statement_is_found() {
    let Purged { mut world, statements, removal, .. } = Purged::new().await;
    assert_eq!(world.findings().await, []);
    assert_eq!((removal.from, removal.before, removal.days), (0, 512, 7));
    let not_signed = |what: &str| Finding::NotSigned { statement: what.to_owned() };
    world.audit_log.tamper_statements().retain(|(kind, ..)| *kind != Removal::KIND);
    let found = world.findings().await;
    assert_eq!(found[0], not_signed("the removal before 512"));
    assert_eq!(found[1], Finding::Missing { from: 0, to: 256 });
    assert_eq!(found[2], Finding::Missing { from: 256, to: 512 });

    let moved = statements.iter().map(|(kind, number, note)| {
        (*kind, if *kind == Removal::KIND { 256 } else { *number }, note.clone())
    });
    *world.audit_log.tamper_statements() = moved.collect();
    let found = world.findings().await;
    assert_eq!(found[..2], [not_signed("the removal before 256"), not_signed("the removal before 512")]);

    let (_, _, note) = &statements[1];
    let unsigned = format!("{}\n\n", note.rsplit_once("\n\n").unwrap().0);
    *world.audit_log.tamper_statements() = statements.clone();
    world.audit_log.tamper_statements()[1].2 = unsigned;
    assert_eq!(world.findings().await[0], not_signed("the removal before 512"));
}

#[tokio::test]
async fn removal_before_its_retention_ended_is_found() {
    let Purged { mut world, statements, retention, removal } = Purged::new().await;
    let early = Finding::RemovedEarly { from: 0, to: 512 };
    let at = retention.at;
    let later = Retention { at: removal.at.plus_millis(1), ..retention.clone() };
    for (retentions, findings) in [
        (vec![Retention { days: Some(8), at }], vec![early.clone()]),
        (vec![Retention { days: None, at }], vec![early.clone()]),
        (vec![later.clone()], vec![early.clone(), not_stated(at)]),
        (vec![retention, later], vec![]),
        (vec![], vec![early.clone(), not_stated(at)]),
    ] {
        let mut changed: Vec<_> =
            (0..).zip(&retentions).map(|(number, one)| signed(&world, number, one)).collect();
        changed.push(statements[1].clone());
        *world.audit_log.tamper_statements() = changed;
        assert_eq!(world.findings().await, findings, "{retentions:?}");
    }
    let due = removal.at.plus_millis(-7 * DAY);
    for (newest, findings) in [(due, vec![early]), (due.plus_millis(-1), vec![])] {
        let changed = signed(&world, 512, &Removal { newest, ..removal.clone() });
        *world.audit_log.tamper_statements() = vec![statements[0].clone(), changed];
        assert_eq!(world.findings().await, findings, "{newest}");
    }
}

#[tokio::test]
async fn replayed_or_unsigned_retention_is_found() {
    let Purged { mut world, statements, retention, .. } = Purged::new().await;
    let replayed = (Retention::KIND, 1, statements[0].2.clone());
    *world.audit_log.tamper_statements() = [&statements[..], &[replayed]].concat();
    let finding = Finding::OutOfOrder { statement: "retention setting 1".to_owned() };
    assert_eq!(world.findings().await, [finding]);

    *world.audit_log.tamper_statements() = statements;
    world.audit_log.tamper_statements()[0].2 = "x\n\n".to_owned();
    let unsigned = Finding::NotSigned { statement: "retention setting 0".to_owned() };
    let early = Finding::RemovedEarly { from: 0, to: 512 };
    assert_eq!(world.findings().await, [unsigned, early, not_stated(retention.at)]);
}

#[tokio::test]
async fn removal_with_another_range_or_root_is_found() {
    let Purged { mut world, statements, removal, .. } = Purged::new().await;
    for (changed, finding) in [
        (Removal { from: 256, ..removal.clone() }, Finding::Missing { from: 0, to: 256 }),
        (Removal { root: String::new(), ..removal }, Finding::Altered { from: 0, to: 512 }),
    ] {
        *world.audit_log.tamper_statements() = vec![statements[0].clone(), signed(&world, 512, &changed)];
        assert_eq!(world.findings().await, [finding], "{changed:?}");
    }
}

#[test]
fn statement_is_valid_only_as_its_own_kind_and_for_its_tenant() {
    let world = World::new();
    let (tenant, keys) = (world.ctx.tenant.as_str(), world.checkpoint_keys());
    let stated = Retention { days: Some(7), at: world.ctx.now };
    let note = stated.sign(tenant, &world.keys).unwrap();
    assert_eq!(note.lines().next(), Some(&*format!("gatehouse/audit-retention/{tenant}")));
    assert_eq!(Retention::verified(&note, tenant, &keys), Ok(stated));
    assert_eq!(Retention::verified(&note, "ten_other", &keys), Err(NoteError::Malformed));
    assert_eq!(MacStart::verified(&note, tenant, &keys), Err(NoteError::Malformed));
    // The words of one kind, signed as another.
    let mixed = Mixed { days: Some(7), at: world.ctx.now }.sign(tenant, &world.keys).unwrap();
    assert_eq!(Retention::verified(&mixed, tenant, &keys), Err(NoteError::Malformed));
}

#[derive(Serialize, Deserialize)]
struct Mixed {
    days: Option<u32>,
    at: Timestamp,
}

impl Statement for Mixed {
    const KIND: &'static str = "mixed";
}

#[tokio::test]
async fn long_log_is_purged_and_verified_in_parts() {
    let mut world = World::new();
    world.append(4400).await;
    for count in [1024, 1024, 1024, 1024, 304] {
        assert_eq!(world.seal().await, count);
    }
    world.retain(Some(7)).await;
    world.advance(8 * DAY);
    world.append_sealed(1).await;
    assert_eq!(world.purge().await, 4352);
    assert_eq!(world.findings().await, []);
    // The next purge begins where this one ended.
    world.advance(8 * DAY);
    world.append_sealed(300).await;
    let plan = world.plan().await.unwrap();
    assert_eq!((plan.from, plan.before()), (4352, 4352), "the last group has an entry that is not old");
    world.advance(8 * DAY);
    world.append_sealed(1).await;
    assert_eq!(world.purge().await, 256);
    assert_eq!(world.findings().await, []);
}

#[tokio::test]
async fn signed_removal_covers_only_its_own_groups() {
    let mut world = World::new();
    world.append_sealed(300).await;
    world.retain(Some(7)).await;
    world.advance(8 * DAY);
    world.append_sealed(300).await;
    let plan = world.plan().await.unwrap();
    assert_eq!((plan.from, plan.before()), (0, 256));
    let declared = declare_purge(&world.ctx, &mut world.audit_log, &world.keys, plan).await.unwrap();
    world.commit(declared).await;
    let (tenant, checkpoints) = (world.ctx.tenant.to_string(), world.checkpoint_keys());
    let log = &mut world.audit_log;
    let removal = newest_removal(log, &tenant, &checkpoints).await.unwrap().unwrap();
    assert!(is_covered(log, &tenant, &removal, 0, 256).await.unwrap());
    assert!(!is_covered(log, &tenant, &removal, 0, 512).await.unwrap(), "the second group is not covered");
    assert!(!is_covered(log, &tenant, &removal, 1, 256).await.unwrap(), "only whole groups");
    let other = Removal { root: String::new(), ..removal };
    assert!(!is_covered(log, &tenant, &other, 0, 256).await.unwrap(), "another root");
}
