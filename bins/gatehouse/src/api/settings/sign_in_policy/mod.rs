//! `/api/settings/sign-in-policy`

pub(crate) mod impact;

use actix_web::{get, put};
use credentials::{SignInPolicy, SignInStore};
use kernel::Ctx;
use sign_in::{change_policy, check_policy, require_way_in};
use store::Tx;

use crate::api::{Answer, Call};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::{InPerson, ManagePolicies},
    step_up::{SignInPolicyChange, StepUp},
};

/// Get the sign-in policy
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "The policy.", body = SignInPolicy))
)]
#[get("/api/settings/sign-in-policy")]
pub(crate) async fn get_sign_in_policy(call: Call<ManagePolicies>) -> Answer {
    let policy = call.read(async |_: &Ctx, tx: &mut Tx| tx.sign_in_policy().await).await?;
    Ok(answer(&policy))
}

/// Replace the sign-in policy
///
/// Requires a step-up (`SIGN_IN_POLICY_CHANGE`). Takes effect with the next request. Refuses a policy under which no
/// administrator could sign in; `error` names what is missing. Without `pat`, the limits of personal access tokens
/// stay.
#[utoipa::path(
    security(("sessionCookie" = [])),
    request_body = SignInPolicy,
    responses(
        (status = 200, description = "The updated policy.", body = SignInPolicy),
        (status = 400, description = "A field is missing, unknown or out of range."),
        (status = 401, description = "STEP_UP_REQUIRED, with header WWW-Authenticate."),
        (status = 409, description = "LOCKOUT_PROTECTION: no administrator could sign in afterwards."),
    )
)]
#[put("/api/settings/sign-in-policy")]
pub(crate) async fn put_sign_in_policy(
    call: Call<InPerson<ManagePolicies>>,
    proof: StepUp<SignInPolicyChange>,
    body: Json<SignInPolicy>,
) -> Answer {
    let policy = body.0;
    check_policy(&policy).map_err(Problem::invalid_request)?;
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let spending = proof.lock_and_consume(ctx, tx).await?;
        let changed = change_policy(ctx, tx, policy.clone()).await?;
        require_way_in(tx, &policy, site.auth.passkeys_work(), ctx.now).await?;
        Ok::<_, Problem>(changed.with(spending.events()?))
    };
    Ok(answer(&call.write(work).await?))
}
