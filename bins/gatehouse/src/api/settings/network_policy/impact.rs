//! `POST /api/settings/network-policy/impact`: previews which sessions and tokens a network policy would block.

use actix_web::post;
use credentials::SignInStore;
use kernel::Ctx;
use netpolicy::{DraftPolicy, Impact};
use store::Tx;

use crate::api::{Answer, Call};
use gate::{
    access::lifetime,
    body::{Json, answer},
    permissions::ManagePolicies,
};

/// Only credentials used within this time are examined, in milliseconds.
const RECENT: i64 = 30 * 24 * 60 * 60_000;

/// Preview the impact of a network policy
///
/// Lists the sessions and tokens of the last 30 days that the draft would block, by the address of their last use.
/// Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = DraftPolicy,
    responses(
        (status = 200, description = "Sessions and tokens that would be blocked.", body = Impact),
        (status = 400, description = "INVALID_CIDR, or a field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/network-policy/impact")]
pub(crate) async fn network_policy_impact(call: Call<ManagePolicies>, body: Json<DraftPolicy>) -> Answer {
    let policy = body.0.policy()?;
    let find = async |ctx: &Ctx, tx: &mut Tx| {
        let lifetime = lifetime(&tx.sign_in_policy().await?);
        tx.recent(ctx.now.plus_millis(-RECENT), ctx.now, lifetime).await
    };
    Ok(answer(&Impact::new(&policy, call.scan(find).await?)))
}
