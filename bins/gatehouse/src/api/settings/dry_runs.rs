//! `/api/settings/scim-tokens/{id}/dry-run`: what the requests of a SCIM token would change.

use actix_web::get;
use kernel::{Ctx, Timestamp};
use scim_core::{Action, Difference, ResourceKind};
use serde::Serialize;
use store::Tx;
use tokens::{ScimToken, ScimTokenId, ScimTokenStore, removals::RemovalStore};
use utoipa::ToSchema;

use crate::api::{Answer, Call, MAX_CHANGES};
use gate::{body::answer, errors::Problem, permissions::ManageConnections};

/// A user or group that would change.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DryRunChange {
    /// `User` or `Group`.
    pub(crate) resource_type: &'static str,
    /// ID of the resource; of a new one, the ID that the dry run has answered.
    pub(crate) id: String,
    /// The `userName` or `displayName`.
    pub(crate) name: String,
    /// `CREATE`, `UPDATE`, `DEACTIVATE`, `REACTIVATE` or `DELETE`.
    pub(crate) action: &'static str,
    /// Names of the attributes that would change, except `active` and `members`.
    pub(crate) attributes: Vec<String>,
    /// Number of users who would become members of the group.
    pub(crate) members_added: usize,
    /// Number of users who would no longer be members of the group, except deleted users.
    pub(crate) members_removed: usize,
}

impl From<Difference> for DryRunChange {
    fn from(difference: Difference) -> Self {
        Self {
            resource_type: match difference.kind {
                ResourceKind::User => "User",
                ResourceKind::Group => "Group",
            },
            action: match difference.action {
                Action::Create => "CREATE",
                Action::Update => "UPDATE",
                Action::Deactivate => "DEACTIVATE",
                Action::Reactivate => "REACTIVATE",
                Action::Delete => "DELETE",
            },
            id: difference.id,
            name: difference.name,
            attributes: difference.attributes,
            members_added: difference.joined,
            members_removed: difference.left,
        }
    }
}

/// What the requests of a SCIM token would change.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DryRun {
    /// Number of users and groups that would be created.
    pub(crate) created: usize,
    /// Number of users and groups of which attributes or members would change.
    pub(crate) updated: usize,
    /// Number of users who would be reactivated.
    pub(crate) reactivated: usize,
    /// Number of users who would be deactivated.
    pub(crate) deactivated: usize,
    /// Number of users and groups that would be deleted.
    pub(crate) deleted: usize,
    /// Whether so many users would be deactivated or deleted that the removals of the token would be paused, if it sends
    /// its requests within an hour.
    pub(crate) exceeds_removal_limit: bool,
    /// Whether the dry run has the maximum number of changes and accepts no more.
    pub(crate) is_full: bool,
    /// Each user and group that would change: deletions first, then deactivations, reactivations, creations and updates.
    pub(crate) changes: Vec<DryRunChange>,
}

/// Returns what the dry run of a token would change. Fails with 404 unless the token is an active one for dry runs.
pub(crate) async fn dry_run_of(tx: &mut Tx, token: &ScimTokenId, now: Timestamp) -> Result<DryRun, Problem> {
    let is_dry_run = |token: &ScimToken| token.dry_run && token.revoked_at.is_none();
    if !tx.scim_token(token).await?.as_ref().is_some_and(is_dry_run) {
        return Err(Problem::not_found());
    }
    let changes = tx.dry_run(token).await?;
    let mut differences = changes.differences(tx).await?;
    differences.sort_by_key(|difference| difference.action);
    let count = |action: Action| differences.iter().filter(|one| one.action == action).count();
    let is_removal = |one: &&Difference| {
        one.kind == ResourceKind::User && matches!(one.action, Action::Delete | Action::Deactivate)
    };
    let removed = differences.iter().filter(is_removal).count() as u64;
    let limit = tx.removal_limit().await?;
    let exceeds = limit.enabled && limit.is_exceeded(removed, tx.count_active_users(now).await?);
    Ok(DryRun {
        created: count(Action::Create),
        updated: count(Action::Update),
        reactivated: count(Action::Reactivate),
        deactivated: count(Action::Deactivate),
        deleted: count(Action::Delete),
        exceeds_removal_limit: exceeds,
        is_full: changes.len() >= MAX_CHANGES,
        changes: differences.into_iter().map(DryRunChange::from).collect(),
    })
}

/// Get the result of a dry run
///
/// The users and groups that would be different if the requests of the token had been made, compared with those of now.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(("id" = String, Path, description = "sct_…")),
    responses(
        (status = 200, description = "The changes, at most 1,000.", body = DryRun),
        (status = 404, description = "The tenant has no active token for dry runs with this ID."),
    )
)]
#[get("/api/settings/scim-tokens/{id}/dry-run")]
pub(crate) async fn get_dry_run(call: Call<ManageConnections>) -> Answer {
    let id: ScimTokenId = call.id()?;
    let find = async move |ctx: &Ctx, tx: &mut Tx| dry_run_of(tx, &id, ctx.now).await;
    Ok(answer(&call.scan(find).await?))
}
