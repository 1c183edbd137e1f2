//! `gatehouse token dry-run`

use gate::errors::Problem;
use serde_json::json;
use store::Tx;
use tokens::{ScimTokenError, ScimTokenId};

use crate::{
    api::{DryRunChange, dry_run_of},
    cli::{
        operator::Operator,
        report::{Columns, Report, Result, listing},
    },
};

/// Lists what a dry run would change.
pub(super) async fn show(office: &Operator, id: &ScimTokenId) -> Result<Report> {
    let owner = office.store.across(async |across| across.tenant_of_scim_token(id).await).await?;
    let Some(tenant) = owner else { return Err(ScimTokenError::NotFound.into()) };
    let (token, now) = (id.clone(), office.env.now());
    let read = async move |tx: &mut Tx| dry_run_of(tx, &token, now).await;
    let found = office.store.read(tenant, read).await;
    let dry_run = found.map_err(|problem: Problem| problem.message().to_owned())?;
    let json_of = |change: &DryRunChange| json!(change);
    let columns: &Columns<'_, DryRunChange> = &[
        ("ACTION", &|change| change.action.to_owned()),
        ("TYPE", &|change| change.resource_type.to_owned()),
        ("NAME", &|change| change.name.clone()),
        ("ATTRIBUTES", &|change| change.attributes.join(",")),
        ("MEMBERS", &|change| format!("+{} -{}", change.members_added, change.members_removed)),
        ("ID", &|change| change.id.clone()),
    ];
    let empty = "The dry run would change nothing.";
    let mut report = listing("changes", &dry_run.changes, json_of, columns, empty);
    report.json = json!(dry_run);
    if dry_run.exceeds_removal_limit {
        report.lines += "\nThese removals exceed the limit: Gatehouse would pause the token.";
    }
    Ok(report)
}
