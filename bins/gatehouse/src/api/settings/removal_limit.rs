//! `/api/settings/removal-limit`: how many users a SCIM token may deactivate or delete within an hour.

use actix_web::{get, put};
use kernel::Ctx;
use serde::{Deserialize, Serialize};
use sign_in::removals::set_limit;
use store::Tx;
use tokens::removals::{RemovalLimit, RemovalStore};
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    step_up::{ScimTokenMint, StepUp},
};

/// The limit of removals by SCIM tokens. Removals are paused if a token exceeds both numbers within an hour.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RemovalLimit)]
struct RemovalLimitBody {
    /// Whether the limit applies.
    enabled: bool,
    /// Share of the tenant's active users, in percent.
    #[schema(minimum = 1, maximum = 100)]
    percent: u32,
    /// Number of users.
    #[schema(minimum = 1, maximum = 1_000_000)]
    users: u32,
}

impl From<RemovalLimit> for RemovalLimitBody {
    fn from(RemovalLimit { enabled, percent, users }: RemovalLimit) -> Self {
        Self { enabled, percent, users }
    }
}

/// Get the limit of removals by SCIM tokens
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The limit; 20 percent and 10 users by default.", body = RemovalLimitBody))
)]
#[get("/api/settings/removal-limit")]
pub(crate) async fn get_removal_limit(call: Call<ManageConnections>) -> Answer {
    let limit = call.read(async |_: &Ctx, tx: &mut Tx| tx.removal_limit().await).await?;
    Ok(answer(&RemovalLimitBody::from(limit)))
}

/// Replace the limit of removals by SCIM tokens
///
/// Removals that are paused stay paused until an administrator decides. Requires a step-up (`SCIM_TOKEN_MINT`).
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The limit.", body = RemovalLimitBody),
        (status = 400, description = "A number is out of range."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
    )
)]
#[put("/api/settings/removal-limit")]
pub(crate) async fn put_removal_limit(
    call: Call<InPerson<ManageConnections>>,
    proof: StepUp<ScimTokenMint>,
    body: Json<RemovalLimitBody>,
) -> Answer {
    let RemovalLimitBody { enabled, percent, users } = body.0;
    let limit = RemovalLimit { enabled, percent, users };
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let consumed = proof.lock_and_consume(ctx, tx).await?;
        let changed = set_limit(tx, ctx.tenant.as_str(), limit).await?;
        Ok::<_, Problem>(changed.with(consumed.events()?))
    };
    call.write(work).await?;
    Ok(answer(&RemovalLimitBody::from(limit)))
}
