//! Retention of audit entries, and purging of entries past it.

use audit::{
    Audited, EntryKeys, Event, EventData, StoredEntry, Unaudited,
    events::audit_log::{AuditEntriesDropped, AuditRetentionChanged},
    log::{
        CheckpointKey, CheckpointKeys, Finding, Removable, Removal, Retention, RetentionSettings, Statement,
        VerifyKeys, VerifyStore, removable, verify,
    },
};
use data_encoding::BASE64;
use directory::Tenant;
use kernel::{Ctx, StoreError, Timestamp};
use serde_json::json;
use store::Tx;

use super::keys::own;
use crate::{
    cli::{
        operator::Operator,
        report::{Report, Result, counted},
    },
    config::Settings,
};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Findings that an error message lists.
const NAMED: usize = 5;

const NO_KEY: StoreError = StoreError::Aborted("No key to sign with: set GATEHOUSE_MASTER_KEY");
const NOT_LATER: StoreError = StoreError::Aborted(
    "The clock is behind the time of the last retention setting: correct the clock first",
);

pub(crate) async fn retain(
    tenant: &str,
    days: Option<u32>,
    settings: &Settings,
    office: &Operator,
) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let keys = own(settings);
    let set = async move |ctx: &Ctx, tx: &mut Tx| {
        let id = ctx.tenant.as_str();
        let stated = RetentionSettings::read(tx.statements(Retention::KIND).await?, id, &keys.of(id));
        if tx.audit_days().await? == days && stated.newest().is_some_and(|stated| stated.days == days) {
            return Ok::<_, StoreError>(Audited::without((), Unaudited::NothingChanged));
        }
        if stated.newest().is_some_and(|stated| stated.at >= ctx.now) {
            return Err(NOT_LATER);
        }
        let retention = Retention { days, at: ctx.now };
        let note = retention.sign(id, &keys).ok_or(NO_KEY)?;
        tx.set_retention(&retention, &note).await?;
        Ok(Audited::new((), Event::new(id, &AuditRetentionChanged { days })))
    };
    office.write(&tenant.id, set).await?;
    let said = match days {
        None => format!("Entries of {} are kept forever", tenant.slug),
        Some(days) => format!(
            "Entries of {} are kept for {}. Purge older ones with gatehouse audit purge",
            tenant.slug,
            counted(days, "day", "days")
        ),
    };
    Ok(Report::new(json!({ "days": days }), said))
}

/// Keys that verify a log before entries are purged.
struct Keys<'k> {
    checkpoints: &'k [CheckpointKey],
    entries: &'k EntryKeys,
    retired: &'k [String],
}

/// Entries that may be purged.
struct RetentionPlan {
    days: u32,
    /// First position that no earlier purge removed.
    from: u64,
    old: Option<Removable>,
}

/// Records and signs what will be purged, then removes it in batches. Also removes what an interrupted run left. Purges
/// nothing from a log that was changed after sealing, because the rest would prove less.
pub(crate) async fn purge_old(
    tenant: &str,
    retired: &[String],
    settings: &Settings,
    office: &Operator,
) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let signing = own(settings);
    let (checkpoints, entries) = (signing.of(tenant.id.as_str()), EntryKeys::derive(&settings.master_keys()));
    if entries.is_empty() {
        return Err(NO_KEY.to_string().into());
    }
    let keys = Keys { checkpoints: &checkpoints, entries: &entries, retired };
    let now = office.env.now();
    let look = async |tx: &mut Tx| plan(tx, &tenant, &keys, now).await;
    let plan = office.store.on_snapshot(tenant.id.clone(), look).await?;
    if let Some(old) = plan.old {
        declare(&tenant, plan.from, old, plan.days, signing, office).await?;
    }
    let before = plan.old.map_or(plan.from, |old| old.before);
    let mut removed = 0;
    loop {
        let keys = checkpoints.clone();
        let remove = async move |_: &Ctx, tx: &mut Tx| {
            Ok::<_, StoreError>(Audited::without(tx.remove_dropped(&keys).await?, Unaudited::Announced))
        };
        match office.write(&tenant.id, remove).await? {
            0 => break,
            some => removed += some,
        }
    }
    let entries = counted(removed, "entry", "entries");
    let said = format!("Purged {entries} of {}. The log begins at {before}", tenant.slug);
    Ok(Report::new(json!({ "dropped": removed, "beforeSequence": before }), said))
}

