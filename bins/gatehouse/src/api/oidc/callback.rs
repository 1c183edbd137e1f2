//! `GET /api/oidc/{providerId}/callback`: the redirect of the OpenID provider.

use std::sync::Arc;

use actix_web::{HttpRequest, HttpResponse, get, http::header::HeaderMap, web};
use kernel::{Actor, Ctx, TenantId};
use oidc_rp::{Callback, Refusal};
use sign_in::{
    Outcome as SignIn,
    sso::{
        SsoOutcome,
        oidc::{OidcProvider, OidcResponse, Redirected, claim, refusal_event, with_oidc_response},
    },
};
use store::Tx;
use utoipa::IntoParams;

use super::{
    browser,
    exchange::Exchange,
    provider::{provider_of, relying_party},
};
use crate::{
    api::{
        Site,
        auth::device_of,
        sso::{self, Returned},
    },
    area_metrics,
};
use gate::{access::Visitor, errors::Problem};

/// The parameters of the redirect.
#[derive(IntoParams)]
#[expect(dead_code, reason = "read by name: for the description alone")]
#[into_params(parameter_in = Query)]
struct CallbackQuery {
    /// The code.
    code: Option<String>,
    /// The state of the request.
    state: String,
    /// The issuer (RFC 9207).
    iss: Option<String>,
    /// The error, instead of a code.
    error: Option<String>,
    /// Description of the error.
    error_description: Option<String>,
}

/// Receive the redirect of an OpenID provider
///
/// Exchanges the code for an ID token. Redirects to the target of the sign-in with a session, or to the sign-in page if a
/// second factor is needed. A refused sign-in is shown as a page, or as a problem with `Accept: application/json`.
#[utoipa::path(
    security(()),
    params(CallbackQuery),
    responses(
        (status = 303, description = "Signed in, or a second factor is needed; for a connection test, its report."),
        (status = 401, description = "OIDC_REFUSED; after all checks NOT_PROVISIONED, SSO_NOT_ALLOWED or ACCOUNT_DISABLED."),
        (status = 403, description = "NETWORK_POLICY_BLOCKED: the network policy blocks the address."),
        (status = 429, description = "Too many sign-ins from this address."),
    )
)]
#[get("/api/oidc/{providerId}/callback")]
pub(crate) async fn oidc_callback(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    site.saml.admit(&visitor.origin())?;
    let ours = relying_party(&site, &provider.id);
    let arrival = Arrival { site: &site, visitor: &visitor, tenant: &tenant, provider: &provider };
    let callback = Callback::parse(request.query_string());
    let state = callback.as_ref().ok().map(|callback| callback.state.clone());
    let outcome = match callback {
        Ok(callback) => arrival.sign_in(callback, request.headers()).await,
        Err(refusal) => Ok(SsoOutcome::Refused { refusal, is_recorded: false }),
    };
    let mut answer = arrival.answer(&request, outcome).await?;
    if let Some(state) = &state {
        browser::release(&site, &mut answer, state, &ours)?;
    }
    Ok(answer)
}

/// The provider that redirected a browser.
struct Arrival<'a> {
    site: &'a web::Data<Site>,
    visitor: &'a Visitor,
    tenant: &'a TenantId,
    provider: &'a OidcProvider,
}

impl Arrival<'_> {
    /// Claims the request of a redirect, and continues with a sign-in or the end of a connection test.
    async fn sign_in(&self, callback: Callback, headers: &HeaderMap) -> Result<SsoOutcome<Refusal>, Problem> {
        // Before the claim, so that the user can try again.
        let _waiting = self.site.saml.begin_exchange(self.tenant)?;
        let (callback, claimed) = self.claim(callback, headers).await?;
        let redirected = match claimed {
            Ok(redirected) => Arc::new(redirected),
            Err(refusal) => return Ok(SsoOutcome::Refused { refusal, is_recorded: false }),
        };
        let (site, visitor, tenant) = (self.site, self.visitor, self.tenant);
        let exchange = Exchange { site, visitor, tenant, redirected: Arc::clone(&redirected) };
        let examined = Box::pin(exchange.examine(callback)).await?;
        let (provider, request) = (redirected.provider.clone(), redirected.request.clone());
        let response = OidcResponse { provider, request, examined };
        let (site, device) = (self.site.clone(), device_of(self.site, self.visitor));
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let verifiers = site.verifiers();
            Ok::<_, Problem>(with_oidc_response(ctx, tx, &verifiers, response, &device).await?)
        };
        Box::pin(visitor.write_as(tenant, Actor::oidc(self.provider.id.as_str()), work)).await
    }

    async fn claim(
        &self,
        callback: Callback,
        headers: &HeaderMap,
    ) -> Result<(Callback, Result<Redirected, Refusal>), Problem> {
        let browser = browser::secret_of(headers, &callback.state);
        let provider = self.provider.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let claimed = claim(ctx, tx, provider, &callback, browser).await?;
            Ok::<_, Problem>(claimed.map(|claimed| (callback, claimed)))
        };
        self.visitor.write_as(self.tenant, Actor::system("oidc"), work).await
    }

    /// Counts and logs the outcome, and responds to the browser.
    async fn answer(
        &self,
        request: &HttpRequest,
        outcome: Result<SsoOutcome<Refusal>, Problem>,
    ) -> Result<HttpResponse, Problem> {
        let (counted, returned) = match outcome {
            Err(problem) => ("FAILED", Returned::Refused(problem)),
            Ok(outcome) => self.returned(outcome),
        };
        area_metrics::oidc_answered(counted);
        sso::respond(self.site, self.visitor, request, (self.tenant, &self.provider.id), returned).await
    }

    /// Returns the label of the metric, and what to respond.
    fn returned(&self, outcome: SsoOutcome<Refusal>) -> (&'static str, Returned) {
        match outcome {
            SsoOutcome::Continued(outcome, return_to) => {
                let is_signed_in = matches!(*outcome, SignIn::SignedIn(_));
                let counted = if is_signed_in { "SIGNED_IN" } else { "MFA_OWED" };
                (counted, Returned::Continued(outcome, return_to))
            }
            SsoOutcome::Tested(test) => ("TESTED", Returned::Tested(test)),
            SsoOutcome::NetworkBlocked => ("ACCOUNT", Returned::Refused(Problem::sign_in_blocked())),
            SsoOutcome::Refused { refusal, is_recorded } => {
                (refusal.step().as_str(), Returned::Refused(self.problem(&refusal, is_recorded)))
            }
        }
    }

    fn problem(&self, refusal: &Refusal, is_recorded: bool) -> Problem {
        let (visitor, tenant, provider) = (self.visitor, self.tenant, self.provider.id.as_str());
        tracing::info!(
            request_id = visitor.request_id(),
            tenant = tenant.as_str(),
            provider,
            reason = refusal.reason.as_str(),
            "a sign-in with OpenID Connect was refused"
        );
        let problem = Problem::from(refusal);
        if is_recorded {
            return problem;
        }
        let ctx = visitor.ctx(tenant, Actor::oidc(provider));
        problem.with_event_as(&ctx, refusal_event(self.provider, refusal, None))
    }
}
