//! `GET /api/oidc/{providerId}/login`: redirects to the OpenID provider.

use actix_web::{HttpRequest, HttpResponse, get, web};
use audit::{Audited, Unaudited};
use credentials::attempts;
use kernel::{Actor, Ctx, TenantId};
use saml_sp::{ConnectionTestId, RequestPurpose};
use sign_in::sso::oidc::{OidcProvider, OidcStore, begin};
use store::Tx;

use super::{
    browser,
    provider::{provider_of, relying_party},
};
use crate::{
    api::{
        Site, query,
        saml::{LoginQuery, MAX_RELAY_STATE},
        sso::redirect,
    },
    area_metrics,
};
use gate::{access::Visitor, errors::Problem};

/// Start a sign-in with OpenID Connect
///
/// Redirects to the OpenID provider (authorization code flow with PKCE). The request can be answered once, within ten
/// minutes, in the same browser.
#[utoipa::path(
    security(()),
    params(LoginQuery),
    responses(
        (status = 303, description = "To the OpenID provider."),
        (status = 404, description = "Unknown SSO connection, or no such connection test."),
        (status = 429, description = "Too many sign-ins from this address."),
    )
)]
#[get("/api/oidc/{providerId}/login")]
pub(crate) async fn oidc_login(
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
    let ours = relying_party(&site, &provider.id);
    let purpose = RequestPurpose { return_to, trial };
    let begun = begin(visitor.env(), &ours, &provider, purpose).map_err(Problem::unexpected)?;
    let pending = begun.request;
    let work = async move |_: &Ctx, tx: &mut Tx| {
        tx.insert_oidc_request(&pending).await?;
        Ok::<_, Problem>(Audited::without((), Unaudited::StepTaken))
    };
    visitor.write_as(&tenant, Actor::system("oidc"), work).await?;
    area_metrics::oidc_begun();
    let mut answer = redirect(&begun.location);
    browser::bind(&site, &mut answer, &begun.secrets.state, &ours, &begun.secrets.browser)?;
    Ok(answer)
}

/// Finds the connection test that waits for this sign-in.
async fn waiting(
    visitor: &Visitor,
    tenant: &TenantId,
    provider: &OidcProvider,
    test: &str,
) -> Result<ConnectionTestId, Problem> {
    let id: ConnectionTestId = test.parse().map_err(|_| Problem::not_found())?;
    let (of, now) = (provider.id.clone(), visitor.env().now());
    let find = async move |tx: &mut Tx| Ok::<_, Problem>(saml_sp::waiting_test(tx, &of, &id, now).await?);
    let test = visitor.read(tenant, find).await?.ok_or_else(Problem::not_found)?;
    Ok(test.id)
}
