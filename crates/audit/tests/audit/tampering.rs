//! What a verification finds in a database that was changed or cannot be read completely.

use async_trait::async_trait;
use audit::{
    MacProblem, MemoryAuditLog, StoredEntry,
    log::{
        Checkpoint, Finding, Frontier, Hash, SealedRow, TreeStore, Verified, VerifyKeys, VerifyStore, verify,
    },
};
use kernel::{StoreError, StoreResult};

use crate::support::World;

/// Returns whether a read of a table is refused, for positions from the first number to before the second.
pub(crate) type IsUnreadable = fn(&str, u64, u64) -> bool;

/// What was done to a database.
#[derive(Clone, Copy)]
pub(crate) struct Damage {
    pub(crate) log: fn(&mut Frontier),
    pub(crate) rows: fn(&mut Vec<SealedRow>),
    /// Changes hashes of this level.
    pub(crate) hashes: fn(u8, &mut Vec<(u64, Hash)>),
    pub(crate) removals: fn(&mut Vec<u64>),
    pub(crate) checkpoints: fn(&mut Vec<(u64, String)>),
    pub(crate) unreadable: IsUnreadable,
}

impl Default for Damage {
    fn default() -> Self {
        Self {
            log: |_| {},
            rows: |_| {},
            hashes: |_, _| {},
            removals: |_| {},
            checkpoints: |_| {},
            unreadable: |_, _, _| false,
        }
    }
}

/// A log as it is read from a damaged database.
pub(crate) struct Damaged<'l> {
    pub(crate) log: &'l mut MemoryAuditLog,
    pub(crate) damage: Damage,
}

impl Damaged<'_> {
    fn readable(&self, table: &str, from: u64, to: u64) -> StoreResult<()> {
        let is_unreadable = (self.damage.unreadable)(table, from, to);
        if is_unreadable { Err(StoreError::Corrupt(table.to_owned())) } else { Ok(()) }
    }
}

#[async_trait]
impl TreeStore for Damaged<'_> {
    async fn hashes(&mut self, level: u8, from: u64, to: u64) -> StoreResult<Vec<(u64, Hash)>> {
        self.readable(if level == 0 { "leaves" } else { "subtrees" }, from, to)?;
        let mut hashes = self.log.hashes(level, from, to).await?;
        (self.damage.hashes)(level, &mut hashes);
        Ok(hashes)
    }
}

#[async_trait]
impl VerifyStore for Damaged<'_> {
    async fn log(&mut self) -> StoreResult<Frontier> {
        self.readable("log", 0, 0)?;
        let mut log = self.log.log().await?;
        (self.damage.log)(&mut log);
        Ok(log)
    }
    async fn mac_start(&mut self) -> StoreResult<Option<String>> {
        self.readable("mac_start", 0, 0)?;
        self.log.mac_start().await
    }
    async fn sealed(&mut self, from: u64, to: u64) -> StoreResult<Vec<SealedRow>> {
        self.readable("rows", from, to)?;
        let mut rows = self.log.sealed(from, to).await?;
        (self.damage.rows)(&mut rows);
        Ok(rows)
    }
    async fn checkpoints(&mut self, after: u64, limit: usize) -> StoreResult<Vec<(u64, String)>> {
        self.readable("checkpoints", after, 0)?;
        let mut checkpoints = self.log.checkpoints(after, limit).await?;
        (self.damage.checkpoints)(&mut checkpoints);
        Ok(checkpoints)
    }
    async fn removals(&mut self) -> StoreResult<Vec<u64>> {
        self.readable("removals", 0, 0)?;
        let mut removals = self.log.removals().await?;
        (self.damage.removals)(&mut removals);
        Ok(removals)
    }
    async fn statements(&mut self, kind: &str) -> StoreResult<Vec<(u64, String)>> {
        self.readable(kind, 0, 0)?;
        self.log.statements(kind).await
    }
    async fn waiting(&mut self, after: &str, limit: usize) -> StoreResult<Vec<String>> {
        self.readable("waiting", 0, 0)?;
        self.log.waiting(after, limit).await
    }
    async fn entries_of(&mut self, ids: &[String]) -> StoreResult<Vec<StoredEntry>> {
        self.readable("entries", 0, ids.len() as u64)?;
        self.log.entries_of(ids).await
    }
    async fn outside(&mut self, size: u64, limit: usize) -> StoreResult<Vec<String>> {
        self.readable("outside", 0, 0)?;
        self.log.outside(size, limit).await
    }
    async fn next_place(&mut self, from: u64, to: u64) -> StoreResult<Option<u64>> {
        self.readable("next_place", from, to)?;
        let mut rows = self.log.sealed(from, to).await?;
        (self.damage.rows)(&mut rows);
        Ok(rows.first().map(|row| row.sequence))
    }
    async fn unaccounted(&mut self, limit: usize) -> StoreResult<Vec<String>> {
        self.readable("unaccounted", 0, 0)?;
        self.log.unaccounted(limit).await
    }
}

