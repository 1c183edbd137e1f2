//! `/api/me/tokens`: personal access tokens.

use actix_web::{HttpResponse, delete, get, post, web};
use audit::{
    Audited, Event,
    events::pats::{PatCreated, PatRevoked},
};
use credentials::SignInPolicy;
use directory::Role;
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::ip_prefix;
use store::{Holder, Tx};
use tokens::{Pat, PatId, PatStore, Scope, pat::NewPat};
use utoipa::ToSchema;

use super::{
    factors::Deleted,
    locked::{check_recent, lock},
};
use crate::api::openapi::values;
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::OwnAccount,
    step_up::{ConsumedStepUp, IfAsked, PatMintAdmin},
};

/// A personal access token as its person is shown it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownPat {
    /// `ptk_…`
    id: String,
    name: String,
    /// What it may be used for.
    #[schema(value_type = Vec<values::TokenScope>)]
    scopes: Vec<&'static str>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = "date-time")]
    expires_at: Option<Timestamp>,
    /// To the minute.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    last_used_at: Option<Timestamp>,
    /// The /24 or /48 that it was last used from.
    #[schema(required)]
    last_used_ip_prefix: Option<String>,
    /// `pat_…`, in the answer to its creation and nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<String>,
}

impl ShownPat {
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

/// A person's tokens.
#[derive(Serialize, ToSchema)]
pub(crate) struct PatList {
    /// Those in force, newest first.
    tokens: Vec<ShownPat>,
}

impl PatList {
    /// The tokens that are in force under a tenant's policy, as far as it allows them.
    pub(crate) fn of(found: Vec<Pat>, policy: &SignInPolicy, now: Timestamp) -> Self {
        let limits = store::pat_limits(policy);
        let allowed = found.into_iter().map(|pat| pat.within(&limits));
        let tokens = allowed.filter(|pat| pat.is_live(now)).map(|pat| ShownPat::of(&pat, None)).collect();
        Self { tokens }
    }
}

/// What a token is to be.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PatBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    name: String,
    /// `read:profile`, `write:profile`, `read:hcm`, `write:hcm`, `admin:tenant`.
    #[schema(value_type = Vec<values::TokenScope>, min_items = 1)]
    scopes: Vec<Scope>,
    /// 1 to 366, or what the sign-in policy allows; without it the token ends when the policy says, or has no end.
    #[schema(minimum = 1, maximum = 366)]
    expires_in_days: Option<i64>,
}

/// List one's own personal access tokens
#[utoipa::path(
    tag = "Tokens",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "Those in force.", body = PatList))
)]
#[get("/api/me/tokens")]
pub(crate) async fn list_tokens(access: Access<OwnAccount>) -> Result<HttpResponse, Problem> {
    let user = access.caller().session.user.clone();
    let now = access.ctx().now;
    let found = access.read(async move |_: &Ctx, tx: &mut Tx| tx.pats_of(&user).await).await?;
    Ok(answer(&PatList::of(found, &access.caller().holder.policy, now)))
}

/// Mint a personal access token
///
/// The raw token is in this answer and nowhere else. A scope that writes needs a sign-in or a step-up on this session within
/// ten minutes. `admin:tenant` is for administrators and needs a fresh proof (`PAT_MINT_ADMIN`). The sign-in policy of the
/// tenant may allow fewer scopes and days.
#[utoipa::path(
    tag = "Tokens",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The token, this once.", body = ShownPat),
        (status = 400, description = "A field is malformed, or the sign-in policy does not allow a scope or that many days."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate; REAUTH_REQUIRED for a scope that writes."),
        (status = 403, description = "ROLE_REQUIRED: `admin:tenant` by somebody who is no administrator."),
        (status = 409, description = "There are too many."),
    )
)]
#[post("/api/me/tokens")]
pub(crate) async fn create_token(
    access: Access<OwnAccount>,
    proof: IfAsked<PatMintAdmin>,
    body: Json<PatBody>,
) -> Result<HttpResponse, Problem> {
    let PatBody { name, scopes, expires_in_days } = body.0;
    let new = NewPat { name, scopes, expires_in_days };
    new.check()?;
    let guarded = new.scopes.contains(&Scope::AdminTenant);
    if guarded {
        check_administrator(&access.caller().holder)?;
        proof.require()?;
    }
    let writes = new.scopes.iter().any(|scope| scope.writes());
    let signed = access.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        // Held, so that the tokens there are stay as many as are counted.
        let (held, session) = lock(tx, &signed).await?;
        let spending = if guarded { proof.consume(ctx, tx).await? } else { ConsumedStepUp::none() };
        if writes && !guarded {
            check_recent(ctx, tx, &session).await?;
        }
        let new = new.within(&store::pat_limits(&held.policy))?;
        let (pat, raw) = tokens::pat::mint(ctx, tx, &held.person.id, new).await?;
        let mut events = spending.events()?;
        events.push(Event::new(pat.id.as_str(), &created(&pat)));
        Ok::<_, Problem>(Audited::of_changes((pat, raw), events))
    };
    let (pat, raw) = access.write(work).await?;
    Ok(answer(&ShownPat::of(&pat, Some(raw.expose().to_owned()))))
}

fn check_administrator(holder: &Holder) -> Result<(), Problem> {
    if holder.role != Role::Admin {
        return Err(Problem::forbidden("ROLE_REQUIRED", "admin:tenant is for administrators"));
    }
    Ok(())
}

/// The audit event of a new token.
pub(crate) fn created(pat: &Pat) -> PatCreated {
    PatCreated {
        user: pat.user.to_string(),
        scopes: pat.scopes.iter().map(ToString::to_string).collect(),
        expires: pat.expires_at.is_some(),
    }
}

/// Revoke one of one's own personal access tokens
#[utoipa::path(
    tag = "Tokens",
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "ptk_…")),
    responses(
        (status = 200, description = "It is void.", body = Deleted),
        (status = 404, description = "No token of this id is one's own and in force."),
    )
)]
#[delete("/api/me/tokens/{id}")]
pub(crate) async fn revoke_token(
    access: Access<OwnAccount>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: PatId = id.parse().map_err(|_| Problem::not_found())?;
    let user = access.caller().session.user.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        tokens::pat::revoke(ctx, tx, &user, &id).await?;
        let event = Event::new(id.as_str(), &PatRevoked { user: user.to_string() });
        Ok::<_, tokens::PatError>(Audited::new((), event))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
