//! Responses to browsers that return from an identity provider.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{StatusCode, header},
};
use kernel::TenantId;
use saml_sp::{ConnectionTestId, ProviderId};
use sign_in::Outcome as SignIn;

use super::{
    Site,
    auth::{offer_binding, set_cookies, set_ticket_cookie},
};
use crate::pages;
use gate::{access::Visitor, errors::Problem};

/// The outcome of the response of an identity provider.
pub(crate) enum Returned {
    /// The user is signed in or needs a second factor, and continues at this path.
    Continued(Box<SignIn>, String),
    /// The response belonged to this connection test.
    Tested(ConnectionTestId),
    /// The sign-in was refused.
    Refused(Problem),
}

/// Redirects after a sign-in, or responds with a page that explains the refusal.
pub(crate) async fn respond(
    site: &Site,
    visitor: &Visitor,
    request: &HttpRequest,
    (tenant, provider): (&TenantId, &ProviderId),
    returned: Returned,
) -> Result<HttpResponse, Problem> {
    let problem = match returned {
        Returned::Continued(outcome, return_to) => {
            return led_on(site, visitor, tenant, *outcome, &return_to).await;
        }
        Returned::Tested(test) => {
            let query = [("provider", provider.as_str()), ("test", test.as_str())];
            return Ok(redirect(&pages::next::address("/settings/sso", &query)));
        }
        Returned::Refused(problem) => problem,
    };
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if accept.is_some_and(|accept| accept.contains("application/json")) {
        return Ok(problem.envelope());
    }
    let id = tenant.clone();
    let found = visitor.across(async move |across: &mut store::Across| across.tenant(&id).await).await?;
    let organisation = found.map(|tenant| tenant.name);
    let status = actix_web::ResponseError::status_code(&problem);
    let reference = Some(visitor.request_id());
    let mut answer = pages::sso_refused(site, status, problem.code(), reference, organisation.as_deref());
    problem.attach_to(&mut answer);
    Ok(answer)
}

/// Redirects to a URL.
pub(crate) fn redirect(place: &str) -> HttpResponse {
    HttpResponse::build(StatusCode::SEE_OTHER)
        .insert_header((header::LOCATION, place))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .finish()
}

/// Redirects with a session to the requested page, or with a ticket to the sign-in page.
async fn led_on(
    site: &Site,
    visitor: &Visitor,
    tenant: &TenantId,
    outcome: SignIn,
    return_to: &str,
) -> Result<HttpResponse, Problem> {
    if let Some(begun) = outcome.session() {
        visitor.end_previous(begun).await;
    }
    let sign_in = |how| pages::next::address("/auth/login", &[(how, "1"), ("next", return_to)]);
    Ok(match outcome {
        SignIn::SignedIn(started) => {
            let mut answer = redirect(return_to);
            set_cookies(site, visitor.env(), tenant, &started, &mut answer)?;
            offer_binding(site, visitor.env(), tenant, &started.session, &mut answer)?;
            answer
        }
        SignIn::EnrolmentOwed { started, .. } => {
            let mut answer = redirect(&sign_in("continue"));
            set_cookies(site, visitor.env(), tenant, &started, &mut answer)?;
            answer
        }
        SignIn::FactorOwed { ticket, .. } => {
            let mut answer = redirect(&sign_in("resume"));
            set_ticket_cookie(site, &mut answer, ticket.0)?;
            answer
        }
    })
}
