//! `/api/me/factors/totp`: enrolling an authenticator app.

use actix_web::post;
use audit::Audited;
use credentials::{
    Factor, FactorData, FactorId, FactorKind, FactorStore, TICKET_MINUTES, default_name, totp,
};
use kernel::{Ctx, Secret, UserId};
use serde::{Deserialize, Serialize};
use sign_in::{
    Error, FactorName,
    enrolment::{Enrolled, Enrolling, EnrolmentGround},
};
use store::Tx;
use utoipa::ToSchema;

use super::{
    factors::{ShownFactor, enrolled},
    locked::{Proof, finish_enrolment, leave_to_enrol, lock_to_enrol},
};
use crate::api::{Answer, Call, Site, auth::NAME};
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
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let factors = tx.factors(&enrolling.session.user).await?;
        let (leave, events) = leave_to_enrol(ctx, tx, &enrolling, &factors, &proof).await?;
        // One pending enrolment at a time: delete any that was not completed.
        tx.drop_pending(&enrolling.session.user).await?;
        let (factor, secret) = new_app(&site, ctx, &enrolling, leave)?;
        tx.insert_factor(&factor).await?;
        let setup = TotpSetup::new(&factor, &secret, enrolling.account.person.account())?;
        Ok::<_, Problem>(Audited::of_changes(setup, events))
    };
    Ok(answer(&call.write(work).await?))
}

/// Creates a factor for an authenticator app that is not verified yet.
fn new_app(
    site: &Site,
    ctx: &Ctx,
    enrolling: &Enrolling,
    leave: EnrolmentGround,
) -> Result<(Factor, Secret<Vec<u8>>), Problem> {
    let (id, secret) = (FactorId::new(&*ctx.env), totp::new_secret(&*ctx.env));
    let sealed = site.verifiers().seal_totp(ctx, &id, &secret)?;
    let factor = Factor {
        id,
        user: enrolling.session.user.clone(),
        name: default_name(FactorKind::Totp).to_owned(),
        created_at: ctx.now,
        verified_at: None,
        last_used_at: None,
        data: FactorData::Totp { sealed, last_step: leave.as_step() },
    };
    Ok((factor, secret))
}

impl TotpSetup {
    fn new(factor: &Factor, secret: &Secret<Vec<u8>>, account: &str) -> Result<Self, Problem> {
        let uri = totp::otpauth_uri(secret, NAME, account);
        Ok(Self {
            id: factor.id.to_string(),
            secret: totp::typed(secret).expose().clone(),
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
        (status = 200, description = "The factor is enrolled.", body = ShownFactor),
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
        let (mut factor, leave) = pending_app(ctx, tx, &signed.session.user, &id).await?;
        let step = site.verifiers().totp_step(ctx, &factor, &code)?.ok_or(Error::FactorInvalid)?;
        let Enrolled { events, renewed } =
            finish_enrolment(ctx, tx, enrolling, &factor, leave, &proof).await?;
        factor.verified_at = Some(ctx.now);
        factor.last_used_at = Some(ctx.now);
        tx.update_factor(&factor).await?;
        if !tx.use_step(&factor, step, ctx.now).await? {
            return Err(Error::FactorInvalid.into());
        }
        Ok::<_, Problem>(Audited::of_changes((factor, renewed), events))
    };
    let (factor, renewed) = call.write(work).await?;
    enrolled(&call, &factor, renewed)
}

/// Returns the pending authenticator app with this ID, and on what ground its enrolment was allowed.
async fn pending_app(
    ctx: &Ctx,
    tx: &mut Tx,
    user: &UserId,
    id: &FactorId,
) -> Result<(Factor, EnrolmentGround), Problem> {
    let waits = |factor: &Factor| {
        !factor.is_verified() && ctx.now < factor.created_at.plus_millis(TICKET_MINUTES * 60_000)
    };
    let factors = tx.factors(user).await?;
    let factor = factors.into_iter().find(|factor| factor.id == *id && waits(factor));
    match factor {
        Some(factor) => match factor.data {
            FactorData::Totp { last_step, .. } => Ok((factor, EnrolmentGround::of_step(last_step))),
            FactorData::Passkey(_) => Err(Problem::not_found()),
        },
        None => Err(Problem::not_found()),
    }
}
