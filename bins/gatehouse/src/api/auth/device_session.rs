//! `POST /api/auth/device-session` and `…/refresh`: sessions that are bound to a key of the browser.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderName, post, web};
use audit::{Audited, Event, Unaudited, events::sign_in::SessionBound};
use credentials::SignInStore;
use kernel::{Actor, Ctx, Timestamp};
use sessions::{
    SessionStore,
    device_bound::{
        self as device, Answered, BindError, Challenge, ChallengeUse, Proof, RefreshError, Refused,
        SessionIdentifier,
    },
};
use store::Tx;

use crate::api::{Answer, Site};
use gate::{
    access::{Visitor, lifetime},
    body::answer,
    device_bound::{self, IDENTIFIER, PROOF},
    errors::Problem,
    pipeline::Pipeline,
};

/// The path at which a browser binds a session.
pub(super) const PATH: &str = "/api/auth/device-session";
/// The path at which it renews the cookie.
const REFRESH: &str = "/api/auth/device-session/refresh";

/// Returns the pipeline, if sessions are bound to keys.
fn enabled(site: &Site) -> Result<&Pipeline, Problem> {
    let pipeline = &site.pipeline;
    if pipeline.device_bound_sessions { Ok(pipeline) } else { Err(Problem::not_found()) }
}

fn header<'r>(request: &'r HttpRequest, name: &HeaderName) -> Option<&'r str> {
    request.headers().get(name)?.to_str().ok()
}

/// Bind a session to a key of the browser
///
/// Browsers with Device Bound Session Credentials call it after sign-in, if the setting `device_bound_sessions` is on. They
/// prove the new key in `Secure-Session-Response` and learn where to renew the cookie of the session.
#[utoipa::path(
    security(()),
    params(("Secure-Session-Response" = Option<String>, Header, description = "The proof, a JWT of the type `dbsc+jwt` with the key in its header.")),
    responses(
        (status = 200, description = "Instructions for the browser, as in the W3C draft.", body = Object),
        (status = 401, description = "The proof is not valid, or the session cannot be bound."),
        (status = 404, description = "The setting is off."),
    )
)]
#[post("/api/auth/device-session")]
pub(crate) async fn bind_session(site: web::Data<Site>, visitor: Visitor, request: HttpRequest) -> Answer {
    let (pipeline, now) = (enabled(&site)?, visitor.env().now());
    let proof = header(&request, &PROOF).and_then(Proof::parse).ok_or_else(Problem::unauthenticated)?;
    let challenge = device_bound::challenge_of(pipeline, &proof.challenge, now);
    let Some(Challenge { purpose: ChallengeUse::Bind { tenant, session }, issued_at }) = challenge else {
        return Err(Problem::unauthenticated());
    };
    let id = session.clone();
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(tx.session(&id).await?.map(|session| session.user));
    let user = visitor.read(&tenant, find).await?.ok_or_else(Problem::unauthenticated)?;
    let whose = user.to_string();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let binding = device::bind(ctx, tx, &session, &proof, issued_at).await.map_err(not_bound)?;
        let data = SessionBound { user: whose, algorithm: binding.key.algorithm() };
        let event = Event::new(session.as_str(), &data);
        Ok::<_, Problem>(Audited::new(SessionIdentifier::of(&ctx.tenant, &binding.key), event))
    };
    let session = visitor.write(&tenant, &user, work).await?;
    let mut response = answer(&device_bound::instructions(&session, REFRESH));
    renew(pipeline, &mut response, &session, now)?;
    Ok(response)
}

