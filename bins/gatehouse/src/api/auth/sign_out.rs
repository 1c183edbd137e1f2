//! `POST /api/auth/sign-out`

use actix_web::post;
use kernel::Ctx;
use serde::Serialize;
use store::Tx;
use utoipa::ToSchema;

use crate::api::{Answer, AtProvider, Call};
use gate::{body::answer, cookies, device_bound, errors::Problem, permissions::SigningIn};

/// The session is revoked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SignedOut)]
struct SignedOut {
    revoked: bool,
    sign_out: bool,
    /// URL to open next, which ends the session at the identity provider. Present if the connection has
    /// `signOutAtProvider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    logout_url: Option<String>,
}

/// The session is revoked.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the name of the field in JSON")]
pub(crate) struct Revoked {
    pub(crate) revoked: bool,
    /// Present and true if it was the session of this request: go to the sign-in page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) sign_out: Option<bool>,
    /// See the sign-out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, format = "uri")]
    pub(crate) logout_url: Option<String>,
}

/// Sign out
///
/// Revokes the session, including all copies of its cookies, and deletes the cookies.
#[utoipa::path(
    security(("sessionCookie" = [])),
    responses((status = 200, description = "Signed out.", body = SignedOut))
)]
#[post("/api/auth/sign-out")]
pub(crate) async fn sign_out(call: Call<SigningIn>) -> Answer {
    let session = call.caller().session.clone();
    // The URL contains the user's ID token, which is not for somebody with copied cookies.
    let is_proved =
        device_bound::require(&call.site.pipeline, call.ctx(), call.caller(), call.request.headers()).is_ok();
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let at_provider = AtProvider::of(tx, &session.id).await?;
        let ended = sign_in::end_session(ctx, tx, &session.user, &session.id, "SIGNED_OUT").await?;
        Ok::<_, Problem>(ended.map(|()| at_provider))
    };
    let at_provider = call.write(work).await?.filter(|_| is_proved);
    let now = call.env().now();
    let logout_url = at_provider.and_then(|at_provider| at_provider.logout_url(&call.site, now));
    let mut response = answer(&SignedOut { revoked: true, sign_out: true, logout_url });
    cookies::clear(&call.site.pipeline, &mut response, call.tenant(), &call.caller().session);
    Ok(response)
}
