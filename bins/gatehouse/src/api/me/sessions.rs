//! `/api/me/sessions`

use actix_web::{HttpRequest, HttpResponse, delete, get, post, web};
use audit::{Audited, Unaudited};
use kernel::{Ctx, Email, Timestamp};
use serde::Serialize;
use sessions::{Session, SessionId, SessionStore, device_label, ip_prefix};
use store::Tx;
use utoipa::ToSchema;

use super::locked::lock;
use crate::api::{Site, auth::Revoked};
use gate::{
    access::{Access, lifetime, user_agent},
    body::answer,
    cookies,
    errors::Problem,
    permissions::OwnAccount,
};

/// Seconds until the next heartbeat.
const HEARTBEAT: u32 = 300;

/// A session as its person is shown it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ShownSession {
    /// `ses_…`
    id: String,
    /// Such as "Chrome on macOS".
    device_label: String,
    /// The /24 or /48 that it was last used from.
    #[schema(required)]
    ip_prefix: Option<String>,
    /// "City, Country" where it is known.
    #[schema(required)]
    location: Option<String>,
    #[schema(value_type = String, format = "date-time")]
    created_at: Timestamp,
    #[schema(value_type = String, format = "date-time")]
    last_seen_at: Timestamp,
    /// Present and true on the session of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    current: Option<bool>,
}

impl ShownSession {
    /// As it is shown to whoever has the session `own`.
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

/// A person's sessions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SessionList {
    /// Newest activity first; revoked ones are not listed.
    pub(crate) sessions: Vec<ShownSession>,
}

/// The session goes on.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Heartbeat {
    session: ShownSession,
    /// Seconds after which to call again.
    next_heartbeat_seconds: u32,
}

/// List one's own sessions
#[utoipa::path(
    tag = "Sessions",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "All that are in force.", body = SessionList))
)]
#[get("/api/me/sessions")]
pub(crate) async fn list_sessions(access: Access<OwnAccount>) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let own = signed.session.id.clone();
    let lifetime = lifetime(&signed.holder.policy);
    let work =
        async move |ctx: &Ctx, tx: &mut Tx| sessions::list(ctx, tx, &signed.session.user, lifetime).await;
    let found = access.read(work).await?;
    let sessions = found.iter().map(|session| ShownSession::of(session, Some(&own))).collect();
    Ok(answer(&SessionList { sessions }))
}

/// Revoke one of one's own sessions
///
/// Refused from the next request on, on every instance. Repeated, it answers the same.
#[utoipa::path(
    tag = "Sessions",
    security(("sessionCookie" = [])),
    params(("id" = String, Path, description = "ses_…")),
    responses(
        (status = 200, description = "It is over.", body = Revoked),
        (status = 404, description = "No session of this id is one's own."),
    )
)]
#[delete("/api/me/sessions/{id}")]
pub(crate) async fn revoke_session(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: SessionId = id.parse().map_err(|_| Problem::not_found())?;
    let own = &access.caller().session;
    let (is_own, user) = (own.id == id, own.user.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| sign_in::end_session(ctx, tx, &user, &id, "REVOKED").await;
    access.write(work).await?;
    let mut response = answer(&Revoked { revoked: true, sign_out: is_own.then_some(true) });
    if is_own {
        cookies::clear(&site.pipeline, &mut response);
    }
    Ok(response)
}

/// Keep the session alive
///
/// Renews the cookies, `as_sid` too, and notes device and place. A token of a neighbouring service is exchanged
/// for one of ours, which names the session. The body is optional and ignored.
#[utoipa::path(
    tag = "Sessions",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "The session goes on.", body = Heartbeat))
)]
#[post("/api/me/sessions/heartbeat")]
pub(crate) async fn heartbeat(
    site: web::Data<Site>,
    access: Access<OwnAccount>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let signed = access.caller().clone();
    let (label, location) =
        (device_label(user_agent(request.headers())), site.pipeline.locate(access.ctx().ip));
    let absolute_days = signed.holder.policy.session.absolute_days;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let (held, mut session) = lock(tx, &signed).await?;
        session.last_seen_at = ctx.now;
        session.ip = ctx.ip.or(session.ip);
        session.device_label = label;
        session.location = location.or(session.location);
        tx.update_session(&session).await?;
        Ok::<_, Problem>(Audited::without((session, held.person), Unaudited::LastUse))
    };
    let (session, person) = access.write(work).await?;
    let shown = ShownSession::of(&session, Some(&session.id));
    let mut response = answer(&Heartbeat { session: shown, next_heartbeat_seconds: HEARTBEAT });
    let about = cookies::SessionClaims {
        tenant: access.tenant(),
        email: person.email.as_ref().map(Email::as_str),
        name: person.display_name.as_deref(),
    };
    cookies::set(&site.pipeline, access.env(), &mut response, &session, absolute_days, &about)?;
    Ok(response)
}
