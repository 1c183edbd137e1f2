//! Retention: setting it, deciding which entries are past it, and declaring their removal.
//!
//! A purge has three steps, each in a unit of work of its own: [`plan_purge`] on a snapshot, [`declare_purge`], and
//! [`purge_some`] until nothing is left to remove. An interrupted purge continues with the last step.

use data_encoding::BASE64;
use kernel::{Ctx, StoreError, StoreResult, Timestamp};

use super::{
    checkpoint::{CheckpointKey, CheckpointKeys},
    finding::Finding,
    removal::{Removable, removable},
    report::counted,
    retention::RetentionSettings,
    statement::{Removal, Retention, Statement},
    verify::{VerifyKeys, verify},
};
use crate::{
    Audited, EntryKeys, Event, EventData, MacProblem, Unaudited,
    events::audit_log::{AuditAddressesErased, AuditEntriesDropped, AuditRetentionChanged},
    store::RetentionStore,
};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Findings that a refusal lists.
const NAMED: usize = 5;

const NO_KEY: StoreError = StoreError::Aborted("No key to sign with: set GATEHOUSE_MASTER_KEY");
const NOT_LATER: StoreError = StoreError::Aborted(
    "The clock is behind the time of the last retention setting: correct the clock first",
);

/// Why no entries are purged.
#[derive(Debug)]
pub enum PurgeRefusal {
    /// Entries are kept forever.
    NoRetention,
    /// No statement of the retention exists.
    NotStated,
    /// An unknown key has signed the newest statement.
    UnknownKey,
    /// This statement is not newer than the one before it: somebody restored it.
    Restored {
        /// Number of the statement.
        number: u64,
    },
    /// The newest entry about a change of the retention has no valid MAC.
    ForgedEntry {
        /// Id of the entry.
        id: String,
    },
    /// The statement of the newest change is missing.
    MissingStatement {
        /// Time of the change.
        at: Timestamp,
    },
    /// The database has another retention than the newest statement.
    Different {
        /// Days in the database.
        days: Option<u32>,
        /// The newest statement.
        stated: Retention,
    },
    /// MACs name master keys that are not known. Says which, and what to do.
    LacksKeys(String),
    /// The log was changed after it was sealed. Without the purged entries, the rest would prove less.
    Changed {
        /// Number of findings.
        count: usize,
        /// The first of them.
        findings: Vec<Finding>,
    },
    /// The database failed, or there is no key.
    Store(StoreError),
}

impl From<StoreError> for PurgeRefusal {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl PurgeRefusal {
    /// Explains the refusal to the operator, who knows the tenant by `name`.
    pub fn explain(&self, name: &str) -> String {
        match self {
            Self::NoRetention => {
                format!("Entries of {name} are kept forever. Set a retention first: gatehouse audit retain")
            }
            Self::NotStated => format!(
                "The retention of {name} is not signed. Check it and set it again: gatehouse audit retain"
            ),
            Self::UnknownKey => format!(
                "The retention of {name} is signed by an unknown key. Check it and set it again: gatehouse audit retain"
            ),
            Self::Restored { number } => format!(
                "The retention of {name}: setting {number} is older than the one before it, so somebody restored it. \
                 Nothing is purged while it exists."
            ),
            Self::ForgedEntry { id } => format!(
                "The retention of {name}: entry {id} records a change but has no valid MAC. If you retired its key, \
                 repeat the command with --retired-key. Otherwise nothing is purged while the entry exists."
            ),
            Self::MissingStatement { at } => format!(
                "The retention of {name} was set at {at}, but its signed statement is missing. Set it again: gatehouse \
                 audit retain"
            ),
            Self::Different { days, stated } => format!(
                "The retention of {name} was changed in the database to {}; {} was set at {}. Set it again: gatehouse \
                 audit retain",
                in_words(*days),
                in_words(stated.days),
                stated.at
            ),
            Self::Changed { count, findings } => {
                let named: Vec<_> = findings.iter().take(NAMED).map(ToString::to_string).collect();
                format!(
                    "The log of {name} was changed after it was sealed, so nothing is purged. {} (list them with \
                     gatehouse audit verify): {}",
                    counted(*count as u64, "finding", "findings"),
                    named.join("; ")
                )
            }
            Self::LacksKeys(missing) => format!("Nothing is purged from the log of {name}: {missing}"),
            Self::Store(error) => error.to_string(),
        }
    }
}

fn in_words(days: Option<u32>) -> String {
    days.map_or_else(|| "forever".to_owned(), |days| counted(days.into(), "day", "days"))
}

/// Sets how many days the tenant's entries are kept; `None` keeps them forever. The setting is signed, so that a
/// change in the database alone has no effect.
pub async fn set_retention<S: RetentionStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    keys: &CheckpointKeys,
    days: Option<u32>,
) -> StoreResult<Audited<()>> {
    let id = ctx.tenant.as_str();
    let stated = RetentionSettings::read(store.statements(Retention::KIND).await?, id, &keys.of(id));
    if store.retention_days().await? == days && stated.newest().is_some_and(|stated| stated.days == days) {
        return Ok(Audited::without((), Unaudited::NothingChanged));
    }
    if stated.newest().is_some_and(|stated| stated.at >= ctx.now) {
        return Err(NOT_LATER);
    }
    let retention = Retention { days, at: ctx.now };
    let note = retention.sign(id, keys).ok_or(NO_KEY)?;
    store.set_retention(&retention, &note).await?;
    Ok(Audited::new((), Event::new(id, &AuditRetentionChanged { days })))
}

