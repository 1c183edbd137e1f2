//! `/api/me/tokens`: personal access tokens.

use actix_web::{delete, get, post};
use audit::Audited;
use credentials::SignInPolicy;
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::ip_prefix;
use sign_in::pats;
use store::{Holder, Tx};
use tokens::{Pat, PatId, PatStore, Scope, pat::NewPat};
use utoipa::ToSchema;

use super::{
    factors::Deleted,
    locked::{check_recent, lock},
};
use crate::api::{Answer, Call, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::OwnAccount,
    step_up::{ConsumedStepUp, OptionalStepUp, PatMintAdmin},
};

/// A personal access token.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownPat)]
pub(crate) struct PatView {
    /// `ptk_…`
    id: String,
    name: String,
    /// Scopes.
    #[schema(value_type = Vec<values::TokenScope>)]
    scopes: Vec<&'static str>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = "date-time")]
    expires_at: Option<Timestamp>,
    /// Precise to the minute.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    last_used_at: Option<Timestamp>,
    /// The /24 or /48 of its last use.
    #[schema(required)]
    last_used_ip_prefix: Option<String>,
    /// `pat_…`. Only in the response to its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<String>,
}

impl PatView {
    pub(crate) fn of(pat: &Pat, token: Option<String>) -> Self {
        Self {
            id: pat.id.to_string(),
            name: pat.name.clone(),
            scopes: pat.scopes.iter().map(|scope| scope.as_str()).collect(),
            created_at: pat.created_at,
            expires_at: pat.expires_at,
            last_used_at: pat.last_used_at,
            last_used_ip_prefix: pat.last_used_ip.map(ip_prefix),
            token,
        }
    }
}

/// A user's tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct PatList {
    /// Active tokens, newest first.
    tokens: Vec<PatView>,
}

impl PatList {
    /// Returns the active tokens under the tenant's policy, with the scopes and lifetimes that it allows.
    pub(crate) fn of(found: Vec<Pat>, policy: &SignInPolicy, now: Timestamp) -> Self {
        let limits = store::pat_limits(policy);
        let allowed = found.into_iter().map(|pat| pat.within(&limits));
        let tokens = allowed.filter(|pat| pat.is_live(now)).map(|pat| PatView::of(&pat, None)).collect();
        Self { tokens }
    }
}

/// The token to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PatBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    name: String,
    /// `read:profile`, `write:profile`, `read:hcm`, `write:hcm`, `admin:tenant`.
    #[schema(value_type = Vec<values::TokenScope>, min_items = 1)]
    scopes: Vec<Scope>,
    /// 1 to 366, or the maximum of the sign-in policy. If omitted, the policy's maximum, or no expiry.
    #[schema(minimum = 1, maximum = 366)]
    expires_in_days: Option<i64>,
}

/// List your personal access tokens
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "All active ones.", body = PatList))
)]
#[get("/api/me/tokens")]
pub(crate) async fn list_tokens(call: Call<OwnAccount>) -> Answer {
    let user = call.caller().session.user.clone();
    let now = call.ctx().now;
    let found = call.read(async move |_: &Ctx, tx: &mut Tx| tx.pats_of(&user).await).await?;
    Ok(answer(&PatList::of(found, &call.caller().holder.policy, now)))
}

/// Create a personal access token
///
/// The response contains the token; it is not shown again. A scope that writes requires a sign-in or step-up in this
/// session within the last ten minutes. `admin:tenant` is for administrators and requires a step-up
/// (`PAT_MINT_ADMIN`). The sign-in policy can limit scopes and lifetime.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The token, shown once.", body = PatView),
        (status = 400, description = "A field is malformed, or the sign-in policy does not allow a scope or the lifetime."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate; REAUTH_REQUIRED for a scope that writes, and for all in a session bound to a device."),
        (status = 403, description = "ROLE_REQUIRED: only administrators can use `admin:tenant`."),
        (status = 409, description = "The user has too many tokens."),
    )
)]
#[post("/api/me/tokens")]
pub(crate) async fn create_token(
    call: Call<OwnAccount>,
    proof: OptionalStepUp<PatMintAdmin>,
    body: Json<PatBody>,
) -> Answer {
    let PatBody { name, scopes, expires_in_days } = body.0;
    let new = NewPat { name, scopes, expires_in_days };
    new.check()?;
    let guarded = new.is_administrative();
    if guarded {
        check_permissions(&call.caller().holder)?;
        proof.require()?;
    }
    let signed = call.caller().clone();
    // A copied cookie of a bound session is useful for minutes, a token for much longer.
    let is_bound = call.site.pipeline.device_bound_sessions && signed.session.device.is_some();
    let needs_proof = new.writes() || is_bound;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        // Lock the account, so that concurrent requests cannot exceed the maximum number of tokens.
        let (held, session) = lock(tx, &signed).await?;
        let spending = if guarded { proof.consume(ctx, tx).await? } else { ConsumedStepUp::none() };
        if needs_proof && !guarded {
            check_recent(ctx, tx, &session).await?;
        }
        let new = new.within(&store::pat_limits(&held.policy))?;
        let (pat, raw, event) = pats::mint(ctx, tx, &held.person.id, new).await?;
        let mut events = spending.events()?;
        events.push(event);
        Ok::<_, Problem>(Audited::of_changes((pat, raw), events))
    };
    let (pat, raw) = call.write(work).await?;
    Ok(answer(&PatView::of(&pat, Some(raw.expose().to_owned()))))
}

fn check_permissions(holder: &Holder) -> Result<(), Problem> {
    if holder.roles.permissions.is_empty() {
        return Err(Problem::forbidden(
            "ROLE_REQUIRED",
            "the scope admin:tenant requires a role with permissions for the settings",
        ));
    }
    Ok(())
}

/// Revoke one of your personal access tokens
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "ptk_…")),
    responses(
        (status = 200, description = "Revoked.", body = Deleted),
        (status = 404, description = "You have no active token with this ID."),
    )
)]
#[delete("/api/me/tokens/{id}")]
pub(crate) async fn revoke_token(call: Call<OwnAccount>) -> Answer {
    let id: PatId = call.id()?;
    let user = call.caller().session.user.clone();
    call.write(async move |ctx: &Ctx, tx: &mut Tx| pats::revoke(ctx, tx, &user, &id).await).await?;
    Ok(answer(&Deleted { deleted: true }))
}
