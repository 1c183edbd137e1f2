//! `POST /api/auth/sign-in/resume`: continues a sign-in that an identity provider started.

use actix_web::{HttpRequest, HttpResponse, cookie::SameSite, post, web};
use credentials::attempts;
use kernel::Ctx;
use sign_in::{Error, ticket};
use store::Tx;

use super::answer::{SignInAnswer, respond_to};
use crate::api::{Answer, Site};
use gate::{
    access::Visitor,
    cookies::{self, RequestCookies},
    errors::Problem,
};

/// Cookie with the sign-in ticket; scripts cannot read it.
const COOKIE: &str = "sign_in_ticket";
/// The only path that the cookie is sent to.
const PATH: &str = "/api/auth/sign-in/resume";
/// Lifetime of the cookie in seconds.
const LIVES: i64 = 600;

/// Sets the cookie with the ticket of a sign-in that continues on the sign-in page.
pub(crate) fn set_ticket_cookie(
    site: &Site,
    answer: &mut HttpResponse,
    ticket: String,
) -> Result<(), Problem> {
    cookies::add(answer, (COOKIE.to_owned(), ticket), PATH, LIVES, (SameSite::Lax, site.pipeline.https))
}

/// Continue after SAML sign-in
///
/// For a SAML sign-in that still needs a second factor. Consumes the ticket in the cookie that the sign-in set and
/// responds like a sign-in with a password.
#[utoipa::path(
    security(()),
    responses(
        (status = 200, description = "The state of the sign-in.", body = SignInAnswer),
        (status = 401, description = "TICKET_INVALID or ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE; NETWORK_POLICY_BLOCKED if the network policy blocks the address."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/resume")]
pub(crate) async fn resume_sign_in(site: web::Data<Site>, visitor: Visitor, request: HttpRequest) -> Answer {
    let text =
        RequestCookies::of(request.headers()).value(COOKIE).map(str::to_owned).ok_or(Error::TicketInvalid)?;
    let (tenant, hash) = ticket::parse(&text)?;
    visitor.attempt(attempts::other("ticket", &visitor.origin())).await?;
    let now = visitor.env().now();
    let find = async move |tx: &mut Tx| sign_in::find_ticket(tx, &hash, now).await.map_err(Problem::from);
    let user = visitor.read(&tenant, find).await?.user;
    let (place, whose) = (site.clone(), user.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        sign_in::resume(ctx, tx, &place.verifiers(), &whose, text).await.map_err(Problem::from)
    };
    let outcome = visitor.write(&tenant, &user, work).await?;
    respond_to(&site, &visitor, &tenant, outcome).await
}
