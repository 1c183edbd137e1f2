//! `/api/settings/users/{id}/tokens`: a user's personal access tokens, for administrators.

use actix_web::{delete, get, web};
use kernel::{Ctx, UserId};
use sign_in::pats;
use store::Tx;
use tokens::{PatId, PatStore};

use crate::api::me::{factors::Deleted, tokens::PatList};
use crate::api::{Answer, Call};
use gate::{
    body::answer,
    errors::Problem,
    permissions::{InPerson, ReadUsers, SupportUsers},
};

/// List a user's personal access tokens
#[utoipa::path(
    security(("sessionCookie" = []), ("personalAccessToken" = ["admin:tenant"])),
    responses((status = 200, description = "All active tokens, newest first.", body = PatList))
)]
#[get("/api/settings/users/{id}/tokens")]
pub(crate) async fn list_user_tokens(call: Call<ReadUsers>) -> Answer {
    let id: UserId = call.id()?;
    let now = call.ctx().now;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        let person = directory::find_person(tx, &id).await?;
        Ok::<_, Problem>(tx.pats_of(&person.id).await?)
    };
    let found = call.read(work).await?;
    Ok(answer(&PatList::of(found, call.caller().policy(), now)))
}

/// Revoke a personal access token of a user
///
/// The next request with the token is refused.
#[utoipa::path(
    security(("sessionCookie" = [])),
    params(("tokenId" = String, Path, description = "ptk_…")),
    responses(
        (status = 200, description = "Revoked.", body = Deleted),
        (status = 404, description = "The user has no active token with this ID."),
    )
)]
#[delete("/api/settings/users/{id}/tokens/{tokenId}")]
pub(crate) async fn revoke_user_token(
    call: Call<InPerson<SupportUsers>>,
    path: web::Path<(String, String)>,
) -> Answer {
    let (id, token) = path.into_inner();
    let id: UserId = id.parse().map_err(|_| Problem::not_found())?;
    let token: PatId = token.parse().map_err(|_| Problem::not_found())?;
    let by = call.caller().holder.roles.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let person = directory::find_to_act_on(tx, &by, &id).await?;
        Ok::<_, Problem>(pats::revoke(ctx, tx, &person.id, &token).await?)
    };
    call.write(work).await?;
    Ok(answer(&Deleted { deleted: true }))
}
