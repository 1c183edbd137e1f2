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
use saml_sp::{Against, ConnectionTestStore, Examined, Provider, ProviderStore, Reason, Refusal, Source};
use sign_in::Outcome as SignIn;
use store::Tx;
use utoipa::ToSchema;

use super::{
    admit::{Answer, ResponseOutcome, admit, find_connection_test, refused},
    browser,
    provider::{provider_of, service_of},
    report::{Outcome, report},
};
use crate::{
    api::{
        Site,
        auth::{device_of, set_cookies, set_ticket_cookie},
    },
    area_metrics, pages,
};
use gate::{
    access::Visitor,
    body::Form,
    errors::{Code, Problem},
};

/// Minimum milliseconds between metadata refreshes that failed signatures trigger.
const PATIENCE: i64 = 5 * 60_000;

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
    let kept = in_response_to.as_ref().and_then(|id| browser::request_cookie(request.headers(), id));
    let relay_state = form.only("RelayState").map(str::to_owned);
    let ended = match verified(&provider, examined, request.headers(), relay_state) {
        Ok(answer) => {
            let (place, device) = (site.clone(), device_of(&site, &visitor));
            let work = async move |ctx: &Ctx, tx: &mut Tx| admit(&place, ctx, tx, answer, &device).await;
            Box::pin(visitor.write_as(&tenant, Actor::saml(provider.id.as_str()), work)).await?
        }
        Err(refused) => {
            let (examined, refusal) = *refused;
            let response = Refused { visitor: &visitor, tenant: &tenant, provider: &provider };
            response.end(&examined, refusal, kept).await?
        }
    };
    let mut answer = answered(&site, &visitor, &request, (&tenant, &provider), ended).await?;
    if let Some(id) = &in_response_to {
        browser::release(&site, &mut answer, id, &service_of(&site, &provider.id).acs_url)?;
    }
    Ok(answer)
}

/// Returns a response that passed all checks without storage; otherwise its examination and the refusal.
fn verified(
    provider: &Provider,
    mut examined: Examined,
    headers: &HeaderMap,
    relay_state: Option<String>,
) -> Result<Answer, Box<(Examined, Refusal)>> {
    let nothing = || Refusal::new(Reason::Missing, "the response was not checked");
    match (std::mem::replace(&mut examined.outcome, Err(nothing())), examined.claims.take()) {
        (Ok(answers), Some(claims)) => {
            let (browser, passed) = (browser::request_cookie(headers, &answers), examined.passed);
            Ok(Answer { provider: provider.clone(), answers, claims, passed, browser, relay_state })
        }
        (outcome, claims) => {
            examined.claims = claims;
            Err(Box::new((examined, outcome.err().unwrap_or_else(nothing))))
        }
    }
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

/// A response that was refused before any storage access.
struct Refused<'a> {
    visitor: &'a Visitor,
    tenant: &'a TenantId,
    provider: &'a Provider,
}

