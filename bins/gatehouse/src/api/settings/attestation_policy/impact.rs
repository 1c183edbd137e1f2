//! `POST /api/settings/attestation-policy/impact`: previews which enrolled passkeys a policy would refuse.

use actix_web::post;
use attestation::{EnrolledPasskey, Impact, ImpactCounter, Policy};
use kernel::Ctx;
use store::Tx;

use crate::api::{Answer, Call, attestation::asked_today};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManagePolicies, Permission},
};

/// Passkeys per query.
const AT_ONCE: i64 = 1_000;

/// Preview the impact of an attestation policy
///
/// Lists the enrolled passkeys that the draft would refuse if they were enrolled today. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = Policy,
    responses(
        (status = 200, description = "Enrolled passkeys, and those that would be refused.", body = Impact),
        (status = 400, description = "A field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/attestation-policy/impact")]
pub(crate) async fn attestation_policy_impact(call: Call<ManagePolicies>, body: Json<Policy>) -> Answer {
    Ok(answer(&impact_of(&call, &body.0).await?))
}

/// Checks every passkey of the tenant in batches, so that no lock or transaction covers all of them.
pub(crate) async fn impact_of<P: Permission>(call: &Call<P>, policy: &Policy) -> Result<Impact, Problem> {
    let mut counter = ImpactCounter::new(policy);
    let mut last = None;
    loop {
        let after = last.clone();
        let read = async move |_: &Ctx, tx: &mut Tx| tx.enrolled_passkeys(after.as_ref(), AT_ONCE).await;
        let some = call.scan(read).await?;
        let Some(newest) = some.last() else { return Ok(counter.finish()) };
        last = Some(newest.id.clone());
        for passkey in some {
            counter.add(EnrolledPasskey {
                candidate: asked_today(&passkey, &call.site.makers),
                id: passkey.id.to_string(),
                user_id: passkey.user.to_string(),
                user_name: passkey.user_name,
                name: passkey.name,
                trust: passkey.trust.as_str(),
            });
        }
    }
}
