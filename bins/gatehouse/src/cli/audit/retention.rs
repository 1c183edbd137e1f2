//! Retention of audit entries: `gatehouse audit retain`, `purge` and `erase`.

use audit::{
    EntryKeys,
    log::{self, VerifyKeys},
};
use kernel::{Ctx, UserId};
use serde_json::json;
use store::Tx;

use super::verify::own_keys;
use crate::{
    cli::{
        operator::Operator,
        report::{Report, Result, counted},
    },
    config::Settings,
};

pub(super) async fn retain(
    tenant: &str,
    days: Option<u32>,
    settings: &Settings,
    office: &Operator,
) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let keys = own_keys(settings);
    let set = async move |ctx: &Ctx, tx: &mut Tx| log::set_retention(ctx, tx, &keys, days).await;
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

/// Declares what will be purged, then removes it in batches. Also removes what an interrupted run left.
pub(super) async fn purge(
    tenant: &str,
    retired: &[String],
    settings: &Settings,
    office: &Operator,
) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let signing = own_keys(settings);
    let (checkpoints, entries) = (signing.of(tenant.id.as_str()), EntryKeys::derive(&settings.master_keys()));
    let keys = VerifyKeys { checkpoints: &checkpoints, entries: Some(&entries), retired };
    let now = office.env.now();
    let look = async |tx: &mut Tx| log::plan_purge(tx, tenant.id.as_str(), keys, now).await;
    let plan = office.store.on_snapshot(tenant.id.clone(), look).await;
    let plan = plan.map_err(|refusal| refusal.explain(&tenant.slug))?;
    let declare = async move |ctx: &Ctx, tx: &mut Tx| log::declare_purge(ctx, tx, &signing, plan).await;
    office.write(&tenant.id, declare).await?;
    let remove = async move |_: &Ctx, tx: &mut Tx| log::purge_some(tx, &checkpoints).await;
    let removed = office.write_until_done(&tenant.id, remove).await?;
    let (entries, before) = (counted(removed, "entry", "entries"), plan.before());
    let said = format!("Purged {entries} of {}. The log begins at {before}", tenant.slug);
    Ok(Report::new(json!({ "dropped": removed, "beforeSequence": before }), said))
}

pub(super) async fn erase(tenant: &str, user: UserId, office: &Operator) -> Result<Report> {
    let tenant = office.tenant(tenant).await?;
    let erase = async move |_: &Ctx, tx: &mut Tx| log::erase_some_addresses(tx, user.as_str()).await;
    let erased = office.write_until_done(&tenant.id, erase).await?;
    let entries = counted(erased, "entry", "entries");
    let said = format!("Erased the IP addresses of {entries} of {}", tenant.slug);
    Ok(Report::new(json!({ "erased": erased }), said))
}
