//! `POST /api/settings/sign-in-policy/impact`: previews which users a sign-in policy affects.

use actix_web::post;
use credentials::{PasskeyUse, SignInImpact, SignInImpactCounter, SignInPolicy, SignInStore};
use kernel::Ctx;
use sign_in::{AdministratorStore, check_policy, missing_to_sign_in};
use store::Tx;

use crate::api::{Answer, Call};
use gate::{
    access::lifetime,
    body::{Json, answer},
    errors::Problem,
    permissions::ManagePolicies,
};

/// Users per query.
const AT_ONCE: i64 = 1_000;

/// Preview the impact of a sign-in policy
///
/// Lists the users who could no longer sign in, could sign in only through single sign-on, or would have to enrol a
/// second factor, if the current policy has another effect on them. Changes nothing.
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    request_body = SignInPolicy,
    responses(
        (status = 200, description = "Numbers of users, and the affected users.", body = SignInImpact),
        (status = 400, description = "A field is missing, unknown or out of range."),
    )
)]
#[post("/api/settings/sign-in-policy/impact")]
pub(crate) async fn sign_in_policy_impact(call: Call<ManagePolicies>, body: Json<SignInPolicy>) -> Answer {
    let draft = body.0;
    check_policy(&draft).map_err(Problem::invalid_request)?;
    let (wanted, work) = (draft.clone(), call.site.auth.passkeys_work());
    let begin = async move |ctx: &Ctx, tx: &mut Tx| {
        let passkeys = PasskeyUse { work, any_may_be_enrolled: tx.allows_any_model().await? };
        let refusal = missing_to_sign_in(tx, &wanted, work, ctx.now).await?;
        Ok::<_, Problem>((tx.sign_in_policy().await?, passkeys, refusal))
    };
    let (current, passkeys, refusal) = call.read(begin).await?;
    let impact = SignInImpact { refusal, ..SignInImpact::default() };
    let caller = call.caller().user().clone();
    let mut counter = SignInImpactCounter { current, draft, passkeys, caller, impact };
    let lifetime = lifetime(call.caller().policy());
    let mut last = None;
    loop {
        let after = last.clone();
        let read = async move |ctx: &Ctx, tx: &mut Tx| {
            tx.sign_in_means(after.as_ref(), AT_ONCE, lifetime, ctx.now).await
        };
        let some = call.scan(read).await?;
        let Some(newest) = some.last() else { return Ok(answer(&counter.impact)) };
        last = Some(newest.user.clone());
        for user in some {
            counter.add(user);
        }
    }
}