/// A log of 700 entries with checkpoints of 40 and of all, and three unsealed entries.
pub(crate) struct Log(pub(crate) World);

impl Log {
    async fn new() -> Self {
        let mut world = World::new();
        for count in [40, 660] {
            world.append(count).await;
            world.seal().await;
        }
        world.append(3).await;
        Self(world)
    }

    /// Verifies the log also against its newest checkpoint, as somebody else may have kept it.
    pub(crate) async fn verify(&mut self, damage: Damage) -> StoreResult<Verified> {
        let tenant = self.0.ctx.tenant.to_string();
        let checkpoints = self.0.checkpoint_keys();
        let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&self.0.entries), retired: &[] };
        let kept = vec![Checkpoint::read(self.0.audit_log.checkpoint().unwrap()).unwrap()];
        verify(&mut Damaged { log: &mut self.0.audit_log, damage }, &tenant, keys, kept).await
    }

    /// Verifies the log, and compares the findings and the numbers of verified entries and checkpoints.
    async fn assert_findings(
        &mut self,
        what: &str,
        damage: Damage,
        findings: &[Finding],
        (entries, checkpoints): (u64, u64),
    ) {
        let found = self.verify(damage).await.unwrap();
        assert_eq!(found.findings, findings, "{what}");
        assert_eq!((found.entries, found.checkpoints), (entries, checkpoints), "{what}");
        assert_eq!((found.size, found.count), (700, findings.len()), "{what}");
    }

    async fn id(&mut self, sequence: u64) -> String {
        self.0.audit_log.sealed(sequence, sequence + 1).await.unwrap().remove(0).id
    }
}

/// Changes the leaf of the row at this position.
fn change_leaf(rows: &mut [SealedRow], sequence: u64) {
    rows.iter_mut().filter(|row| row.sequence == sequence).for_each(|row| row.leaf = [0; 32]);
}

/// Changes the hash of the group with this index.
fn change_group(level: u8, hashes: &mut [(u64, Hash)], group: u64) {
    hashes
        .iter_mut()
        .filter(|(index, _)| level == 1 && *index == group)
        .for_each(|(_, hash)| *hash = [0; 32]);
}

fn remove_group(level: u8, hashes: &mut Vec<(u64, Hash)>, group: u64) {
    hashes.retain(|(index, _)| level != 1 || *index != group);
}

const CHANGED: Finding = Finding::Altered { from: 512, to: 700 };
const NOT_COMPARED: Finding = Finding::NotCompared { size: 700 };

