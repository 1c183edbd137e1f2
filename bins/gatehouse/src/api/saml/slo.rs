//! `/api/saml/{providerId}/slo`: the single logout service.

use actix_web::{HttpRequest, HttpResponse, get, post, web};
use kernel::{Actor, Ctx, TenantId};
use saml_sp::{
    Against, Incoming, LogoutRequest, LogoutStatus, Outgoing, Provider, Reason, Refusal, Verified,
};
use sign_in::sso::{saml_log_out, saml_logout_refusal_event};
use store::Tx;
use utoipa::{IntoParams, ToSchema};

use super::provider::{provider_of, refresh_metadata_early, service_of};
use crate::{
    api::{
        Site, query,
        sso::{self, Returned},
    },
    area_metrics,
    pages::{self, PostPurpose},
};
use gate::{access::Visitor, body::Form, errors::Problem};

/// Maximum length of a RelayState that is returned, in bytes.
const MAX_RELAY_STATE: usize = 1024;

/// The form that an identity provider posts.
#[derive(ToSchema)]
#[schema(as = SamlLogoutForm)]
#[expect(dead_code, reason = "read by name: for the description alone")]
struct LogoutForm {
    /// Base64 of a LogoutRequest.
    #[schema(rename = "SAMLRequest")]
    saml_request: Option<String>,
    /// Base64 of a LogoutResponse.
    #[schema(rename = "SAMLResponse")]
    saml_response: Option<String>,
    #[schema(rename = "RelayState")]
    relay_state: Option<String>,
}

/// The query of the HTTP-Redirect binding.
#[derive(IntoParams)]
#[expect(dead_code, reason = "read by name: for the description alone")]
#[into_params(parameter_in = Query)]
struct LogoutQuery {
    /// Base64 of a compressed LogoutRequest.
    #[param(rename = "SAMLRequest")]
    saml_request: Option<String>,
    /// Base64 of a compressed LogoutResponse.
    #[param(rename = "SAMLResponse")]
    saml_response: Option<String>,
    #[param(rename = "RelayState")]
    relay_state: Option<String>,
    /// URI of the signature algorithm.
    #[param(rename = "SigAlg")]
    sig_alg: Option<String>,
    /// Base64 of the signature over the query.
    #[param(rename = "Signature")]
    signature: Option<String>,
}

/// Receive a SAML logout message (HTTP-POST)
///
/// Single logout service. A LogoutRequest revokes the sessions that it names by SessionIndex, or all of its NameID, and is
/// answered through the browser. A LogoutResponse ends a logout that was started here. Every message has to be signed. A
/// refused one is shown as a page, or as a problem with `Accept: application/json`.
#[utoipa::path(
    security(()),
    request_body(content = LogoutForm, content_type = "application/x-www-form-urlencoded"),
    responses(
        (status = 200, description = "HTML page with a form that posts the LogoutResponse.", content_type = "text/html", body = String),
        (status = 303, description = "To the identity provider with the LogoutResponse, or to the sign-in page."),
        (status = 400, description = "SAML_LOGOUT_REFUSED: the audit log shows administrators the reason."),
        (status = 429, description = "Too many messages from this address."),
    )
)]
#[post("/api/saml/{providerId}/slo")]
pub(crate) async fn saml_slo(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
    id: web::Path<String>,
    form: Form,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    let field = |name: &str| form.only(name).map(|text| Text::Field(text.to_owned()));
    let message = Message {
        request: field("SAMLRequest"),
        response: field("SAMLResponse"),
        relay_state: form.only("RelayState").map(str::to_owned),
    };
    let received =
        Received { site: &site, visitor: &visitor, http: &request, tenant: &tenant, provider: &provider };
    received.answer(message).await
}

