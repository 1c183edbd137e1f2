//! `/api/settings/users/{id}/tokens`: a user's personal access tokens, for administrators.

use actix_web::{HttpResponse, delete, get, web};
use audit::{Audited, Event, events::pats::PatRevoked};
use kernel::{Ctx, UserId};
use store::Tx;
use tokens::{PatId, PatStore};

use crate::api::me::{factors::Deleted, tokens::PatList};
use gate::{
    access::Access,
    body::answer,
    errors::Problem,
    permissions::{Administer, AdministerInPerson},
};

/// List a person's personal access tokens
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses(
        (status = 200, description = "Those in force, newest first.", body = PatList),
    )
)]
#[get("/api/settings/users/{id}/tokens")]
pub(crate) async fn list_user_tokens(
    access: Access<Administer>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let now = access.ctx().now;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        Ok::<_, Problem>(tx.pats_of(&person.id).await?)
    };
    let found = access.read(work).await?;
    Ok(answer(&PatList::of(found, access.caller().policy(), now)))
}

/// Revoke one of a person's personal access tokens
///
/// The next request with it is refused.
#[utoipa::path(
    tag = "Settings",
    security(("sessionCookie" = [])),
    params(("tokenId" = String, Path, description = "ptk_…")),
    responses(
        (status = 200, description = "It is revoked.", body = Deleted),
        (status = 404, description = "The person has no token of this id that is not revoked."),
    )
)]
#[delete("/api/settings/users/{id}/tokens/{tokenId}")]
pub(crate) async fn revoke_user_token(
    access: Access<AdministerInPerson>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (id, token) = path.into_inner();
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let token: PatId = token.parse().map_err(|_| Problem::not_found())?;
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        tokens::pat::revoke(ctx, tx, &person.id, &token).await?;
        let event = Event::new(token.as_str(), &PatRevoked { user: person.id.to_string() });
        Ok::<_, Problem>(Audited::new((), event))
    };
    access.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
