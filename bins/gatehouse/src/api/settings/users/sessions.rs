//! `/api/settings/users/{id}/sessions`

use actix_web::{delete, get, web};
use audit::{Audited, Event, events::sign_in::SessionsRevoked};
use kernel::{Ctx, UserId};
use serde::Serialize;
use sessions::{SessionId, SessionStore};
use store::Tx;
use utoipa::ToSchema;

use crate::api::{
    Answer, Call,
    auth::Revoked,
    me::sessions::{SessionList, SessionView},
};
use gate::{
    access::lifetime,
    body::answer,
    errors::Problem,
    permissions::{InPerson, ReadUsers, SupportUsers},
};

/// List a user's sessions
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All active ones.", body = SessionList))
)]
#[get("/api/settings/users/{id}/sessions")]
pub(crate) async fn list_user_sessions(call: Call<ReadUsers>) -> Answer {
    let id: UserId = call.id()?;
    let lifetime = lifetime(call.caller().policy());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        Ok::<_, Problem>(sessions::list(ctx, tx, &person.id, lifetime).await?)
    };
    let found = call.read(work).await?;
    let sessions = found.iter().map(|session| SessionView::of(session, None)).collect();
    Ok(answer(&SessionList { sessions }))
}

/// The user's sessions are revoked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct AllRevoked {
    revoked: bool,
    /// Number of personal access tokens revoked.
    revoked_tokens: usize,
}

/// Revoke all sessions of a user
///
/// Also revokes the user's personal access tokens and returns their number, and refuses tokens of neighbouring
/// services issued before. Idempotent: repeated, `revokedTokens` is 0.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "Revoked.", body = AllRevoked))
)]
#[delete("/api/settings/users/{id}/sessions")]
pub(crate) async fn revoke_user_sessions(call: Call<InPerson<SupportUsers>>) -> Answer {
    let id: UserId = call.id()?;
    let by = call.caller().holder.roles.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_to_act_on(tx, &by, &id).await?;
        let count = tx.revoke_sessions(&person.id, ctx.now, None).await?;
        let event = Event::new(person.id.as_str(), &SessionsRevoked { count, why: "REVOKED" });
        let tokens = sign_in::pats::revoke_all(ctx, tx, &person.id).await?;
        Ok::<_, Problem>(Audited::new(tokens.len(), event).with(tokens))
    };
    let revoked_tokens = call.write(work).await?;
    Ok(answer(&AllRevoked { revoked: true, revoked_tokens }))
}

/// Revoke a session of a user
///
/// Idempotent.
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("sid" = String, Path, description = "ses_…")),
    responses(
        (status = 200, description = "Revoked.", body = Revoked),
        (status = 404, description = "The user has no session with this ID."),
    )
)]
#[delete("/api/settings/users/{id}/sessions/{sid}")]
pub(crate) async fn revoke_user_session(
    call: Call<InPerson<SupportUsers>>,
    path: web::Path<(String, String)>,
) -> Answer {
    let (id, sid) = path.into_inner();
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let sid: SessionId = sid.parse().map_err(|_| Problem::not_found())?;
    let by = call.caller().holder.roles.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        directory::find_to_act_on(tx, &by, &id).await?;
        Ok::<_, Problem>(sign_in::end_session(ctx, tx, &id, &sid, "REVOKED").await?)
    };
    call.write(work).await?;
    Ok(answer(&Revoked { revoked: true, sign_out: None, logout_url: None }))
}
