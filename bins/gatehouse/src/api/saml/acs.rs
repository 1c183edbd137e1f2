//! `POST /api/saml/{providerId}/acs`: the assertion consumer service.

use actix_web::{
    HttpRequest, HttpResponse,
    http::{
        StatusCode,
        header::{self, HeaderMap},
    },
    post, web,
};
use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, TenantId};
use saml_sp::{Against, ConnectionTestId, ConnectionTestStore, Examined, Provider, Refusal, RefusedResponse};
use sign_in::{
    Outcome as SignIn,
    sso::{SamlOutcome, SamlResponse},
};
use store::Tx;
use utoipa::ToSchema;

use super::{
    browser,
    provider::{provider_of, service_of},
};
use crate::{
    api::{
        Site,
        auth::{device_of, set_cookies, set_ticket_cookie},
    },
    area_metrics, pages,
};
use gate::{access::Visitor, body::Form, errors::Problem};

/// The form that an identity provider posts.
#[derive(ToSchema)]
#[schema(as = SamlResponseForm)]
#[expect(dead_code, reason = "read by name: for the description alone")]
struct ResponseForm {
    /// Base64 of the Response, 1 MiB at most.
    #[schema(rename = "SAMLResponse")]
    saml_response: String,
    /// `RelayState` of the request.
    #[schema(rename = "RelayState")]
    relay_state: Option<String>,
}

/// Receive a SAML response
///
/// Assertion consumer service. Redirects to the target of the sign-in with a session, or to the sign-in page if a
/// second factor is needed. A refused response is shown as a page, or as a problem with `Accept: application/json`.
#[utoipa::path(
    security(()),
    request_body(content = ResponseForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 303, description = "Signed in, or a second factor is needed; for a connection test, its report."),
        (status = 401, description = "SAML_REFUSED; after all checks NOT_PROVISIONED, SSO_NOT_ALLOWED or ACCOUNT_DISABLED."),
        (status = 403, description = "NETWORK_POLICY_BLOCKED: the network policy blocks the address."),
        (status = 429, description = "Too many responses from this address."),
    )
)]
#[post("/api/saml/{providerId}/acs")]
pub(crate) async fn saml_acs(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
    id: web::Path<String>,
    form: Form,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    site.saml.admit(&visitor.origin())?;
    let field = form.only("SAMLResponse").unwrap_or_default().to_owned();
    let examined = examined(&site, &visitor, &provider, field).await?;
    let in_response_to = examined.says_it_answers.clone();
    let received = Received { site: &site, visitor: &visitor, tenant: &tenant, provider: &provider };
    let relay_state = form.only("RelayState").map(str::to_owned);
    let outcome = received.sign_in(examined, request.headers(), relay_state).await?;
    let mut answer = answered(&site, &visitor, &request, (&tenant, &provider), outcome).await?;
    if let Some(id) = &in_response_to {
        browser::release(&site, &mut answer, id, &service_of(&site, &provider.id).acs_url)?;
    }
    Ok(answer)
}

/// Runs all checks that need no storage, outside of the request threads.
async fn examined(
    site: &web::Data<Site>,
    visitor: &Visitor,
    provider: &Provider,
    field: String,
) -> Result<Examined, Problem> {
    let (service, provider) = (service_of(site, &provider.id), provider.clone());
    let (seal, now) = (site.pipeline.keys.saml(), visitor.env().now());
    let work = move || {
        // A key that cannot be opened decrypts nothing; that is reported if the response is encrypted.
        let keys: Vec<_> = provider.keys.all().filter_map(|key| key.open(&seal, &provider.id).ok()).collect();
        let against = Against { provider: &provider, service: &service, keys: &keys, now };
        let started = std::time::Instant::now();
        let examined = saml_sp::examine(&field, &against);
        area_metrics::saml_examined(started.elapsed());
        examined
    };
    visitor.without_slot(site.saml.compute(work)).await?
}

/// The provider that a response was posted to.
struct Received<'a> {
    site: &'a web::Data<Site>,
    visitor: &'a Visitor,
    tenant: &'a TenantId,
    provider: &'a Provider,
}

