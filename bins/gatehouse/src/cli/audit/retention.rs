//! How long entries are kept, and the removal of those whose time is over.

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
        report::{Report, Result},
    },
    config::Settings,
};

/// Milliseconds of a day.
const DAY: i64 = 24 * 60 * 60 * 1000;
/// Findings that a refusal names.
const NAMED: usize = 5;

const NO_KEY: StoreError = StoreError::Aborted("there is no key to sign with: set GATEHOUSE_MASTER_KEY");
const NOT_LATER: StoreError = StoreError::Aborted(
    "the clock says that it is not later than the retention that was set last: set it right first",
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
        None => format!("entries of {} are kept for ever", tenant.slug),
        Some(days) => format!(
            "entries of {} are kept for {days} days; gatehouse audit drop drops older ones",
            tenant.slug
        ),
    };
    Ok(Report::new(json!({ "days": days }), said))
}

/// The keys that verify a log before something of it is removed.
struct Keys<'k> {
    checkpoints: &'k [CheckpointKey],
    entries: &'k EntryKeys,
    retired: &'k [String],
}

/// What may be removed.
struct RetentionPlan {
    days: u32,
    /// The first place that no removal before has removed.
    from: u64,
    old: Option<Removable>,
}

/// Declares first what is dropped, in the log and signed; then removes it piece by piece. What a run before has left is
/// removed too. Nothing is removed from a log that is not what was sealed: the rest would prove less.
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
    let plan = office.store.at_one_moment(tenant.id.clone(), look).await?;
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
    let said = format!("{removed} entries of {} dropped; the log begins at {before}", tenant.slug);
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

/// What may be removed, or why nothing may be: seen at one moment.
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
        "the log of {slug} is not what was sealed, and nothing is dropped from it; {count} findings (gatehouse audit verify \
         names them): {}",
        named.join("; ")
    )
}

/// Days that entries are kept, as a signed statement says. A database that says something else was changed.
async fn signed_retention(tx: &mut Tx, tenant: &Tenant, keys: &Keys<'_>) -> Result<u32> {
    let (id, slug) = (tenant.id.as_str(), &tenant.slug);
    let days = tx.audit_days().await?;
    let notes = tx.statements(Retention::KIND).await?;
    let newest_number = notes.last().map(|(number, _)| *number);
    let settings = RetentionSettings::read(notes, id, keys.checkpoints);
    let entry = tx.newest_of_action(AuditRetentionChanged::CODE).await?;
    let refusal = if newest_number.is_none() {
        match days {
            None => format!("entries of {slug} are kept for ever: say gatehouse audit retain first"),
            Some(_) => format!(
                "the retention of {slug} is not signed: look whether it is right, and say gatehouse audit retain again"
            ),
        }
    } else if settings.unsigned().last() == newest_number.as_ref() {
        format!(
            "the retention of {slug}: no known key has signed it; look whether it is right, and say gatehouse audit retain again"
        )
    } else if let Some(number) = settings.misplaced().first() {
        format!(
            "the retention of {slug}: retention setting {number} is older than one before it, so somebody has brought it back; \
             nothing is dropped while it is there"
        )
    } else {
        match settings.newest() {
            None => format!("entries of {slug} are kept for ever: say gatehouse audit retain first"),
            Some(stated) => return Ok(in_force(tenant, stated, days, entry.as_ref(), keys.entries)?),
        }
    };
    Err(refusal.into())
}

/// The days of the newest statement, unless the log or the database says otherwise.
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
            "the retention of {slug}: {} says that it was changed, and its MAC does not prove who wrote that; nothing is \
             dropped while it is there",
            forged.id
        ));
    }
    if let Some(newer) = entry.filter(|entry| entry.timestamp > stated.at) {
        return Err(format!(
            "the retention of {slug} was set at {}, and the statement that says so is gone: nothing is dropped before \
             gatehouse audit retain has said it again",
            newer.timestamp
        ));
    }
    if stated.days != days {
        return Err(format!(
            "the retention of {slug} was changed in the database: it is {days:?} days there, and {:?} were set at {}; \
             nothing is dropped before gatehouse audit retain has said it again",
            stated.days, stated.at
        ));
    }
    days.ok_or_else(|| format!("entries of {slug} are kept for ever: say gatehouse audit retain first"))
}
