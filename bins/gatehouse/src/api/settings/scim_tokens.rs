//! `/api/settings/scim-tokens`: tokens with which identity providers provision users.

use actix_web::{delete, get, post};
use kernel::{Ctx, Timestamp};
use serde::{Deserialize, Serialize};
use sessions::ip_prefix;
use sign_in::administration;
use store::Tx;
use tokens::{NewScimToken, ScimToken, ScimTokenId, ScimTokenStore};
use utoipa::ToSchema;

use crate::api::{Answer, Call, me::factors::Deleted, openapi::values};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    step_up::{ScimTokenMint, StepUp},
};

/// A SCIM token.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownScimToken)]
struct ScimTokenView {
    /// `sct_…`
    id: String,
    name: String,
    /// Whether creating an existing user returns 409 instead of 200 with that user.
    create_conflict: bool,
    /// Whether its changes are only simulated.
    dry_run: bool,
    /// When its removals of users were paused, because they exceed the limit; `null` if they are not.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    removals_paused_at: Option<Timestamp>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    /// Precise to the minute.
    #[schema(required, value_type = Option<String>, format = "date-time")]
    last_used_at: Option<Timestamp>,
    /// The /24 or /48 of its last use.
    #[schema(required)]
    last_used_ip_prefix: Option<String>,
    /// `scim_…`; for dry runs `dryrun_…`. Only in the response to its creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<String>,
}

impl ScimTokenView {
    fn of(token: &ScimToken, raw: Option<String>) -> Self {
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            create_conflict: token.create_conflict,
            dry_run: token.dry_run,
            removals_paused_at: token.removals_paused_at,
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
    /// Active tokens, newest first.
    tokens: Vec<ScimTokenView>,
}

/// The token to create.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ScimTokenBody {
    /// 1 to 100 printable characters.
    #[schema(value_type = values::Name)]
    name: String,
    /// Whether creating an existing user returns 409, as the validators of Okta and Entra expect.
    #[serde(default)]
    create_conflict: bool,
    /// Whether changes are only simulated: requests are answered as if their changes were made, and
    /// `GET /api/settings/scim-tokens/{id}/dry-run` tells what they would change.
    #[serde(default)]
    dry_run: bool,
}

/// List SCIM tokens
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All active ones.", body = ScimTokenList))
)]
#[get("/api/settings/scim-tokens")]
pub(crate) async fn list_scim_tokens(call: Call<ManageConnections>) -> Answer {
    let found = call.read(async |_: &Ctx, tx: &mut Tx| tx.scim_tokens().await).await?;
    let tokens = found.iter().map(|token| ScimTokenView::of(token, None)).collect();
    Ok(answer(&ScimTokenList { tokens }))
}

/// Create a SCIM token
///
/// The response contains the token; it is not shown again. Requires a step-up (`SCIM_TOKEN_MINT`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The token, shown once.", body = ScimTokenView),
        (status = 400, description = "A field is malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "CONFLICT: the tenant has five tokens for dry runs."),
    )
)]
#[post("/api/settings/scim-tokens")]
pub(crate) async fn create_scim_token(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<ScimTokenMint>,
    body: Json<ScimTokenBody>,
) -> Answer {
    let ScimTokenBody { name, create_conflict, dry_run } = body.0;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let new = NewScimToken { name, create_conflict, dry_run };
        let minted = administration::mint_scim_token(ctx, tx, new).await?;
        Ok::<_, Problem>(minted.after(spending.events()?))
    };
    let (token, raw) = call.write(work).await?;
    Ok(answer(&ScimTokenView::of(&token, Some(raw.expose().to_owned()))))
}

/// Revoke a SCIM token
///
/// The next request with the token is refused.
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "sct_…")),
    responses(
        (status = 200, description = "Revoked.", body = Deleted),
        (status = 404, description = "The tenant has no active token with this ID."),
    )
)]
#[delete("/api/settings/scim-tokens/{id}")]
pub(crate) async fn revoke_scim_token(call: Call<InPerson<ManageConnections>>) -> Answer {
    let id: ScimTokenId = call.id()?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| administration::revoke_scim_token(ctx, tx, &id).await;
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
