//! `POST /api/saml/{providerId}/acs`: the assertion consumer service.

use actix_web::{HttpRequest, HttpResponse, http::header::HeaderMap, post, web};
use audit::{Audited, Unaudited};
use kernel::{Actor, Ctx, TenantId};
use saml_sp::{Against, ConnectionTestId, ConnectionTestStore, Examined, Provider, Refusal, RefusedResponse};
use sign_in::{
    Outcome as SignIn,
    sso::{SamlResponse, SsoOutcome, provider_session},
};
use store::Tx;
use utoipa::ToSchema;

use super::{
    browser,
    provider::{provider_of, refresh_metadata_early, service_of},
};
use crate::{
    api::{
        Site,
        auth::device_of,
        sso::{self, Returned},
    },
    area_metrics,
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
    mut visitor: Visitor,
    request: HttpRequest,
    id: web::Path<String>,
    form: Form,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    site.saml.admit(&visitor.origin())?;
    let field = form.only("SAMLResponse").unwrap_or_default().to_owned();
    let examined = examined(&site, &visitor, &provider, field).await?;
    let in_response_to = examined.says_it_answers.clone();
    let session = in_response_to.as_ref().and_then(|id| browser::sealed_session(request.headers(), id));
    if let Some(sealed) = session {
        visitor.recall_previous(&site.pipeline, &sealed);
    }
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
    ) -> Result<SsoOutcome<Refusal>, Problem> {
        let accepted = match examined.into_result() {
            Ok(accepted) => accepted,
            Err(refused) => return self.refuse(*refused, headers).await,
        };
        let browser = browser::request_cookie(headers, &accepted.answers);
        let (provider, seal) = (self.provider.clone(), self.site.pipeline.keys.saml());
        let session = accepted.claims.get().session.as_ref();
        let session = session.map(|session| provider_session(&provider, &seal, session)).transpose();
        let provider_session = session.map_err(Problem::unexpected)?;
        let response = SamlResponse { provider, accepted, browser, relay_state, provider_session };
        let (site, device) = (self.site.clone(), device_of(self.site, self.visitor));
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let verifiers = site.verifiers();
            let outcome = sign_in::sso::with_saml_response(ctx, tx, &verifiers, response, &device).await;
            Ok::<_, Problem>(outcome?)
        };
        Box::pin(self.visitor.write_as(self.tenant, Actor::saml(self.provider.id.as_str()), work)).await
    }

    /// Ends the sign-in, or the connection test that the response belongs to.
    async fn refuse(
        &self,
        refused: RefusedResponse,
        headers: &HeaderMap,
    ) -> Result<SsoOutcome<Refusal>, Problem> {
        refresh_metadata_early(self.visitor, self.tenant, self.provider, &refused.refusal).await;
        let Some(test) = self.connection_test(&refused, headers).await? else {
            return Ok(SsoOutcome::Refused { refusal: refused.refusal, is_recorded: false });
        };
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            tx.report_connection_test(&test, &refused.report(ctx.now)).await?;
            Ok::<_, Problem>(Audited::without(SsoOutcome::Tested(test), Unaudited::StepTaken))
        };
        self.visitor.write_as(self.tenant, Actor::system("saml"), work).await
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

/// Counts and logs the outcome, and responds to the browser.
async fn answered(
    site: &Site,
    visitor: &Visitor,
    request: &HttpRequest,
    (tenant, provider): (&TenantId, &Provider),
    outcome: SsoOutcome<Refusal>,
) -> Result<HttpResponse, Problem> {
    let (counted, returned) = match outcome {
        SsoOutcome::Continued(outcome, return_to) => {
            let is_signed_in = matches!(*outcome, SignIn::SignedIn(_));
            let counted = if is_signed_in { "SIGNED_IN" } else { "MFA_OWED" };
            (counted, Returned::Continued(outcome, return_to))
        }
        SsoOutcome::Tested(test) => ("TESTED", Returned::Tested(test)),
        SsoOutcome::NetworkBlocked => ("ACCOUNT", Returned::Refused(Problem::sign_in_blocked())),
        SsoOutcome::Refused { refusal, is_recorded } => {
            let counted = refusal.step().as_str();
            tracing::info!(
                request_id = visitor.request_id(),
                tenant = tenant.as_str(),
                provider = provider.id.as_str(),
                reason = refusal.reason.as_str(),
                "a SAML response was refused"
            );
            let problem = Problem::from(&refusal);
            let problem = if is_recorded {
                problem
            } else {
                let ctx = visitor.ctx(tenant, Actor::saml(provider.id.as_str()));
                problem.with_event_as(&ctx, sign_in::sso::refusal_event(provider, &refusal, None))
            };
            (counted, Returned::Refused(problem))
        }
    };
    area_metrics::saml_answered(counted);
    sso::respond(site, visitor, request, (tenant, &provider.id), returned).await
}