/// Receive a SAML logout message (HTTP-Redirect)
///
/// The same as the POST, with the message in the query.
#[utoipa::path(
    security(()),
    params(LogoutQuery),
    responses(
        (status = 200, description = "HTML page with a form that posts the LogoutResponse.", content_type = "text/html", body = String),
        (status = 303, description = "To the identity provider with the LogoutResponse, or to the sign-in page."),
        (status = 400, description = "SAML_LOGOUT_REFUSED: the audit log shows administrators the reason."),
        (status = 429, description = "Too many messages from this address."),
    )
)]
#[get("/api/saml/{providerId}/slo")]
pub(crate) async fn saml_slo_redirect(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    let text =
        |name: &str| query::query(&request, name).map(|_| Text::Query(request.query_string().to_owned()));
    // The RelayState of a query is read together with the signature.
    let message = Message { request: text("SAMLRequest"), response: text("SAMLResponse"), relay_state: None };
    let received =
        Received { site: &site, visitor: &visitor, http: &request, tenant: &tenant, provider: &provider };
    received.answer(message).await
}

/// A message as the browser brought it.
enum Text {
    Field(String),
    Query(String),
}

impl Text {
    fn incoming(&self) -> Incoming<'_> {
        match self {
            Self::Field(text) => Incoming::Field(text),
            Self::Query(text) => Incoming::Query(text),
        }
    }
}

/// The parts of a form or query.
struct Message {
    request: Option<Text>,
    response: Option<Text>,
    relay_state: Option<String>,
}

/// The provider that a message was sent to.
struct Received<'a> {
    site: &'a web::Data<Site>,
    visitor: &'a Visitor,
    http: &'a HttpRequest,
    tenant: &'a TenantId,
    provider: &'a Provider,
}

