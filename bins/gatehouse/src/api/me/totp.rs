//! `/api/me/factors/totp`: enrolling an authenticator app.

use actix_web::post;
use audit::Audited;
use credentials::{FactorId, totp};
use kernel::Ctx;
use serde::{Deserialize, Serialize};
use sign_in::{
    FactorName,
    app_enrolment::{self, PendingApp},
    enrolment::Enrolled,
};
use store::Tx;
use utoipa::ToSchema;

use super::{
    factors::{FactorView, enrolled},
    locked::{PermittedEnrolment, Proof, finish_enrolment, lock_to_enrol, permit_enrolment},
};
use crate::api::{Answer, Call, auth::NAME};
use gate::{
    body::{Json, answer},
    errors::Problem,
    permissions::SigningIn,
};

/// Secret of an authenticator app, shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TotpSetup {
    /// `fac_…`. Verify it with a code.
    id: String,
    /// The secret in base32.
    secret: String,
    /// Content of the QR code.
    otpauth_uri: String,
    /// The QR code.
    qr_svg: String,
}

/// The first code of an app.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct TotpBody {
    id: String,
    code: String,
}

/// Start enrolling an authenticator app
///
/// The first factor requires a sign-in within the last five minutes (`REAUTH_REQUIRED`), further factors a step-up.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The secret for the authenticator app.", body = TotpSetup),
        (status = 401, description = "REAUTH_REQUIRED or STEP_UP_REQUIRED."),
        (status = 409, description = "The user has too many factors."),
    )
)]
#[post("/api/me/factors/totp")]
pub(crate) async fn begin_totp(call: Call<SigningIn>, proof: Proof) -> Answer {
    let signed = call.caller().clone();
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let PermittedEnrolment { enrolling, ground, events, .. } =
            permit_enrolment(ctx, tx, &signed, &proof).await?;
        let app = app_enrolment::begin(ctx, tx, &site.verifiers(), &enrolling, ground).await?;
        let setup = TotpSetup::new(&app, enrolling.account.person.account())?;
        Ok::<_, Problem>(Audited::of_changes(setup, events))
    };
    Ok(answer(&call.write(work).await?))
}

impl TotpSetup {
    fn new(app: &PendingApp, account: &str) -> Result<Self, Problem> {
        let uri = totp::otpauth_uri(&app.secret, NAME, account);
        Ok(Self {
            id: app.factor.id.to_string(),
            secret: totp::typed(&app.secret).expose().clone(),
            qr_svg: totp::qr_svg(&uri).ok_or_else(Problem::internal)?,
            otpauth_uri: uri.expose().clone(),
        })
    }
}

/// Complete enrolling an authenticator app
///
/// Verifies the first code. A session that needed a second factor becomes complete.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "The factor is enrolled.", body = FactorView),
        (status = 401, description = "FACTOR_INVALID; STEP_UP_REQUIRED if a factor was enrolled in the meantime."),
        (status = 404, description = "No enrolment with this ID was started."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/me/factors/totp/verify")]
pub(crate) async fn verify_totp(call: Call<SigningIn>, proof: Proof, body: Json<TotpBody>) -> Answer {
    let TotpBody { id, code } = body.0;
    let id: FactorId = id.parse().map_err(|_| Problem::not_found())?;
    let signed = call.caller().clone();
    let limits = FactorName::Totp.limits(call.tenant(), &signed.session.user, &call.origin());
    call.attempt(limits).await?;
    let site = call.site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let user = &signed.session.user;
        let proved = app_enrolment::verify(ctx, tx, &site.verifiers(), user, &id, &code).await?;
        let proved = proved.ok_or_else(Problem::not_found)?;
        let Enrolled { events, renewed } =
            finish_enrolment(ctx, tx, enrolling, &proved.factor, proved.ground, &proof).await?;
        let factor = app_enrolment::confirm(ctx, tx, proved).await?;
        Ok::<_, Problem>(Audited::of_changes((factor, renewed), events))
    };
    let (factor, renewed) = call.write(work).await?;
    enrolled(&call, &factor, renewed)
}