#[tokio::test]
async fn missing_and_changed_rows_are_found() {
    let (mut log, none) = (Log::new().await, Damage::default());
    log.assert_findings("nothing", none, &[], (700, 3)).await;
    let found = log.verify(none).await.unwrap();
    assert_eq!((found.macs, found.waiting), (703, 3));

    let missing = |from, to| Finding::Missing { from, to };
    let rows = |rows| Damage { rows, ..Damage::default() };
    // The hash of the group replaces the row, but the checkpoint within the group cannot be compared.
    let gone = rows(|rows| rows.retain(|row| row.sequence != 3));
    log.assert_findings("row 3", gone, &[missing(3, 4)], (699, 2)).await;
    let gone = rows(|rows| rows.retain(|row| row.sequence >= 256));
    log.assert_findings("a group", gone, &[missing(0, 256)], (444, 2)).await;
    // The last group has no hash yet.
    let gone = rows(|rows| rows.retain(|row| row.sequence != 600));
    log.assert_findings("row 600", gone, &[missing(600, 601), NOT_COMPARED], (699, 1)).await;
    let gone = rows(|rows| rows.retain(|row| row.sequence != 699));
    log.assert_findings("the last row", gone, &[missing(699, 700), NOT_COMPARED], (699, 1)).await;

    let id = log.id(3).await;
    let changed = [
        Finding::Altered { from: 0, to: 40 },
        Finding::Altered { from: 0, to: 256 },
        Finding::Changed { sequence: 3, id },
    ];
    log.assert_findings("leaf 3", rows(|rows| change_leaf(rows, 3)), &changed, (700, 3)).await;
    let changed =
        [CHANGED, Finding::Forked { size: 700 }, Finding::Changed { sequence: 600, id: log.id(600).await }];
    log.assert_findings("leaf 600", rows(|rows| change_leaf(rows, 600)), &changed, (700, 3)).await;
    let twice = rows(|rows| {
        if let Some(at) = rows.iter().position(|row| row.sequence == 3) {
            rows.insert(at + 1, SealedRow { id: "aud_second".into(), ..rows[at].clone() });
        }
    });
    let second = [Finding::Inserted { id: "aud_second".into() }];
    log.assert_findings("a position twice", twice, &second, (700, 3)).await;
}

#[tokio::test]
async fn missing_and_changed_hashes_are_found() {
    let (mut log, none) = (Log::new().await, Damage::default());
    let altered = |from, to| Finding::Altered { from, to };
    let hashes = |hashes| Damage { hashes, ..none };
    let forked = Finding::Forked { size: 700 };
    let first = hashes(|level, hashes| change_group(level, hashes, 0));
    log.assert_findings("group 0 changed", first, &[altered(0, 256), CHANGED, forked.clone()], (700, 3))
        .await;
    let second = hashes(|level, hashes| change_group(level, hashes, 1));
    log.assert_findings("group 1 changed", second, &[altered(256, 512), CHANGED, forked], (700, 3)).await;
    let gone = hashes(|level, hashes| remove_group(level, hashes, 0));
    log.assert_findings("group 0 gone", gone, &[altered(0, 256), NOT_COMPARED], (700, 1)).await;
    // Nothing replaces the rows.
    let missing = |from, to| Finding::Missing { from, to };
    let one = Damage { rows: |rows| rows.retain(|row| row.sequence != 3), ..gone };
    log.assert_findings("row 3 and its group", one, &[missing(3, 4), NOT_COMPARED], (699, 0)).await;
    let all = Damage { rows: |rows| rows.retain(|row| row.sequence >= 256), ..gone };
    log.assert_findings("group 0 with its rows", all, &[missing(0, 256), NOT_COMPARED], (444, 0)).await;
    let all = Damage { rows: Vec::clear, hashes: |_, hashes| hashes.clear(), ..none };
    log.assert_findings("everything", all, &[missing(0, 700), NOT_COMPARED], (0, 0)).await;
}

