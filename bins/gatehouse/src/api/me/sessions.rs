//! `/api/me/sessions`

use actix_web::{delete, get, post};
use audit::{Audited, Event, Unaudited, events::sign_in::SessionsRevoked};
use kernel::{Ctx, Email, Timestamp};
use serde::Serialize;
use sessions::{Session, SessionId, SessionStore, device_label, ip_prefix};
use store::Tx;
use utoipa::ToSchema;

use super::locked::lock;
use crate::api::{Answer, AtProvider, Call, auth::Revoked};
use gate::{
    access::{SESSION_IDLE, lifetime, user_agent},
    body::answer,
    cookies,
    errors::Problem,
    permissions::OwnAccount,
};

/// Seconds until the next heartbeat.
const HEARTBEAT: u32 = 300;

/// A session.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ShownSession)]
pub(crate) struct SessionView {
    /// `ses_…`
    id: String,
    /// Such as "Chrome on macOS".
    device_label: String,
    /// The /24 or /48 of its last use.
    #[schema(required)]
    ip_prefix: Option<String>,
    /// "City, Country", if known.
    #[schema(required)]
    location: Option<String>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    last_seen_at: Timestamp,
    /// Present and true for the session of this request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    current: Option<bool>,
}

impl SessionView {
    /// Converts a session for a caller whose own session is `own`.
    pub(crate) fn of(session: &Session, own: Option<&SessionId>) -> Self {
        Self {
            id: session.id.to_string(),
            device_label: session.device_label.clone(),
            ip_prefix: session.ip.map(ip_prefix),
            location: session.location.clone(),
            created_at: session.created_at,
            last_seen_at: session.last_seen_at,
            current: (own == Some(&session.id)).then_some(true),
        }
    }
}

/// A user's sessions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionList {
    /// Newest activity first; revoked ones are not listed.
    pub(crate) sessions: Vec<SessionView>,
}

/// The session continues.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Heartbeat {
    session: SessionView,
    /// Seconds until the next call.
    next_heartbeat_seconds: u32,
}

/// List your sessions
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "All active sessions.", body = SessionList))
)]
#[get("/api/me/sessions")]
pub(crate) async fn list_sessions(call: Call<OwnAccount>) -> Answer {
    let signed = call.caller().clone();
    let own = signed.session.id.clone();
    let lifetime = lifetime(&signed.holder.policy);
    let work =
        async move |ctx: &Ctx, tx: &mut Tx| sessions::list(ctx, tx, &signed.session.user, lifetime).await;
    let found = call.read(work).await?;
    let sessions = found.iter().map(|session| SessionView::of(session, Some(&own))).collect();
    Ok(answer(&SessionList { sessions }))
}

/// Revoke one of your sessions
///
/// The next request of the session is refused, on every instance. Idempotent.
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "ses_…")),
    responses(
        (status = 200, description = "Revoked.", body = Revoked),
        (status = 404, description = "You have no session with this ID."),
    )
)]
#[delete("/api/me/sessions/{id}")]
pub(crate) async fn revoke_session(call: Call<OwnAccount>) -> Answer {
    let id: SessionId = call.id()?;
    let own = &call.caller().session;
    let (is_own, user) = (own.id == id, own.user.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let at_provider = if is_own { AtProvider::of(tx, &id).await? } else { None };
        let ended = sign_in::end_session(ctx, tx, &user, &id, "REVOKED").await?;
        Ok::<_, Problem>(ended.map(|()| at_provider))
    };
    let at_provider = call.write(work).await?;
    let now = call.env().now();
    let logout_url = at_provider.and_then(|at_provider| at_provider.logout_url(&call.site, now));
    let mut response = answer(&Revoked { revoked: true, sign_out: is_own.then_some(true), logout_url });
    if is_own {
        cookies::clear(&call.site.pipeline, &mut response, call.tenant(), &call.caller().session);
    }
    Ok(response)
}

/// Number of sessions revoked.
#[derive(Serialize, ToSchema)]
struct OthersRevoked {
    revoked: u64,
}

/// Revoke your other sessions
///
/// Ends all of your sessions except the one of this request. Their next requests are refused, on every instance, and so
/// are tokens of neighbouring services issued before. Personal access tokens stay valid. Recorded even if there is no
/// other session.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "Revoked.", body = OthersRevoked))
)]
#[post("/api/me/sessions/revoke-others")]
pub(crate) async fn revoke_other_sessions(call: Call<OwnAccount>) -> Answer {
    let signed = call.caller().clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (_, session) = lock(tx, &signed).await?;
        let count = sessions::revoke_all(ctx, tx, &session.user, Some(&session.id)).await?;
        let event = Event::new(session.user.as_str(), &SessionsRevoked { count, why: "REVOKED" });
        Ok::<_, Problem>(Audited::new(count, event))
    };
    let revoked = call.write(work).await?;
    Ok(answer(&OthersRevoked { revoked }))
}

/// Keep the session alive
///
/// Renews the cookies, including `as_sid`, and records device and place. A token of a neighbouring service is
/// exchanged for a session of this service. The body is optional and ignored. With the header `X-Session-Idle` the request does
/// not count as use, and the session still ends after its idle time.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "The session continues.", body = Heartbeat))
)]
#[post("/api/me/sessions/heartbeat")]
pub(crate) async fn heartbeat(call: Call<OwnAccount>) -> Answer {
    let signed = call.caller().clone();
    let (label, location) =
        (device_label(user_agent(call.request.headers())), call.site.pipeline.locate(call.ctx().ip));
    let absolute_days = signed.holder.policy.session.absolute_days;
    let is_used = !call.request.headers().contains_key(SESSION_IDLE);
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (held, mut session) = lock(tx, &signed).await?;
        if is_used {
            session.record_use(ctx.now, ctx.ip, label, location);
            tx.update_session(&session).await?;
        }
        Ok::<_, Problem>(Audited::without((session, held.person), Unaudited::LastUse))
    };
    let (session, person) = call.write(work).await?;
    let shown = SessionView::of(&session, Some(&session.id));
    let mut response = answer(&Heartbeat { session: shown, next_heartbeat_seconds: HEARTBEAT });
    let about = cookies::SessionClaims {
        tenant: call.tenant(),
        email: person.email.as_ref().map(Email::as_str),
        name: person.display_name.as_deref(),
    };
    cookies::set(&call.site.pipeline, call.env(), &mut response, &session, absolute_days, &about)?;
    Ok(response)
}
