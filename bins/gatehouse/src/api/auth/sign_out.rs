//! `POST /api/auth/sign-out`

use actix_web::{HttpResponse, post, web};
use kernel::Ctx;
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::Site;
use gate::{access::Access, body::answer, cookies, errors::Problem, permissions::SigningIn};

/// A session was ended.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revoked {
    pub(crate) revoked: bool,
    /// Present and true where it was the session of the request: go to the sign-in page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) sign_out: Option<bool>,
}

/// Sign out
///
/// Ends the session, for every copy of its cookies, and takes the cookies away.
#[utoipa::path(
    tag = "Sign-in",
    security(("sessionCookie" = [])),
    responses((status = 200, description = "The session is over.", body = Revoked))
)]
#[post("/api/auth/sign-out")]
pub(crate) async fn sign_out(
    site: web::Data<Site>,
    access: Access<SigningIn>,
) -> Result<HttpResponse, Problem> {
    let session = access.caller().session.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::end_session(ctx, tx, &session.user, &session.id, "SIGNED_OUT").await
    };
    access.write(work).await?;
    let mut response = answer(&Revoked { revoked: true, sign_out: Some(true) });
    cookies::clear(&site.pipeline, &mut response);
    Ok(response)
}
