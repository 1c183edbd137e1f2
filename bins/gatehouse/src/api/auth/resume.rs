//! `POST /api/auth/sign-in/resume`: a sign-in that an identity provider began goes on here.

use actix_web::{
    HttpRequest, HttpResponse,
    http::header::{self, HeaderValue},
    post, web,
};
use credentials::{TicketKind, TicketStore, attempts};
use kernel::Ctx;
use sessions::Method;
use store::Tx;

use super::{
    enter::{Proved, SignInAnswer, Step, ask_again, still_open},
    ticket,
};
use crate::api::Site;
use gate::{access::Visitor, cookies::Sent, errors::Problem, network, signing_in::hold};

/// Holds the ticket where no script can read it.
const COOKIE: &str = "sign_in_ticket";
/// The one address that it is sent to.
const PATH: &str = "/api/auth/sign-in/resume";
/// Seconds that a ticket lives.
const LIVES: u32 = 600;

/// Gives the browser the ticket of a sign-in that goes on at the sign-in page.
pub(crate) fn keep_ticket(site: &Site, answer: &mut HttpResponse, ticket: &str) {
    let secure = if site.pipeline.https { "; Secure" } else { "" };
    let text = format!("{COOKIE}={ticket}; Path={PATH}; Max-Age={LIVES}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(header) = HeaderValue::from_str(&text) {
        answer.headers_mut().append(header::SET_COOKIE, header);
    }
}

/// Go on from an identity provider
///
/// For a sign-in through an identity provider that still owes a second factor: takes the ticket in the cookie that came
/// with it, and answers as after a password.
#[utoipa::path(
    tag = "Sign-in",
    security(()),
    responses(
        (status = 200, description = "How far it has come.", body = SignInAnswer),
        (status = 401, description = "TICKET_INVALID or ACCOUNT_DISABLED."),
        (status = 403, description = "CROSS_SITE; NETWORK_POLICY_BLOCKED from elsewhere."),
        (status = 429, description = "Too many attempts."),
    )
)]
#[post("/api/auth/sign-in/resume")]
pub(crate) async fn resume_sign_in(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let text = Sent::of(request.headers()).value(COOKIE).map(str::to_owned).ok_or_else(ticket::invalid)?;
    let (tenant, hash) = ticket::read(&text)?;
    visitor.attempt(attempts::other("ticket", &visitor.origin())).await?;
    let find = async move |tx: &mut Tx| tx.ticket(&hash).await;
    let kept = visitor.read(&tenant, find).await?.filter(|kept| kept.kind == TicketKind::Factor);
    let user = kept.map(|kept| kept.user).ok_or_else(ticket::invalid)?;
    let (place, whose) = (site.clone(), user.clone());
    let work = async move |ctx: &Ctx, tx: &mut Tx| {
        let held = hold(tx, &whose).await?;
        network::admit_sign_in(ctx, tx, &held.person).await?;
        let kept = ticket::live(ctx, tx, &hash, TicketKind::Factor).await?;
        let proved: Proved = serde_json::from_value(kept.state.clone()).map_err(Problem::unforeseen)?;
        // The ticket of a password was told to a script already; it has no business in the cookie.
        if proved.methods != [Method::Sso] {
            return Err(ticket::invalid());
        }
        still_open(&held, &proved.methods)?;
        ask_again(&place, tx, &held, kept, text).await
    };
    let step: Step = visitor.write(&tenant, &user, work).await?;
    step.answer(&site, &visitor, &tenant).await
}