impl Received<'_> {
    async fn answer(&self, message: Message) -> Result<HttpResponse, Problem> {
        self.site.saml.admit(&self.visitor.origin())?;
        match message {
            Message { request: Some(text), response: None, relay_state } => {
                self.end_sessions(text, relay_state).await
            }
            Message { request: None, response: Some(text), .. } => self.finish(text).await,
            _ => {
                let detail = "the message has neither SAMLRequest nor SAMLResponse, or both";
                self.refuse(&Refusal::new(Reason::Missing, detail)).await
            }
        }
    }

    /// Ends the sessions that a LogoutRequest names, and responds to the identity provider.
    async fn end_sessions(&self, text: Text, relay_state: Option<String>) -> Result<HttpResponse, Problem> {
        let examined = self.examine(move |against| saml_sp::examine_logout_request(text.incoming(), against));
        let request = match examined.await? {
            Ok(request) => request,
            Err(refusal) => return self.refuse(&refusal).await,
        };
        let (id, signed) = (request.get().id.clone(), request.get().relay_state.clone());
        match self.log_out(request).await? {
            Ok(0) => {
                let provider = self.provider.id.as_str();
                tracing::info!(provider, "a SAML logout request named no session");
                area_metrics::saml_logout("unmatched");
            }
            Ok(_) => area_metrics::saml_logout("ended"),
            Err(refusal) => return self.refuse(&refusal).await,
        }
        let relay_state = signed.or(relay_state).filter(|state| state.len() <= MAX_RELAY_STATE);
        match self.response(id, relay_state).await? {
            Some(outgoing) => send(self.site, self.provider, PostPurpose::Logout, outgoing),
            None => Ok(sso::redirect(SIGNED_OUT)),
        }
    }

    async fn log_out(&self, request: Verified<LogoutRequest>) -> Result<Result<usize, Refusal>, Problem> {
        let provider = self.provider.clone();
        let actor = Actor::saml(provider.id.as_str());
        let work = async move |ctx: &Ctx, tx: &mut Tx| {
            Ok::<_, Problem>(saml_log_out(ctx, tx, &provider, &request).await?)
        };
        self.visitor.write_as(self.tenant, actor, work).await
    }

    /// Creates the response to a request with this ID; `None` if the identity provider has no logout service.
    async fn response(&self, id: String, relay_state: Option<String>) -> Result<Option<Outgoing>, Problem> {
        let Some(at) = self.provider.idp.logout.clone() else { return Ok(None) };
        let (env, provider, service) =
            (self.visitor.shared_env(), self.provider.clone(), service_of(self.site, &self.provider.id));
        let seal = self.site.pipeline.keys.saml();
        let work = move || {
            let key = provider.keys.active.open(&seal, &provider.id)?;
            let answered = (id.as_str(), relay_state.as_deref());
            saml_sp::respond_to_logout(&*env, &service, &at, answered, LogoutStatus::Success, &key)
        };
        let outgoing = self.visitor.without_slot(self.site.saml.compute(work)).await??;
        outgoing.map(Some).map_err(Problem::unexpected)
    }

    /// Ends a logout that was started here. The session has ended before, so that a response changes nothing.
    async fn finish(&self, text: Text) -> Result<HttpResponse, Problem> {
        let examined =
            self.examine(move |against| saml_sp::examine_logout_response(text.incoming(), against));
        match examined.await? {
            Ok(response) if response.get().is_success => {
                area_metrics::saml_logout("completed");
                Ok(sso::redirect(SIGNED_OUT))
            }
            Ok(_) => {
                area_metrics::saml_logout("incomplete");
                Ok(sso::redirect(SIGNED_OUT_HERE))
            }
            // Some identity providers do not sign responses. The audit entry says so; users see that the logout there is
            // uncertain.
            Err(refusal) => {
                let mut answer = sso::redirect(SIGNED_OUT_HERE);
                self.refusal(&refusal).await.attach_to(&mut answer);
                Ok(answer)
            }
        }
    }

    /// Runs the checks that need no storage, outside of the request threads.
    async fn examine<T: Send + 'static>(
        &self,
        examine: impl FnOnce(&Against<'_>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (service, provider) = (service_of(self.site, &self.provider.id), self.provider.clone());
        let (seal, now) = (self.site.pipeline.keys.saml(), self.visitor.env().now());
        let work = move || {
            let keys: Vec<_> =
                provider.keys.all().filter_map(|key| key.open(&seal, &provider.id).ok()).collect();
            examine(&Against { provider: &provider, service: &service, keys: &keys, now })
        };
        self.visitor.without_slot(self.site.saml.compute(work)).await?
    }

    async fn refuse(&self, refusal: &Refusal) -> Result<HttpResponse, Problem> {
        let returned = Returned::Refused(self.refusal(refusal).await);
        sso::respond(self.site, self.visitor, self.http, (self.tenant, &self.provider.id), returned).await
    }

    /// Counts and logs a refusal, and returns it with its audit event.
    async fn refusal(&self, refusal: &Refusal) -> Problem {
        area_metrics::saml_logout("refused");
        refresh_metadata_early(self.visitor, self.tenant, self.provider, refusal).await;
        let (tenant, provider) = (self.tenant, self.provider);
        tracing::info!(
            request_id = self.visitor.request_id(),
            tenant = tenant.as_str(),
            provider = provider.id.as_str(),
            reason = refusal.reason.as_str(),
            "a SAML logout message was refused"
        );
        let ctx = self.visitor.ctx(tenant, Actor::saml(provider.id.as_str()));
        Problem::saml_logout_refused().with_event_as(&ctx, saml_logout_refusal_event(provider, refusal))
    }
}

/// The sign-in page after a complete logout.
const SIGNED_OUT: &str = "/auth/login?reason=SIGNED_OUT";
/// The sign-in page after a logout that the identity provider did not complete.
const SIGNED_OUT_HERE: &str = "/auth/login?reason=SIGNED_OUT_HERE";

/// Sends a message through the browser.
pub(super) fn send(
    site: &Site,
    provider: &Provider,
    purpose: PostPurpose,
    outgoing: Outgoing,
) -> Result<HttpResponse, Problem> {
    match outgoing {
        Outgoing::Url(url) => Ok(sso::redirect(&url)),
        Outgoing::Form { action, fields } => {
            let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
            pages::saml_post(site, purpose, &provider.name, &action, &fields)
        }
    }
}
