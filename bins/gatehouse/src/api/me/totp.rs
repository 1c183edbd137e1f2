//! `/api/me/factors/totp`: enrolling an authenticator app.

use actix_web::{HttpResponse, post, web};
use audit::Audited;
use credentials::{
    Factor, FactorData, FactorId, FactorKind, FactorStore, TICKET_MINUTES, default_name, totp,
};
use kernel::{Ctx, Env};
use serde::{Deserialize, Serialize};
use store::Tx;
use utoipa::ToSchema;

use super::{
    factors::ShownFactor,
    guard::{Begun, Enrolled, Proof, enrolled, hold, may_enrol},
};
use crate::api::{
    Site,
    auth::{self, FactorName, factor_invalid, totp_place, totp_step},
};
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
        let found = hold(tx, &signed).await?;
        let factors = tx.factors(&found.1.user).await?;
        let (begun, events) = may_enrol(ctx, tx, &signed, &found, &factors, &proof).await?;
        let (held, session) = found;
        // One at a time: what was begun and not finished is forgotten.
        tx.drop_pending(&session.user).await?;
        let env: &dyn Env = &*ctx.env;
        let (id, secret) = (FactorId::new(env), totp::new_secret(env));
        let sealed = place.pipeline.keys.seal_totp(env, &totp_place(ctx, &id), secret.expose());
        let factor = Factor {
            id: id.clone(),
            user: session.user.clone(),
            name: default_name(FactorKind::Totp).to_owned(),
            created_at: ctx.now,
            verified_at: None,
            last_used_at: None,
            data: FactorData::Totp {
                sealed: sealed.ok_or_else(Problem::internal)?,
                last_step: begun.as_step(),
            },
        };
        tx.insert_factor(&factor).await?;
        let uri = totp::otpauth_uri(&secret, auth::NAME, held.person.account());
        let setup = TotpSetup {
            id: id.to_string(),
            secret: totp::typed(&secret).expose().clone(),
            qr_svg: totp::qr_svg(&uri).ok_or_else(Problem::internal)?,
            otpauth_uri: uri.expose().clone(),
        };
        Ok::<_, Problem>(Audited::of_changes(setup, events))
    };
    Ok(answer(&access.write(work).await?))
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
    access
        .attempt(FactorName::Totp.limits(access.tenant(), &access.caller().session.user, &access.origin()))
        .await?;
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let held = hold(tx, &signed).await?;
        let factors = tx.factors(&signed.session.user).await?;
        let waits = |factor: &Factor| {
            !factor.is_verified() && ctx.now < factor.created_at.plus_millis(TICKET_MINUTES * 60_000)
        };
        let found = factors.into_iter().find(|factor| factor.id == id && waits(factor));
        let Some(mut factor) = found else { return Err(Problem::not_found()) };
        let FactorData::Totp { sealed, last_step } = factor.data.clone() else {
            return Err(Problem::not_found());
        };
        let Some(step) = totp_step(&place, ctx, &factor, &code)? else { return Err(factor_invalid()) };
        let enrolled = enrolled(ctx, tx, &signed, held, &factor, Begun::of_step(last_step), &proof).await?;
        factor.verified_at = Some(ctx.now);
        factor.last_used_at = Some(ctx.now);
        factor.data = FactorData::Totp { sealed, last_step: step };
        tx.update_factor(&factor).await?;
        if !tx.use_step(&factor, step, ctx.now).await? {
            return Err(factor_invalid());
        }
        let Enrolled { events, renewed } = enrolled;
        Ok::<_, Problem>(Audited::of_changes((factor, renewed), events))
    };
    let (factor, renewed) = access.write(work).await?;
    let mut answer = answer(&ShownFactor::of(&factor));
    if let Some(renewed) = renewed {
        renewed.set_cookies(&site, access.env(), access.tenant(), &mut answer)?;
    }
    Ok(answer)
}