#[tokio::test]
async fn missing_and_forged_checkpoints_are_found() {
    let mut log = Log::new().await;
    let checkpoints = |checkpoints| Damage { checkpoints, ..Damage::default() };
    let unsigned = |size| [Finding::Unsigned { size }];
    log.assert_findings("all", checkpoints(Vec::clear), &unsigned(700), (700, 1)).await;
    let gone = checkpoints(|all| all.retain(|(size, _)| *size != 700));
    log.assert_findings("the newest", gone, &unsigned(700), (700, 2)).await;
    let forged = checkpoints(|all| {
        for (_, note) in all.iter_mut().filter(|(size, _)| *size == 700) {
            let (text, _) = note.rsplit_once("\n\n").unwrap();
            *note = format!("{text}\n\n");
        }
    });
    log.assert_findings("an unsigned one", forged, &unsigned(700), (700, 3)).await;
    let moved = checkpoints(|all| {
        all.iter_mut().filter(|(size, _)| *size == 40).for_each(|(size, _)| *size = 41);
    });
    log.assert_findings("one of another size", moved, &unsigned(41), (700, 2)).await;
    let moved = checkpoints(|all| {
        all.iter_mut().filter(|(size, _)| *size == 700).for_each(|(size, _)| *size = 701);
    });
    let both = [701, 700].map(|size| Finding::Unsigned { size });
    log.assert_findings("the newest of another size", moved, &both, (700, 2)).await;
    let later = checkpoints(|all| {
        if let Some((_, newest)) = all.iter().find(|(size, _)| *size == 700) {
            let forged = newest.replacen("\n700\n", "\n800\n", 1);
            all.push((800, forged));
        }
    });
    log.assert_findings("an unsigned one of later", later, &unsigned(800), (700, 3)).await;
}

#[tokio::test]
async fn wrong_state_of_the_log_is_found() {
    let (mut log, none) = (Log::new().await, Damage::default());
    let other = Damage { log: |log| *log = Frontier::restore(700, &[7; 32 * 6]).unwrap(), ..none };
    log.assert_findings("other hashes", other, &[CHANGED], (700, 3)).await;
    let short = Damage { log: |log| *log = Frontier::restore(40, &[7; 32 * 2]).unwrap(), ..none };
    log.assert_findings("a smaller size than is signed", short, &[CHANGED], (700, 3)).await;

    // The last group of this log is complete.
    let mut whole = World::new();
    whole.append(512).await;
    whole.seal().await;
    let other = Damage { log: |log| *log = Frontier::restore(512, &[7; 32]).unwrap(), ..none };
    assert_eq!(Log(whole).verify(other).await.unwrap().findings, [Finding::Altered { from: 256, to: 512 }]);

    let newest_is_gone = Damage { checkpoints: |all| all.retain(|(size, _)| *size == 40), ..short };
    let found = log.verify(newest_is_gone).await.unwrap();
    assert_eq!((found.size, found.entries, found.count), (40, 40, 662));
    let (outside, rest) = found.findings.split_at(660);
    assert_eq!(outside[0], Finding::Inserted { id: log.id(40).await });
    assert_eq!(rest, [Finding::RolledBack { size: 700 }, Finding::Altered { from: 0, to: 40 }]);

    // A forged size does not cost a walk over all positions.
    let long = Damage { log: |log| *log = Frontier::restore(1 << 40, &[7; 32]).unwrap(), ..none };
    let found = log.verify(long).await.unwrap();
    assert_eq!((found.size, found.entries, found.checkpoints), (1 << 40, 700, 3));
    let ends = [&found.findings[..2], &found.findings[found.findings.len() - 2..]].concat();
    let missing = |from, to| Finding::Missing { from, to };
    let unsigned = Finding::Unsigned { size: 1 << 40 };
    assert_eq!(ends, [missing(700, 768), missing(768, 1024), missing(4096, 1 << 40), unsigned]);
}

