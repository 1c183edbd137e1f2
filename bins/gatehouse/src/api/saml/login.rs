//! `GET /api/saml/{providerId}/login`: redirects to the identity provider.

use actix_web::{HttpRequest, HttpResponse, get, web};
use audit::{Audited, Unaudited};
use credentials::attempts;
use kernel::{Actor, Ctx, TenantId};
use saml_sp::{BegunLogin, ConnectionTestId, Provider, RequestPurpose, RequestStore};
use store::Tx;
use utoipa::IntoParams;

use super::{
    browser,
    provider::{provider_of, service_of},
    slo::send,
};
use crate::{
    api::{Site, query},
    area_metrics,
    pages::PostPurpose,
};
use gate::{access::Visitor, errors::Problem};

/// Maximum length of the return address; a longer one is replaced by `/`.
pub(crate) const MAX_RELAY_STATE: usize = 2048;

/// What a sign-in is begun with.
#[derive(IntoParams)]
#[expect(dead_code, reason = "read by name: for the description alone")]
#[into_params(parameter_in = Query, rename_all = "camelCase")]
pub(crate) struct LoginQuery {
    /// URL to return to: of this service, or of an origin in the setting `return_origins`. Any other value leads to `/`.
    relay_state: Option<String>,
    /// `try_…`: run this connection test and show its report instead of signing in.
    test: Option<String>,
}

/// Start a SAML sign-in
///
/// Sends an AuthnRequest to the identity provider: with a page that posts it, or with a redirect. The request can be answered once, within ten
/// minutes, in the same browser.
#[utoipa::path(
    security(()),
    params(LoginQuery),
    responses(
        (status = 200, description = "HTML page with a form that submits itself.", content_type = "text/html", body = String),
        (status = 303, description = "To the identity provider, if it offers only HTTP-Redirect."),
        (status = 404, description = "Unknown SSO connection, or no such connection test."),
        (status = 429, description = "Too many sign-ins from this address."),
    )
)]
#[get("/api/saml/{providerId}/login")]
pub(crate) async fn saml_login(
    site: web::Data<Site>,
    visitor: Visitor,
    id: web::Path<String>,
    request: HttpRequest,
) -> Result<HttpResponse, Problem> {
    let (tenant, provider) = provider_of(&visitor, &id).await?;
    visitor.attempt(attempts::federated(&visitor.origin())).await?;
    let relay_state = query::query(&request, "relayState").filter(|place| place.len() <= MAX_RELAY_STATE);
    let trial = match query::query(&request, "test") {
        Some(test) => Some(waiting(&visitor, &tenant, &provider, &test).await?),
        None => None,
    };
    let return_to = crate::pages::next::place_after(&site, relay_state.as_deref());
    let service = service_of(&site, &provider.id);
    let begun = begun(&site, &visitor, &provider, RequestPurpose { return_to, trial }).await?;
    let request = begun.request.clone();
    let work = async move |_: &Ctx, tx: &mut Tx| {
        tx.insert_request(&request).await?;
        Ok::<_, Problem>(Audited::without((), Unaudited::StepTaken))
    };
    visitor.write_as(&tenant, Actor::system("saml"), work).await?;
    area_metrics::saml_begun();
    let mut answer = send(&site, &provider, PostPurpose::SignIn, begun.outgoing)?;
    let bound = (&begun.request.id, begun.browser.expose().as_str());
    browser::bind(&site, &visitor, &mut answer, bound, &service.acs_url)?;
    Ok(answer)
}

/// Finds the connection test that waits for this sign-in.
async fn waiting(
    visitor: &Visitor,
    tenant: &TenantId,
    provider: &Provider,
    test: &str,
) -> Result<ConnectionTestId, Problem> {
    let id: ConnectionTestId = test.parse().map_err(|_| Problem::not_found())?;
    let (of, now) = (provider.id.clone(), visitor.env().now());
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(saml_sp::waiting_test(tx, &of, &id, now).await?);
    let test = visitor.read(tenant, find).await?.ok_or_else(Problem::not_found)?;
    Ok(test.id)
}

/// Creates the authentication request, signed if the connection is configured so.
async fn begun(
    site: &web::Data<Site>,
    visitor: &Visitor,
    provider: &Provider,
    intent: RequestPurpose,
) -> Result<BegunLogin, Problem> {
    let (env, service, provider) = (visitor.shared_env(), service_of(site, &provider.id), provider.clone());
    let seal = site.pipeline.keys.saml();
    let work = move || {
        let key =
            if provider.sign_requests { Some(provider.keys.active.open(&seal, &provider.id)?) } else { None };
        saml_sp::begin(&*env, &service, &provider, key.as_ref(), intent)
    };
    visitor.without_slot(site.saml.compute(work)).await??.map_err(Problem::unexpected)
}
