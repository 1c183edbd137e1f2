//! `/api/me/factors/totp`: enrolling an authenticator app.

use actix_web::{HttpResponse, post, web};
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
use crate::api::{Site, auth::NAME};
use gate::{
    access::Access,
    body::{Json, answer},
    errors::Problem,
    permissions::SigningIn,
};

/// What an app is set up with; shown once.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TotpSetup {
    /// `fac_…`, to be verified with a code.
    id: String,
    /// The secret as people type it, in base32.
    secret: String,
    /// What the QR code says.
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

/// Begin to enrol an authenticator app
///
/// The first factor asks for a sign-in within five minutes (`REAUTH_REQUIRED`), a further one for a fresh proof.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "What to set the app up with.", body = TotpSetup),
        (status = 401, description = "REAUTH_REQUIRED or STEP_UP_REQUIRED."),
        (status = 409, description = "There are too many factors."),
    )
)]
#[post("/api/me/factors/totp")]
pub(crate) async fn begin_totp(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    proof: Proof,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let factors = tx.factors(&enrolling.session.user).await?;
        let (leave, events) = leave_to_enrol(ctx, tx, &enrolling, &factors, &proof).await?;
        // One at a time: what was begun and not finished is forgotten.
        tx.drop_pending(&enrolling.session.user).await?;
        let (factor, secret) = new_app(&place, ctx, &enrolling, leave)?;
        tx.insert_factor(&factor).await?;
        let setup = TotpSetup::new(&factor, &secret, enrolling.account.person.account())?;
        Ok::<_, Problem>(Audited::of_changes(setup, events))
    };
    Ok(answer(&access.write(work).await?))
}

/// An authenticator app that is not verified yet.
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

/// Finish enrolling an authenticator app
///
/// With its first code. A session that owed a second factor is complete from now on.
#[utoipa::path(
    tag = "Factors",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "It counts.", body = ShownFactor),
        (status = 401, description = "FACTOR_INVALID, or STEP_UP_REQUIRED where a factor is there meanwhile."),
        (status = 404, description = "Nothing of this id was begun."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/me/factors/totp/verify")]
pub(crate) async fn verify_totp(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    proof: Proof,
    body: Json<TotpBody>,
) -> Result<HttpResponse, Problem> {
    let TotpBody { id, code } = body.0;
    let id: FactorId = id.parse().map_err(|_| Problem::not_found())?;
    let signed = access.caller().clone();
    let limits = FactorName::Totp.limits(access.tenant(), &signed.session.user, &access.origin());
    access.attempt(limits).await?;
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let enrolling = lock_to_enrol(tx, &signed).await?;
        let (mut factor, leave) = pending_app(ctx, tx, &signed.session.user, &id).await?;
        let step = place.verifiers().totp_step(ctx, &factor, &code)?.ok_or(Error::FactorInvalid)?;
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
    let (factor, renewed) = access.write(work).await?;
    enrolled(&site, &access, &factor, renewed)
}

/// The app that was begun with this id, and by which leave.
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