/// The entries that may be purged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PurgePlan {
    /// The retention in days.
    pub days: u32,
    /// The first position that no earlier purge removed.
    pub from: u64,
    /// The entries past their retention; `None` if there are none.
    pub old: Option<Removable>,
}

impl PurgePlan {
    /// Returns the first position that remains.
    pub fn before(&self) -> u64 {
        self.old.map_or(self.from, |old| old.before)
    }
}

/// Decides which entries may be purged, from one snapshot. It verifies the log with `keys`, which must include those
/// of the entries.
pub async fn plan_purge<S: RetentionStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: VerifyKeys<'_>,
    now: Timestamp,
) -> Result<PurgePlan, PurgeRefusal> {
    let entries = keys.entries.filter(|entries| !entries.is_empty()).ok_or(NO_KEY)?;
    let days = stated_retention(store, tenant, keys, entries).await?;
    let found = verify(store, tenant, keys, Vec::new()).await?;
    if found.lacks_only_keys() {
        return Err(PurgeRefusal::LacksKeys(found.explain_missing_keys()));
    }
    if found.count > 0 {
        return Err(PurgeRefusal::Changed { count: found.count, findings: found.findings });
    }
    let time = now.plus_millis(-i64::from(days) * DAY);
    let old = removable(store, tenant, keys.checkpoints, found.dropped, time).await?;
    Ok(PurgePlan { days, from: found.dropped, old })
}

/// Returns the days of the newest signed setting. Refuses if the database or the log disagrees with it.
async fn stated_retention<S: RetentionStore + ?Sized>(
    store: &mut S,
    tenant: &str,
    keys: VerifyKeys<'_>,
    entries: &EntryKeys,
) -> Result<u32, PurgeRefusal> {
    let days = store.retention_days().await?;
    let notes = store.statements(Retention::KIND).await?;
    let newest_number = notes.last().map(|(number, _)| *number);
    let settings = RetentionSettings::read(notes, tenant, keys.checkpoints);
    let entry = store.newest_of_action(AuditRetentionChanged::CODE).await?;
    if newest_number.is_none() {
        return Err(days.map_or(PurgeRefusal::NoRetention, |_| PurgeRefusal::NotStated));
    }
    if settings.unsigned().last() == newest_number.as_ref() {
        return Err(PurgeRefusal::UnknownKey);
    }
    if let Some(&number) = settings.misplaced().first() {
        return Err(PurgeRefusal::Restored { number });
    }
    let stated = settings.newest().ok_or(PurgeRefusal::NoRetention)?;
    if let Some(entry) = entry {
        let leaf = entry.content_leaf(tenant).unwrap_or_default();
        let verified = entries.verify(tenant, &entry.id, &leaf, entry.mac.as_ref());
        // With a retired key, only the comparison with the signed log remains, which follows.
        let is_retired = entry.mac.as_ref().is_some_and(|mac| keys.retired.contains(&mac.key));
        if verified.is_err() && !(is_retired && verified == Err(MacProblem::UnknownKey)) {
            return Err(PurgeRefusal::ForgedEntry { id: entry.id });
        }
        if entry.timestamp > stated.at {
            return Err(PurgeRefusal::MissingStatement { at: entry.timestamp });
        }
    }
    if stated.days != days {
        return Err(PurgeRefusal::Different { days, stated: stated.clone() });
    }
    days.ok_or(PurgeRefusal::NoRetention)
}

/// Records and signs what will be purged.
pub async fn declare_purge<S: RetentionStore + ?Sized>(
    ctx: &Ctx,
    store: &mut S,
    keys: &CheckpointKeys,
    plan: PurgePlan,
) -> StoreResult<Audited<()>> {
    let PurgePlan { days, from, old: Some(Removable { before, newest, root }) } = plan else {
        return Ok(Audited::without((), Unaudited::NothingChanged));
    };
    let removal = Removal { from, before, root: BASE64.encode(&root), newest, days, at: ctx.now };
    let note = removal.sign(ctx.tenant.as_str(), keys).ok_or(NO_KEY)?;
    store.declare_removal(&removal, &note).await?;
    let data = AuditEntriesDropped { from_sequence: from, before_sequence: before };
    Ok(Audited::new((), Event::new(ctx.tenant.as_str(), &data)))
}

/// Removes some of the declared entries and returns how many; 0 when none are left.
pub async fn purge_some<S: RetentionStore + ?Sized>(
    store: &mut S,
    keys: &[CheckpointKey],
) -> StoreResult<Audited<u64>> {
    Ok(Audited::without(store.remove_declared(keys).await?, Unaudited::Announced))
}

/// Erases the addresses from some of a user's entries and returns from how many; 0 when none are left.
pub async fn erase_some_addresses<S: RetentionStore + ?Sized>(
    store: &mut S,
    user: &str,
) -> StoreResult<Audited<u64>> {
    Ok(match store.erase_addresses(user).await? {
        0 => Audited::without(0, Unaudited::NothingChanged),
        entries => Audited::new(entries, Event::new(user, &AuditAddressesErased { entries })),
    })
}