impl Refused<'_> {
    /// Ends the sign-in, or the connection test that the response belongs to.
    async fn end(
        &self,
        examined: &Examined,
        refusal: Refusal,
        kept: Option<String>,
    ) -> Result<ResponseOutcome, Problem> {
        self.read_metadata_soon(&refusal).await;
        Ok(match self.tried(examined, &refusal, kept).await? {
            Some(trial) => ResponseOutcome::Tried(trial),
            None => ResponseOutcome::Refused { refusal, is_entered: false },
        })
    }

    /// Schedules an early metadata refresh if the identity provider may have a new key and its metadata has a URL.
    async fn read_metadata_soon(&self, refusal: &Refusal) {
        let by_key = matches!(refusal.reason, Reason::BadSignature | Reason::NoCertificate);
        let at_address = matches!(self.provider.source, Source::MetadataUrl(_));
        if !by_key || !at_address {
            return;
        }
        let now = self.visitor.env().now();
        let soon = move |provider: &Provider| {
            let refresh = &provider.refresh;
            let looked = refresh.read_at.max(refresh.failed.as_ref().map(|(at, _)| *at));
            let soon = looked.map_or(now, |at| at.plus_millis(PATIENCE)).max(now);
            refresh.next_at.is_none_or(|next| soon < next).then_some(soon)
        };
        // Many failed responses schedule one refresh: skip the write if it is already scheduled.
        if soon(self.provider).is_none() {
            return;
        }
        let id = self.provider.id.clone();
        let work = async move |_: &Ctx, tx: &mut Tx| {
            if let Some(mut provider) = tx.provider(&id).await?
                && let Some(at) = soon(&provider)
            {
                provider.refresh.next_at = Some(at);
                tx.update_provider(&provider).await?;
            }
            Ok::<_, Problem>(Audited::without((), Unaudited::NothingChanged))
        };
        if let Err(problem) = self.visitor.write_as(self.tenant, Actor::system("saml"), work).await {
            tracing::warn!(%problem, "an early metadata refresh could not be scheduled");
        }
    }

    /// Reports the refusal to the connection test that the response belongs to, if this browser started one.
    async fn tried(
        &self,
        examined: &Examined,
        refusal: &Refusal,
        kept: Option<String>,
    ) -> Result<Option<String>, Problem> {
        let (Some(asked), Some(kept)) = (examined.says_it_answers.clone(), kept) else { return Ok(None) };
        let (of, now) = (self.provider.id.clone(), self.visitor.env().now());
        let find = async move |tx: &mut Tx| find_connection_test(tx, &of, &asked, &kept, now).await;
        let Some(trial) = self.visitor.read(self.tenant, find).await? else { return Ok(None) };
        let (passed, refusal) = (examined.passed.clone(), refusal.clone());
        let claims = examined.claims.clone();
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            let claims = claims.as_ref().map(saml_sp::Verified::get);
            let outcome =
                Outcome { passed: &passed, claims, email: None, person: None, refusal: Some(&refusal) };
            tx.report_connection_test(&trial, &report(&outcome, ctx.now)).await?;
            Ok::<_, Problem>(Audited::without(Some(trial.to_string()), Unaudited::StepTaken))
        };
        self.visitor.write_as(self.tenant, Actor::system("saml"), work).await
    }
}

/// Redirects after a sign-in, or responds with a page that explains the refusal.
async fn answered(
    site: &Site,
    visitor: &Visitor,
    request: &HttpRequest,
    (tenant, provider): (&TenantId, &Provider),
    ended: ResponseOutcome,
) -> Result<HttpResponse, Problem> {
    let problem = match ended {
        ResponseOutcome::In(outcome, return_to) => {
            area_metrics::saml_answered(if matches!(*outcome, SignIn::SignedIn(_)) {
                "SIGNED_IN"
            } else {
                "MFA_OWED"
            });
            return led_on(site, visitor, tenant, *outcome, &return_to).await;
        }
        ResponseOutcome::Tried(trial) => {
            area_metrics::saml_answered("TESTED");
            let query = [("provider", provider.id.as_str()), ("test", trial.as_str())];
            return Ok(to(&pages::next::address("/settings/sso", &query)));
        }
        ResponseOutcome::Denied(problem) => {
            area_metrics::saml_answered("ACCOUNT");
            *problem
        }
        ResponseOutcome::Refused { refusal, is_entered } => {
            area_metrics::saml_answered(refusal.step().as_str());
            tracing::info!(
                request_id = visitor.request_id(),
                tenant = tenant.as_str(),
                provider = provider.id.as_str(),
                reason = refusal.reason.as_str(),
                "a SAML response was refused"
            );
            let problem = problem_of(&refusal);
            if is_entered {
                problem
            } else {
                let ctx = visitor.ctx(tenant, Actor::saml(provider.id.as_str()));
                problem.with_event_as(&ctx, refused(provider, &refusal, None))
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

/// Describes a refusal to the client. Details are given only after all checks of the response have passed.
fn problem_of(refusal: &Refusal) -> Problem {
    match refusal.reason {
        Reason::NotProvisioned => Problem::new(
            Code::NotProvisioned,
            "no user of this tenant has this address. Ask an administrator for an invitation",
        ),
        Reason::SsoNotAllowed => Problem::new(
            Code::SsoNotAllowed,
            "this tenant allows only email and password. Sign in with them, or ask an administrator",
        ),
        Reason::Disabled => Problem::account_disabled(),
        _ => Problem::new(
            Code::SamlRefused,
            "the response of the identity provider was refused. The audit log shows administrators the reason",
        ),
    }
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