/// Renew the cookie of a bound session
///
/// Browsers call it before the cookie expires. Without `Secure-Session-Response` they get a challenge, and with a proof of
/// the key that answers it the cookie and the next challenge.
#[utoipa::path(
    security(()),
    params(
        ("Sec-Secure-Session-Id" = Option<String>, Header, description = "The identifier of the session."),
        ("Secure-Session-Response" = Option<String>, Header, description = "The proof, a JWT of the type `dbsc+jwt`."),
    ),
    responses(
        (status = 200, description = "The cookie is renewed."),
        (status = 401, description = "The session has ended, or the proof is not signed with its key."),
        (status = 403, description = "FORBIDDEN with the reason PROOF_REQUIRED: sign the challenge in `Secure-Session-Challenge`."),
        (status = 404, description = "The setting is off."),
    )
)]
#[post("/api/auth/device-session/refresh")]
pub(crate) async fn refresh_session(site: web::Data<Site>, visitor: Visitor, request: HttpRequest) -> Answer {
    let (pipeline, now) = (enabled(&site)?, visitor.env().now());
    let named = header(&request, &IDENTIFIER).and_then(device::identifier_of);
    let session = named.ok_or_else(Problem::unauthenticated)?;
    let Some(proof) = header(&request, &PROOF) else { return challenged(pipeline, &session, now) };
    let proof = Arc::new(Proof::parse(proof).ok_or_else(Problem::unauthenticated)?);
    let issued_at = match device_bound::challenge_of(pipeline, &proof.challenge, now) {
        Some(Challenge { purpose: ChallengeUse::Refresh { session: of }, issued_at }) if of == session => {
            issued_at
        }
        _ => return challenged(pipeline, &session, now),
    };
    match accept(&visitor, &session, proof, issued_at).await {
        Ok(()) => {}
        Err(RefreshError::UsedChallenge) => return challenged(pipeline, &session, now),
        Err(RefreshError::NoSession) => return Err(Problem::unauthenticated()),
        Err(RefreshError::WrongKey(found)) => {
            let ctx = visitor.ctx(&session.tenant, Actor::user(&found.user));
            return Err(device_bound::refused(&ctx, &found, Refused::WrongKey));
        }
        Err(RefreshError::Store(error)) => return Err(error.into()),
    }
    let mut response = HttpResponse::Ok().finish();
    renew(pipeline, &mut response, &session, now)?;
    Ok(response)
}

/// Accepts a proof once. It is verified before a transaction writes.
async fn accept(
    visitor: &Visitor,
    session: &SessionIdentifier,
    proof: Arc<Proof>,
    challenged_at: Timestamp,
) -> Result<(), RefreshError> {
    let (tenant, thumbprint) = (&session.tenant, session.thumbprint);
    let (ctx, signed) = (visitor.ctx(tenant, Actor::system("sign-in")), Arc::clone(&proof));
    let find = async move |tx: &mut Tx| {
        let lifetime = lifetime(&tx.sign_in_policy().await?);
        let answered = Answered { proof: &signed, challenged_at, lifetime };
        device::find(&ctx, tx, &thumbprint, &answered).await.map(|(session, _)| (session.user, lifetime))
    };
    let (user, lifetime) = visitor.read(tenant, find).await?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let answered = Answered { proof: &proof, challenged_at, lifetime };
        device::refresh(ctx, tx, &thumbprint, &answered).await?;
        Ok(Audited::without((), Unaudited::LastUse))
    };
    visitor.write(tenant, &user, work).await
}

/// Adds the cookie and the challenge of the next proof.
fn renew(
    pipeline: &Pipeline,
    response: &mut HttpResponse,
    session: &SessionIdentifier,
    now: Timestamp,
) -> Result<(), Problem> {
    device_bound::add_cookie(pipeline, response, session, now)?;
    device_bound::challenge(pipeline, response, session, now)
}

/// Responds 403 with a challenge, which the browser answers at once.
fn challenged(pipeline: &Pipeline, session: &SessionIdentifier, now: Timestamp) -> Answer {
    let message = "Sign the challenge in Secure-Session-Challenge with the key of the session.";
    let mut response = Problem::forbidden("PROOF_REQUIRED", message).envelope();
    device_bound::challenge(pipeline, &mut response, session, now)?;
    Ok(response)
}

fn not_bound(error: BindError) -> Problem {
    match error {
        BindError::NotPossible | BindError::Proof => Problem::unauthenticated(),
        BindError::Store(error) => error.into(),
    }
}
