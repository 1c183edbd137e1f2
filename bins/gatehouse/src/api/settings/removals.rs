//! `/api/settings/scim-tokens/{id}/removals`: removals of users that wait for a decision.

use actix_web::{get, post};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sign_in::removals::{Decision, Progress, apply_some, decide_to_apply, discard};
use store::Tx;
use tokens::{
    ScimTokenId,
    removals::{HeldRemoval, RemovalStore},
};
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    paging::{Page, PageQuery},
    permissions::{InPerson, ManageConnections},
    step_up::{ScimTokenMint, StepUp},
};

/// Number of users that are removed in one transaction.
const BATCH: u32 = 50;

/// A user whose removal is held.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HeldRemovalView {
    /// `usr_…`
    pub(crate) user_id: String,
    pub(crate) user_name: String,
    #[schema(required)]
    pub(crate) display_name: Option<String>,
    /// `DEACTIVATE` or `DELETE`.
    pub(crate) action: &'static str,
    /// The first request to remove the user; of a deletion, the first request to delete the user.
    #[schema(value_type = String, format = "date-time")]
    pub(crate) requested_at: Timestamp,
}

/// A page of the held removals of a SCIM token.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct HeldRemovalList {
    /// When the token's removals were paused; `null` if they are not.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    paused_at: Option<Timestamp>,
    /// Number of all held removals.
    total: u64,
    /// The time of this list, for the decision to apply it.
    #[schema(value_type = String, format = "date-time")]
    as_of: Timestamp,
    removals: Vec<HeldRemovalView>,
    /// Cursor of the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    next_cursor: Option<String>,
}

/// The decision to remove users.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ApplyBody {
    /// Removals that were requested later stay held: `asOf` of the list that you decide about.
    #[schema(value_type = String, format = "date-time")]
    until: Timestamp,
}

/// The users were removed.
#[derive(Serialize, ToSchema)]
struct AppliedRemovals {
    /// Number of users who were deactivated or deleted.
    removed: u64,
    /// Number of users who stay: you, administrators, and users with permissions that you lack.
    kept: u64,
}

/// The held removals were discarded.
#[derive(Serialize, ToSchema)]
struct DiscardedRemovals {
    /// Number of held removals.
    discarded: u64,
}

/// Returns these held removals with the names of the users, without users who were deleted since.
pub(crate) async fn with_names(tx: &mut Tx, held: Vec<HeldRemoval>) -> Result<Vec<HeldRemovalView>, Problem> {
    let ids: Vec<_> = held.iter().map(|removal| removal.user.clone()).collect();
    let people = tx.people_of(&ids).await?;
    let view = |removal: HeldRemoval| {
        let person = people.iter().find(|person| person.id == removal.user)?;
        Some(HeldRemovalView {
            user_id: person.id.to_string(),
            user_name: person.user_name.clone(),
            display_name: person.display_name.clone(),
            action: removal.kind.as_str(),
            requested_at: removal.at,
        })
    };
    Ok(held.into_iter().filter_map(view).collect())
}

/// List the held removals of a SCIM token
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    params(("id" = String, Path, description = "sct_…"), PageQuery),
    responses(
        (status = 200, description = "Users that the token asked to deactivate or delete while its removals were paused, by ID.", body = HeldRemovalList),
        (status = 400, description = "INVALID_CURSOR, or a malformed limit."),
        (status = 404, description = "The tenant has no active token with this ID."),
    )
)]
#[get("/api/settings/scim-tokens/{id}/removals")]
pub(crate) async fn list_removals(call: Call<ManageConnections>, query: Page) -> Answer {
    let id: ScimTokenId = call.id()?;
    let (keys, tenant) = (&call.site.pipeline.keys, call.tenant());
    let (after, limit) = (query.after(keys, tenant)?, query.limit());
    let find = async move |ctx: &Ctx, tx: &mut Tx| {
        let state = tx.removal_state(&id).await?.ok_or_else(Problem::not_found)?;
        let total = tx.count_held_removals(&id).await?;
        let count = u32::try_from(limit + 1).unwrap_or(u32::MAX);
        let held = tx.held_removals(&id, after.as_ref(), count).await?;
        Ok::<_, Problem>((state.paused_at, total, held, ctx.now))
    };
    let (paused_at, total, held, as_of) = call.read(find).await?;
    let (held, next_cursor) = query.cut(keys, tenant, held, |removal| removal.user.as_str());
    let removals = call.read(async move |_: &Ctx, tx: &mut Tx| with_names(tx, held).await).await?;
    Ok(answer(&HeldRemovalList { paused_at, total, as_of, removals, next_cursor }))
}

/// Remove the users whose removals are held
///
/// Deactivates and deletes the users, except administrators, users with permissions that you lack, and you. Ends the pause,
/// unless removals were requested after `until`. The removals so far no longer count. Takes a few seconds for 1,000 users. If
/// the request is interrupted, the remaining removals stay held. Requires a step-up (`SCIM_TOKEN_MINT`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "sct_…")),
    responses(
        (status = 200, description = "The users are removed.", body = AppliedRemovals),
        (status = 400, description = "`until` is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 404, description = "The tenant has no active token with this ID."),
        (status = 409, description = "CONFLICT with reason NOT_PAUSED."),
    )
)]
#[post("/api/settings/scim-tokens/{id}/removals/apply")]
pub(crate) async fn apply_removals(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<ScimTokenMint>,
    body: Json<ApplyBody>,
) -> Answer {
    let signed = call.caller();
    let by = Some((signed.session.user.clone(), signed.holder.roles.clone()));
    let decision = Decision { token: call.id()?, until: body.0.until, by };
    let decided = decision.clone();
    let decide = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let recorded = decide_to_apply(tx, &decided.token, decided.until).await?;
        Ok::<_, Problem>(recorded.after(consumed.events()?))
    };
    call.write(decide).await?;
    let mut progress = Progress::default();
    while !progress.is_done {
        let decision = decision.clone();
        let apply = async move |ctx: &Ctx, tx: &mut Tx| apply_some(ctx, tx, &decision, progress, BATCH).await;
        progress = call.write_large(apply).await?;
    }
    Ok(answer(&AppliedRemovals { removed: progress.removed, kept: progress.kept }))
}

/// Discard the held removals of a SCIM token
///
/// The users stay, and the pause ends. The next removal pauses the token again as long as its removals of the last hour
/// exceed the limit.
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "sct_…")),
    responses(
        (status = 200, description = "The removals are discarded.", body = DiscardedRemovals),
        (status = 404, description = "The tenant has no active token with this ID."),
        (status = 409, description = "CONFLICT with reason NOT_PAUSED."),
    )
)]
#[post("/api/settings/scim-tokens/{id}/removals/discard")]
pub(crate) async fn discard_removals(call: Call<InPerson<ManageConnections>>) -> Answer {
    let id: ScimTokenId = call.id()?;
    let work = async move |_: &Ctx, tx: &mut Tx| discard(tx, &id).await;
    let discarded = call.write(work).await?;
    Ok(answer(&DiscardedRemovals { discarded }))
}
