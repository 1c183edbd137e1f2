//! `POST /api/auth/sign-in/verify` and `…/continue`: the second factor.

use actix_web::{HttpRequest, HttpResponse, post, web};
use audit::{
    Audited, Event,
    events::{credentials::RecoveryCodeUsed, sign_in::SignInFailed},
};
use credentials::{Factor, FactorStore, TicketKind, TicketStore};
use kernel::{Ctx, UserId};
use serde::Deserialize;
use serde_json::{Map, Value};
use sessions::Standing;
use store::Tx;
use utoipa::ToSchema;

use super::{
    codes::{FactorName, Proof, proved},
    enter::{Device, Proved, SignInAnswer, Step, enter, start, still_open},
    ticket,
};
use crate::api::Site;
use gate::{
    access::{Access, Visitor, user_agent},
    body::Json,
    errors::{Code, Problem},
    network,
    permissions::SigningIn,
    signing_in::hold,
};

/// A second factor.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct VerifyBody {
    ticket: String,
    factor: FactorName,
    /// The code, for `TOTP` and `RECOVERY_CODE`.
    code: Option<String>,
    /// What the authenticator answered, for `WEBAUTHN`.
    #[schema(value_type = Option<Object>)]
    credential: Option<Map<String, Value>>,
}

/// 401: the code or assertion proves nothing.
pub(crate) fn factor_invalid() -> Problem {
    Problem::new(Code::FactorInvalid, "this is not a code or passkey that is good now; try again")
}

enum Outcome {
    Wrong,
    Right(Box<Step>),
}

/// Prove a second factor
///
/// A ticket takes five wrong answers. Codes of an authenticator app work once.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 400, description = "A field is missing or malformed."),
        (status = 401, description = "TICKET_INVALID, FACTOR_INVALID or ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE; FACTOR_NOT_PERMITTED where the tenant does not accept it."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/verify")]
pub(crate) async fn verify_factor(
    site: web::Data<Site>,
    visitor: Visitor,
    body: Json<VerifyBody>,
) -> Result<HttpResponse, Problem> {
    let VerifyBody { ticket, factor, code, credential } = body.0;
    let (tenant, hash) = ticket::read(&ticket)?;
    let proof = Proof::of(factor, code, credential.map(Value::Object))?;
    let find = async move |tx: &mut Tx| tx.ticket(&hash).await;
    let kept = visitor.read(&tenant, find).await?.filter(|kept| kept.kind == TicketKind::Factor);
    let Some(kept) = kept.filter(|kept| kept.is_live(visitor.env().now())) else {
        return Err(ticket::invalid());
    };
    let user = kept.user;
    visitor.attempt(factor.limits(&tenant, &user, &visitor.origin())).await?;
    let device = Device::of(&site, &visitor);
    let (place, whose) = (site.clone(), user.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        answered(&place, ctx, tx, &hash, &whose, factor, &proof, &device).await
    };
    match visitor.write(&tenant, &user, work).await? {
        Outcome::Wrong => Err(factor_invalid()),
        Outcome::Right(step) => step.answer(&site, &visitor, &tenant).await,
    }
}

#[expect(clippy::too_many_arguments, reason = "each is one thing that the step needs")]
async fn answered(
    site: &web::Data<Site>,
    ctx: &Ctx,
    tx: &mut Tx,
    hash: &[u8; 32],
    user: &UserId,
    factor: FactorName,
    proof: &Proof,
    device: &Device,
) -> Result<Audited<Outcome>, Problem> {
    let held = hold(tx, user).await?;
    // The policy may be another than when the ticket was minted, and the address.
    network::admit_sign_in(ctx, tx, &held.person).await?;
    let kept = ticket::live(ctx, tx, hash, TicketKind::Factor).await?;
    let mut so_far: Proved = serde_json::from_value(kept.state.clone()).map_err(Problem::unforeseen)?;
    still_open(&held, &so_far.methods)?;
    let policy = &held.policy;
    let mut verified = tx.factors(user).await?;
    verified.retain(Factor::is_verified);
    let accepted = factor.kind().is_none_or(|kind| policy.mfa.accepts(kind));
    if !accepted && verified.iter().any(|known| policy.mfa.accepts(known.kind())) {
        let message = "this tenant does not accept that factor; use another of yours";
        return Err(Problem::new(Code::FactorNotPermitted, message));
    }
    if !proved(site, ctx, tx, user, &verified, factor, proof, so_far.pending.as_ref()).await? {
        ticket::wrong(tx, kept).await?;
        let data = SignInFailed { reason: "FACTOR_INVALID", step: factor.as_str() };
        return Ok(Audited::new(Outcome::Wrong, Event::new(user.as_str(), &data)));
    }
    if !tx.take_ticket(hash).await? {
        return Err(ticket::invalid());
    }
    so_far.methods.push(factor.method());
    let standing = if accepted || !policy.mfa.required { Standing::Full } else { Standing::Owing };
    let left = tx.unused_codes(user).await? as u64;
    let entered = enter(ctx, tx, held, so_far, standing, device).await?;
    let (step, mut events) = entered.into_parts();
    if factor == FactorName::RecoveryCode {
        events.push(Event::new(user.as_str(), &RecoveryCodeUsed { left }));
    }
    Ok(Audited::of_changes(Outcome::Right(Box::new(step)), events))
}

/// Go on from another service's session
///
/// For a session cookie that still owes a second factor, such as one of a neighbouring service: a ticket to
/// prove one with, or to enrol the first.
#[utoipa::path(
    tag = "Sign-in",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "How far it has come.", body = SignInAnswer))
)]
#[post("/api/auth/sign-in/continue")]
pub(crate) async fn continue_sign_in(
    site: web::Data<Site>,
    access: Access<SigningIn>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let device = Device::new(&site, user_agent(request.headers()), access.ctx().ip);
    let place = site.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let session = &signed.session;
        let (methods, waiting) = (session.methods.clone(), Some(session.id.clone()));
        let proved = Proved { methods, session: waiting, ..Proved::default() };
        let held = hold(tx, &session.user).await?;
        network::admit_sign_in(ctx, tx, &held.person).await?;
        match session.standing {
            Standing::Full => enter(ctx, tx, held, proved, Standing::Full, &device).await,
            Standing::Owing => start(&place, ctx, tx, held, proved, &device).await,
        }
    };
    let step: Step = access.write(work).await?;
    let tenant = access.tenant().clone();
    step.respond(&site, access.env(), &tenant)
}
