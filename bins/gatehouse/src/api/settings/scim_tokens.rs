//! `/api/settings/scim-tokens`: what identity providers provision with.

use actix_web::{HttpResponse, delete, get, post, web};
use audit::{
    Audited, Event,
    events::scim_tokens::{ScimTokenCreated, ScimTokenRevoked},
};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::ip_prefix;
use store::Tx;
use tokens::{NewScimToken, ScimToken, ScimTokenId, ScimTokenStore};
use utoipa::ToSchema;

use crate::api::{me::factors::Deleted, openapi::values};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
    step_up::{ScimTokenMint, StepUp},
};

/// A SCIM token as administrators are shown it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ShownScimToken {
    /// `sct_…`
    id: String,
    name: String,
    /// Whether creating an existing user answers 409 instead of 200 with that user.
    create_conflict: bool,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    /// To the minute.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    last_used_at: Option<Timestamp>,
    /// The /24 or /48 that it was last used from.
    #[schema(required)]
    last_used_ip_prefix: Option<String>,
    /// `scim_…`, in the answer to its creation and nowhere else.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<String>,
}

impl ShownScimToken {
    fn of(token: &ScimToken, raw: Option<String>) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            create_conflict: token.create_conflict,
            created_at: token.created_at,
            last_used_at: token.last_used_at,
            last_used_ip_prefix: token.last_used_ip.map(ip_prefix),
            token: raw,
        }
    }
}

/// The tenant's SCIM tokens.
#[derive(Serialize, ToSchema)]
struct ScimTokenList {
    /// Those in force, newest first.
    tokens: Vec<ShownScimToken>,
}

/// What a token is to be.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScimTokenBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    name: String,
    /// Whether creating an existing user is to answer 409, as Okta's and Entra's validators want it.
    #[serde(default)]
    create_conflict: bool,
}

/// List SCIM tokens
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "Those in force.", body = ScimTokenList))
)]
#[get("/api/settings/scim-tokens")]
pub(crate) async fn list_scim_tokens(access: Access<Administer>) -> Result<HttpResponse, Problem> {
    let found = access.read(async |_: &Ctx, tx: &mut Tx| tx.scim_tokens().await).await?;
    let tokens = found.iter().map(|token| ShownScimToken::of(token, None)).collect();
    Ok(answer(&ScimTokenList { tokens }))
}

/// Mint a SCIM token
///
/// The raw token is in this answer and nowhere else. Needs a fresh proof (`SCIM_TOKEN_MINT`).
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The token, this once.", body = ShownScimToken),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[post("/api/settings/scim-tokens")]
pub(crate) async fn create_scim_token(
    access: Access<AdministerInPerson>,
    proof: StepUp<ScimTokenMint>,
    body: Json<ScimTokenBody>,
) -> Result<HttpResponse, Problem> {
    let ScimTokenBody { name, create_conflict } = body.0;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.consume_alone(ctx, tx).await?;
        let (token, raw) = tokens::mint(ctx, tx, NewScimToken { name, create_conflict }).await?;
        let mut events = spending.events()?;
        let data = ScimTokenCreated { create_conflict: token.create_conflict };
        events.push(Event::new(token.id.as_str(), &data));
        Ok::<_, Problem>(Audited::of_changes((token, raw), events))
    };
    let (token, raw) = access.write(work).await?;
    Ok(answer(&ShownScimToken::of(&token, Some(raw.expose().to_owned()))))
}

/// Revoke a SCIM token
///
/// The next request with it is refused.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "sct_…")),
    responses(
        (status = 200, description = "It is void.", body = Deleted),
        (status = 404, description = "The tenant has no token of this id in force."),
    )
)]
#[delete("/api/settings/scim-tokens/{id}")]
pub(crate) async fn revoke_scim_token(
    access: Access<AdministerInPerson>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: ScimTokenId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        tokens::revoke(ctx, tx, &id).await?;
        Ok::<_, Problem>(Audited::new((), Event::new(id.as_str(), &ScimTokenRevoked {})))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
