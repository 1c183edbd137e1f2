//! `/api/settings/attestation-policy`: which authenticator models may be enrolled.

pub(crate) mod impact;

use actix_web::{get, post, put};
use attestation::{AttestationPolicyStore, Authenticator, Impact, ModelDecision, ModelTest, Policy, catalog};
use audit::{Audited, Event, Unaudited, events::policies::AttestationPolicyChanged};
use kernel::Ctx;
use serde::Serialize;
use sign_in::Lockout;
use store::Tx;
use utoipa::ToSchema;

use self::impact::impact_of;
use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{ManagePolicies, ReadSettings},
    step_up::{AttestationPolicyChange, StepUp},
};

/// The policy and the catalog of authenticator models.
#[derive(Serialize, ToSchema)]
struct PolicyAndCatalog {
    policy: Policy,
    /// Sorted by group, vendor and name.
    catalog: &'static [Authenticator],
}

/// The policy and its impact on enrolled passkeys.
#[derive(Serialize, ToSchema)]
struct PolicyAndImpact {
    policy: Policy,
    #[serde(flatten)]
    impact: Impact,
}

/// Get the attestation policy
///
/// Includes the catalog of known authenticator models.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The policy and the catalog.", body = PolicyAndCatalog))
)]
#[get("/api/settings/attestation-policy")]
pub(crate) async fn get_attestation_policy(call: Call<ReadSettings>) -> Answer {
    let policy = call.read(async |_: &Ctx, tx: &mut Tx| tx.attestation_policy().await).await?;
    Ok(answer(&PolicyAndCatalog { policy, catalog: catalog() }))
}

/// Replace the attestation policy
///
/// Requires a step-up (`ATTESTATION_POLICY_CHANGE`). Takes effect with the next enrolment; enrolled passkeys stay
/// valid. The response counts and lists the passkeys that the policy would refuse today.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = Policy,
    responses(
        (status = 200, description = "The updated policy, and the enrolled passkeys that it would refuse.", body = PolicyAndImpact),
        (status = 400, description = "A field is missing, unknown or malformed."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in afterwards."),
    )
)]
#[put("/api/settings/attestation-policy")]
pub(crate) async fn put_attestation_policy(
    call: Call<ManagePolicies>,
    proof: StepUp<AttestationPolicyChange>,
    body: Json<Policy>,
) -> Answer {
    let policy = body.0.in_order();
    // Compute the impact first: if it fails, the policy stays unchanged.
    let impact = impact_of(&call, &policy).await?;
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let lockout = Lockout::before(tx, site.auth.passkeys_work(), ctx.now).await?;
        let changed = attestation::set(tx, policy).await?;
        lockout.after(tx, ctx.now).await?;
        let settings: Vec<_> = changed.settings.into_iter().map(str::to_owned).collect();
        let audited = if settings.is_empty() {
            Audited::without(changed.policy, Unaudited::NothingChanged)
        } else {
            let data = AttestationPolicyChanged { changed: settings };
            Audited::new(changed.policy, Event::new(ctx.tenant.as_str(), &data))
        };
        Ok::<_, Problem>(audited.with(spending.events()?))
    };
    let policy = call.write(work).await?;
    Ok(answer(&PolicyAndImpact { policy, impact }))
}

/// Test an authenticator against the attestation policy
///
/// Assumes that the model of the authenticator is verified. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = ModelTest,
    responses(
        (status = 200, description = "The decision.", body = ModelDecision),
        (status = 400, description = "A field is missing, unknown or malformed."),
    )
)]
#[post("/api/settings/attestation-policy/test")]
pub(crate) async fn test_attestation_policy(call: Call<ReadSettings>, body: Json<ModelTest>) -> Answer {
    let policy = call.read(async |_: &Ctx, tx: &mut Tx| tx.attestation_policy().await).await?;
    Ok(answer(&body.0.run(&policy)))
}