#[tokio::test]
async fn unreadable_data_is_found_and_the_rest_is_verified() {
    let mut log = Log::new().await;
    let unreadable = |unreadable| Damage { unreadable, ..Damage::default() };
    let at = |table, at: &str| Finding::Unreadable { table, at: at.to_owned() };
    let row = unreadable(|table, from, to| table == "rows" && (from..to).contains(&300));
    log.assert_findings("row 300", row, &[at("audit_entries", "300")], (699, 3)).await;
    let leaf =
        unreadable(|table, from, to| (table == "rows" || table == "leaves") && (from..to).contains(&300));
    let missing = Finding::Missing { from: 300, to: 301 };
    log.assert_findings(
        "leaf 300",
        leaf,
        &[at("audit_entries", "300"), at("audit_sealed", "300"), missing],
        (699, 3),
    )
    .await;
    let group = unreadable(|table, from, to| table == "subtrees" && (from..to).contains(&1));
    let altered = Finding::Altered { from: 256, to: 512 };
    log.assert_findings(
        "a group",
        group,
        &[at("audit_subtrees", "1 of level 1"), altered, NOT_COMPARED],
        (700, 1),
    )
    .await;
    let some = unreadable(|table, after, _| table == "checkpoints" && after == 0);
    log.assert_findings("old checkpoints", some, &[at("audit_checkpoints", "from 1")], (700, 1)).await;
    let all = unreadable(|table, _, _| table == "checkpoints");
    let each = ["after 699", "from 1"].map(|place| at("audit_checkpoints", place));
    let each = [&each[..], &[Finding::Unsigned { size: 700 }]].concat();
    log.assert_findings("checkpoints", all, &each, (700, 1)).await;

    let whole_tables: [(IsUnreadable, Finding); 8] = [
        (|table, _, _| table == "log", at("audit_logs", "")),
        (|table, _, _| table == "mac_start", at("audit_logs", "mac_start")),
        (|table, _, _| table == "removals", at("audit_drops", "")),
        (|table, _, _| table == "removal", at("audit_statements", "removal")),
        (|table, _, _| table == "retention", at("audit_statements", "retention")),
        (|table, _, _| table == "waiting", at("audit_unsealed", "")),
        (|table, _, _| table == "outside", at("audit_sealed", "outside the log")),
        (|table, _, _| table == "unaccounted", at("audit_entries", "")),
    ];
    for (table, finding) in whole_tables {
        log.assert_findings("a whole table", unreadable(table), &[finding], (700, 3)).await;
    }

    let together = unreadable(|table, _, count| table == "entries" && count > 1);
    log.assert_findings("unsealed entries, read one by one", together, &[], (700, 3)).await;
    let entries = unreadable(|table, _, _| table == "entries");
    let waiting: Vec<_> = log.0.audit_log.waiting("", 3).await.unwrap();
    let each: Vec<_> = waiting.iter().map(|id| at("audit_entries", id)).collect();
    log.assert_findings("unsealed entries", entries, &each, (700, 3)).await;
}

#[tokio::test]
async fn deleted_and_forged_unsealed_entries_are_found() {
    let mut log = Log::new().await;
    let ids = log.0.audit_log.waiting("", 3).await.unwrap();
    log.0.audit_log.tamper().remove(&ids[0]);
    log.0.audit_log.tamper().get_mut(&ids[1]).unwrap().actor_id = "usr_2".into();
    let found = log.verify(Damage::default()).await.unwrap();
    let problem = MacProblem::Wrong;
    let forged = Finding::Unauthenticated { sequence: None, id: ids[1].clone(), problem };
    assert_eq!(found.findings, [Finding::DeletedUnsealed { id: ids[0].clone() }, forged]);
    assert_eq!((found.waiting, found.macs), (3, 701));
}

#[tokio::test]
async fn hashes_of_larger_subtrees_are_verified() {
    let mut world = World::new();
    world.append(65_600).await;
    while world.seal().await > 0 {}
    let mut log = Log(world);
    let none = Damage::default();
    let found = log.verify(none).await.unwrap();
    assert_eq!((found.entries, found.findings), (65_600, vec![]));
    let changed = Damage {
        hashes: |level, hashes| {
            for (_, hash) in hashes.iter_mut().filter(|_| level == 2) {
                *hash = [0; 32];
            }
        },
        ..none
    };
    assert_eq!(log.verify(changed).await.unwrap().findings, [Finding::Altered { from: 0, to: 65_536 }]);
}