async fn declare(
    tenant: &Tenant,
    from: u64,
    old: Removable,
    days: u32,
    signing: CheckpointKeys,
    office: &Operator,
) -> Result<()> {
    let declare = async move |ctx: &Ctx, tx: &mut Tx| {
        let root = BASE64.encode(&old.root);
        let removal = Removal { from, before: old.before, root, newest: old.newest, days, at: ctx.now };
        let note = removal.sign(ctx.tenant.as_str(), &signing).ok_or(NO_KEY)?;
        tx.declare_dropped(&removal, &note).await?;
        let data = AuditEntriesDropped { from_sequence: from, before_sequence: old.before };
        Ok::<_, StoreError>(Audited::new((), Event::new(ctx.tenant.as_str(), &data)))
    };
    Ok(office.write(&tenant.id, declare).await?)
}

/// Decides in one snapshot which entries may be purged.
async fn plan(tx: &mut Tx, tenant: &Tenant, keys: &Keys<'_>, now: Timestamp) -> Result<RetentionPlan> {
    let id = tenant.id.as_str();
    let days = signed_retention(tx, tenant, keys).await?;
    let with =
        VerifyKeys { checkpoints: keys.checkpoints, entries: Some(keys.entries), retired: keys.retired };
    let found = verify(tx, id, with, Vec::new()).await?;
    if found.count > 0 {
        return Err(not_what_was_sealed(&tenant.slug, found.count, &found.findings).into());
    }
    let time = now.plus_millis(-i64::from(days) * DAY);
    let old = removable(tx, id, keys.checkpoints, found.dropped, time).await?;
    Ok(RetentionPlan { days, from: found.dropped, old })
}

fn not_what_was_sealed(slug: &str, count: usize, findings: &[Finding]) -> String {
    let named: Vec<_> = findings.iter().take(NAMED).map(ToString::to_string).collect();
    format!(
        "The log of {slug} was changed after it was sealed, so nothing is purged. {} (list them with \
         gatehouse audit verify): {}",
        counted(count, "finding", "findings"),
        named.join("; ")
    )
}

/// Returns the retention in days from the newest signed statement. Fails if the database disagrees with it.
async fn signed_retention(tx: &mut Tx, tenant: &Tenant, keys: &Keys<'_>) -> Result<u32> {
    let (id, slug) = (tenant.id.as_str(), &tenant.slug);
    let days = tx.audit_days().await?;
    let notes = tx.statements(Retention::KIND).await?;
    let newest_number = notes.last().map(|(number, _)| *number);
    let settings = RetentionSettings::read(notes, id, keys.checkpoints);
    let entry = tx.newest_of_action(AuditRetentionChanged::CODE).await?;
    let refusal = if newest_number.is_none() {
        match days {
            None => no_retention(slug),
            Some(_) => format!(
                "The retention of {slug} is not signed. Check it and set it again: gatehouse audit retain"
            ),
        }
    } else if settings.unsigned().last() == newest_number.as_ref() {
        format!(
            "The retention of {slug} is signed by an unknown key. Check it and set it again: gatehouse audit retain"
        )
    } else if let Some(number) = settings.misplaced().first() {
        format!(
            "The retention of {slug}: setting {number} is older than the one before it, so somebody restored it. Nothing is \
             purged while it exists."
        )
    } else {
        match settings.newest() {
            None => no_retention(slug),
            Some(stated) => return Ok(in_force(tenant, stated, days, entry.as_ref(), keys.entries)?),
        }
    };
    Err(refusal.into())
}

/// Returns the days of the newest statement. Fails if the log or the database disagrees.
fn in_force(
    tenant: &Tenant,
    stated: &Retention,
    days: Option<u32>,
    entry: Option<&StoredEntry>,
    entries: &EntryKeys,
) -> std::result::Result<u32, String> {
    let (id, slug) = (tenant.id.as_str(), &tenant.slug);
    let is_authentic = |entry: &StoredEntry| {
        let leaf = entry.content_leaf(id);
        leaf.is_some_and(|leaf| entries.verify(id, &entry.id, &leaf, entry.mac.as_ref()).is_ok())
    };
    if let Some(forged) = entry.filter(|entry| !is_authentic(entry)) {
        return Err(format!(
            "The retention of {slug}: entry {} records a change but has no valid MAC. Nothing is purged while it exists.",
            forged.id
        ));
    }
    if let Some(newer) = entry.filter(|entry| entry.timestamp > stated.at) {
        return Err(format!(
            "The retention of {slug} was set at {}, but its signed statement is missing. Set it again: gatehouse audit \
             retain",
            newer.timestamp
        ));
    }
    if stated.days != days {
        return Err(format!(
            "The retention of {slug} was changed in the database to {}; {} was set at {}. Set it again: gatehouse audit retain",
            in_words(days),
            in_words(stated.days),
            stated.at
        ));
    }
    days.ok_or_else(|| no_retention(slug))
}

fn in_words(days: Option<u32>) -> String {
    days.map_or_else(|| "forever".to_owned(), |days| counted(days, "day", "days"))
}

fn no_retention(slug: &str) -> String {
    format!("Entries of {slug} are kept forever. Set a retention first: gatehouse audit retain")
}
