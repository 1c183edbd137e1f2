//! Sessions that are bound to a key of the browser: their headers and their cookie.

use actix_web::{
    HttpResponse,
    cookie::SameSite,
    http::header::{HeaderMap, HeaderName, HeaderValue},
};
use audit::{Event, events::sign_in::SessionCookieRefused};
use kernel::{Ctx, TenantId, Timestamp};
use serde::{Serialize, de::DeserializeOwned};
use sessions::{
    Session, Standing,
    device_bound::{
        self, BoundCookie, COOKIE_MAX_AGE, Challenge, ChallengeUse, Instructions, Refused, SessionIdentifier,
    },
};

use crate::{
    caller::Signed,
    cookies::{self, RequestCookies},
    errors::Problem,
    pipeline::Pipeline,
};

/// The attributes of the cookie.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";
/// Paths that need no session.
const PUBLIC: [&str; 2] = ["/assets", "/developers"];

const REGISTRATION: HeaderName = HeaderName::from_static("secure-session-registration");
const CHALLENGE: HeaderName = HeaderName::from_static("secure-session-challenge");
/// The header with a proof.
pub const PROOF: HeaderName = HeaderName::from_static("secure-session-response");
/// The header with the identifier of the session whose cookie is renewed. Scripts cannot set it.
pub const IDENTIFIER: HeaderName = HeaderName::from_static("sec-secure-session-id");

/// Asks the browser to bind a session that has just begun, at this path.
pub fn offer(
    pipeline: &Pipeline,
    answer: &mut HttpResponse,
    (tenant, session): (&TenantId, &Session),
    path: &str,
    now: Timestamp,
) -> Result<(), Problem> {
    let is_new = session.standing == Standing::Full && session.device.is_none();
    // Another application uses its own token for the session, without a second cookie.
    if !pipeline.device_bound_sessions || !is_new || session.foreign.is_some() {
        return Ok(());
    }
    let purpose = ChallengeUse::Bind { tenant: tenant.clone(), session: session.id.clone() };
    let challenge = seal(pipeline, &Challenge { purpose, issued_at: now })?;
    insert(answer, REGISTRATION, device_bound::registration(path, &challenge))
}

/// Gives the browser the challenge for its next proof.
pub fn challenge(
    pipeline: &Pipeline,
    answer: &mut HttpResponse,
    session: &SessionIdentifier,
    now: Timestamp,
) -> Result<(), Problem> {
    let purpose = ChallengeUse::Refresh { session: session.clone() };
    let challenge = seal(pipeline, &Challenge { purpose, issued_at: now })?;
    insert(answer, CHALLENGE, device_bound::challenge(&challenge, session))
}

/// Returns the challenge that a proof answers. `None` if this server did not issue it, or if it has expired.
pub fn challenge_of(pipeline: &Pipeline, sealed: &str, now: Timestamp) -> Option<Challenge> {
    open(pipeline, sealed).filter(|challenge: &Challenge| challenge.is_valid(now))
}

/// Adds the cookie of a bound session to a response.
pub fn add_cookie(
    pipeline: &Pipeline,
    answer: &mut HttpResponse,
    session: &SessionIdentifier,
    now: Timestamp,
) -> Result<(), Problem> {
    let value = seal(pipeline, &BoundCookie::new(session, now))?;
    cookies::add(answer, (session.cookie_name(), value), "/", COOKIE_MAX_AGE, (SameSite::Lax, true))
}

/// Returns what the browser does with a bound session, whose cookie it renews at this path.
pub fn instructions(session: &SessionIdentifier, refresh: &str) -> Instructions {
    Instructions::new(session, refresh, ATTRIBUTES, &PUBLIC)
}

/// Requires the cookie of a bound session.
///
/// # Errors
/// 401 without a reason, with an audit event.
pub fn require(pipeline: &Pipeline, ctx: &Ctx, signed: &Signed, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(binding) = signed.session.device.as_ref().filter(|_| pipeline.device_bound_sessions) else {
        return Ok(());
    };
    let name = SessionIdentifier::of(&ctx.tenant, &binding.key).cookie_name();
    let cookie = || match RequestCookies::of(headers).value(&name) {
        None => Ok(None),
        Some(value) => open(pipeline, value).map(Some).ok_or(Refused::WrongCookie),
    };
    let checked = device_bound::check(&signed.session, &ctx.tenant, ctx.now, cookie);
    checked.map_err(|reason| refused(ctx, &signed.session, reason))
}

/// Returns the 401 for a request that did not prove to come from the browser of a session, with its audit event.
pub fn refused(ctx: &Ctx, session: &Session, reason: Refused) -> Problem {
    let reason = reason.as_str();
    tracing::warn!(session = %session.id, reason, "cookie of a device bound session refused");
    let user = session.user.to_string();
    let event = Event::new(session.id.as_str(), &SessionCookieRefused { user, reason, suppressed: None });
    Problem::unauthenticated().with_event_as(ctx, event)
}

fn seal(pipeline: &Pipeline, value: &impl Serialize) -> Result<String, Problem> {
    let text = serde_json::to_vec(value).map_err(Problem::unexpected)?;
    pipeline.keys.seal_device(&text).ok_or_else(Problem::internal)
}

fn open<T: DeserializeOwned>(pipeline: &Pipeline, sealed: &str) -> Option<T> {
    serde_json::from_slice(&pipeline.keys.open_device(sealed)?).ok()
}

fn insert(answer: &mut HttpResponse, name: HeaderName, value: String) -> Result<(), Problem> {
    let value = HeaderValue::try_from(value).map_err(Problem::unexpected)?;
    answer.headers_mut().insert(name, value);
    Ok(())
}
