//! `POST /api/auth/sign-out`

use actix_web::post;
use kernel::Ctx;
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, Call};
use gate::{body::answer, cookies, permissions::SigningIn};

/// The session is revoked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revoked {
    pub(crate) revoked: bool,
    /// Present and true if it was the session of this request: go to the sign-in page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) sign_out: Option<bool>,
}

/// Sign out
///
/// Revokes the session, including all copies of its cookies, and deletes the cookies.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "Signed out.", body = Revoked))
)]
#[post("/api/auth/sign-out")]
pub(crate) async fn sign_out(call: Call<SigningIn>) -> Answer {
    let session = call.caller().session.clone();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::end_session(ctx, tx, &session.user, &session.id, "SIGNED_OUT").await
    };
    call.write(work).await?;
    let mut response = answer(&Revoked { revoked: true, sign_out: Some(true) });
    cookies::clear(&call.site.pipeline, &mut response);
    Ok(response)
}
