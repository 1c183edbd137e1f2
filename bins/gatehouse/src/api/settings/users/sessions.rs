//! `/api/settings/users/{id}/sessions`

use actix_web::{HttpResponse, delete, get, web};
use audit::{Audited, Event, events::sign_in::SessionsRevoked};
use kernel::{Ctx, UserId};
use serde::Serialize;
use sessions::{SessionId, SessionStore};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{
    auth::Revoked,
    me::sessions::{SessionList, ShownSession},
};
use gate::{
    access::{Access, lifetime},
    body::answer,
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
};

/// List a person's sessions
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "Those in force.", body = SessionList),
    )
)]
#[get("/api/settings/users/{id}/sessions")]
pub(crate) async fn list_user_sessions(
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let lifetime = lifetime(access.caller().policy());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        Ok::<_, Problem>(sessions::list(ctx, tx, &person.id, lifetime).await?)
    };
    let found = access.read(work).await?;
    let sessions = found.iter().map(|session| ShownSession::of(session, None)).collect();
    Ok(answer(&SessionList { sessions }))
}

/// All of a person's sessions are over.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AllRevoked {
    revoked: bool,
    /// How many personal access tokens of the person were revoked with them.
    revoked_tokens: usize,
}

/// Revoke all of a person's sessions
///
/// Also revokes the person's personal access tokens and says how many, and refuses tokens of neighbouring services that were
/// issued until now. Repeated, it answers the same, with `revokedTokens` 0.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    responses(
        (status = 200, description = "They are over.", body = AllRevoked),
    )
)]
#[delete("/api/settings/users/{id}/sessions")]
pub(crate) async fn revoke_user_sessions(
    access: Access<AdministerInPerson>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        let count = tx.revoke_sessions(&person.id, ctx.now, None).await?;
        let event = Event::new(person.id.as_str(), &SessionsRevoked { count, why: "REVOKED" });
        let tokens = sign_in::reset::revoke_tokens(ctx, tx, &person.id).await?;
        Ok::<_, Problem>(Audited::new(tokens.len(), event).with(tokens))
    };
    let revoked_tokens = access.write(work).await?;
    Ok(answer(&AllRevoked { revoked: true, revoked_tokens }))
}

/// Revoke one of a person's sessions
///
/// Repeated, it answers the same.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    params(("sid" = String, Path, description = "ses_…")),
    responses(
        (status = 200, description = "It is over.", body = Revoked),
        (status = 404, description = "The person has no session of this id."),
    )
)]
#[delete("/api/settings/users/{id}/sessions/{sid}")]
pub(crate) async fn revoke_user_session(
    access: Access<AdministerInPerson>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (id, sid) = path.into_inner();
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let sid: SessionId = sid.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| sign_in::end_session(ctx, tx, &id, &sid, "REVOKED").await;
    access.write(work).await?;
    Ok(answer(&Revoked { revoked: true, sign_out: None }))
}