impl Received<'_> {
    /// Continues with an examined response: a sign-in, or the end of the connection test that it belongs to.
    async fn sign_in(
        &self,
        examined: Examined,
        headers: &HeaderMap,
        relay_state: Option<String>,
    ) -> Result<SamlOutcome, Problem> {
        let accepted = match examined.into_result() {
            Ok(accepted) => accepted,
            Err(refused) => return self.refuse(*refused, headers).await,
        };
        let browser = browser::request_cookie(headers, &accepted.answers);
        let response = SamlResponse { provider: self.provider.clone(), accepted, browser, relay_state };
        let (site, device) = (self.site.clone(), device_of(self.site, self.visitor));
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let verifiers = site.verifiers();
            let outcome = sign_in::sso::with_saml_response(ctx, tx, &verifiers, response, &device).await;
            Ok::<_, Problem>(outcome?)
        };
        Box::pin(self.visitor.write_as(self.tenant, Actor::saml(self.provider.id.as_str()), work)).await
    }

    /// Ends the sign-in, or the connection test that the response belongs to.
    async fn refuse(&self, refused: RefusedResponse, headers: &HeaderMap) -> Result<SamlOutcome, Problem> {
        self.refresh_metadata_early(&refused.refusal).await;
        let Some(test) = self.connection_test(&refused, headers).await? else {
            return Ok(SamlOutcome::Refused { refusal: refused.refusal, is_recorded: false });
        };
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            tx.report_connection_test(&test, &refused.report(ctx.now)).await?;
            Ok::<_, Problem>(Audited::without(SamlOutcome::Tested(test), Unaudited::StepTaken))
        };
        self.visitor.write_as(self.tenant, Actor::system("saml"), work).await
    }

    /// Schedules an early metadata refresh if the identity provider may have a new key.
    async fn refresh_metadata_early(&self, refusal: &Refusal) {
        // Many failed responses schedule one refresh: skip the write if it is already scheduled.
        if !refusal.may_be_new_key() || self.provider.early_refresh_at(self.visitor.env().now()).is_none() {
            return;
        }
        let id = self.provider.id.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            saml_sp::schedule_early_refresh(ctx, tx, &id).await?;
            Ok::<_, Problem>(Audited::without((), Unaudited::NothingChanged))
        };
        if let Err(problem) = self.visitor.write_as(self.tenant, Actor::system("saml"), work).await {
            tracing::warn!(%problem, "an early metadata refresh could not be scheduled");
        }
    }

    /// Finds the connection test that a refused response belongs to, if this browser started one.
    async fn connection_test(
        &self,
        refused: &RefusedResponse,
        headers: &HeaderMap,
    ) -> Result<Option<ConnectionTestId>, Problem> {
        let Some(request) = refused.in_response_to.clone() else { return Ok(None) };
        let Some(browser) = browser::request_cookie(headers, &request) else { return Ok(None) };
        let (provider, now) = (self.provider.id.clone(), self.visitor.env().now());
        let find = async move |tx: &mut Tx| {
            Ok::<_, Problem>(saml_sp::test_of_request(tx, &provider, &request, &browser, now).await?)
        };
        self.visitor.read(self.tenant, find).await
    }
}

/// Redirects after a sign-in, or responds with a page that explains the refusal.
async fn answered(
    site: &Site,
    visitor: &Visitor,
    request: &HttpRequest,
    (tenant, provider): (&TenantId, &Provider),
    outcome: SamlOutcome,
) -> Result<HttpResponse, Problem> {
    let problem = match outcome {
        SamlOutcome::Continued(outcome, return_to) => {
            area_metrics::saml_answered(if matches!(*outcome, SignIn::SignedIn(_)) {
                "SIGNED_IN"
            } else {
                "MFA_OWED"
            });
            return led_on(site, visitor, tenant, *outcome, &return_to).await;
        }
        SamlOutcome::Tested(test) => {
            area_metrics::saml_answered("TESTED");
            let query = [("provider", provider.id.as_str()), ("test", test.as_str())];
            return Ok(to(&pages::next::address("/settings/sso", &query)));
        }
        SamlOutcome::NetworkBlocked => {
            area_metrics::saml_answered("ACCOUNT");
            Problem::sign_in_blocked()
        }
        SamlOutcome::Refused { refusal, is_recorded } => {
            area_metrics::saml_answered(refusal.step().as_str());
            tracing::info!(
                request_id = visitor.request_id(),
                tenant = tenant.as_str(),
                provider = provider.id.as_str(),
                reason = refusal.reason.as_str(),
                "a SAML response was refused"
            );
            let problem = Problem::from(&refusal);
            if is_recorded {
                problem
            } else {
                let ctx = visitor.ctx(tenant, Actor::saml(provider.id.as_str()));
                problem.with_event_as(&ctx, sign_in::sso::refusal_event(provider, &refusal, None))
            }
        }
    };
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let mut answer = if accept.is_some_and(|accept| accept.contains("application/json")) {
        return Ok(problem.envelope());
    } else {
        let id = tenant.clone();
        let found = visitor.across(async move |across: &mut store::Across| across.tenant(&id).await).await?;
        let organisation = found.map(|tenant| tenant.name);
        let status = actix_web::ResponseError::status_code(&problem);
        pages::saml_refused(site, status, problem.code(), Some(visitor.request_id()), organisation.as_deref())
    };
    problem.attach_to(&mut answer);
    Ok(answer)
}

fn to(place: &str) -> HttpResponse {
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
            let mut answer = to(return_to);
            set_cookies(site, visitor.env(), tenant, &started, &mut answer)?;
            answer
        }
        SignIn::EnrolmentOwed { started, .. } => {
            let mut answer = to(&sign_in("continue"));
            set_cookies(site, visitor.env(), tenant, &started, &mut answer)?;
            answer
        }
        SignIn::FactorOwed { ticket, .. } => {
            let mut answer = to(&sign_in("resume"));
            set_ticket_cookie(site, &mut answer, ticket.0)?;
            answer
        }
    })
}
