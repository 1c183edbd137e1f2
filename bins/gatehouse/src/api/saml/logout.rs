//! `GET /api/saml/{providerId}/logout`: continues a sign-out at the identity provider.

use actix_web::{HttpRequest, HttpResponse, get, web};
use sign_in::sso::read_logout_token;
use utoipa::IntoParams;

use super::{
    provider::{provider_of, service_of},
    slo::send,
};
use crate::{
    api::{Site, query, sso},
    pages::PostPurpose,
};
use gate::{access::Visitor, errors::Problem};

/// What a logout is started with.
#[derive(IntoParams)]
#[expect(dead_code, reason = "read by name: for the description alone")]
#[into_params(parameter_in = Query)]
struct LogoutToken {
    /// The token in the `logoutUrl` of a sign-out.
    token: Option<String>,
}

/// Continue a sign-out at the identity provider
///
/// Sends a signed LogoutRequest through the browser. The URL is the `logoutUrl` of a sign-out and works for five minutes;
/// later, it leads to the sign-in page.
#[utoipa::path(
    security(()),
    params(LogoutToken),
    responses(
        (status = 200, description = "HTML page with a form that posts the LogoutRequest.", content_type = "text/html", body = String),
        (status = 303, description = "To the identity provider with the LogoutRequest, or to the sign-in page."),
    )
)]
#[get("/api/saml/{providerId}/logout")]
pub(crate) async fn saml_logout(
    site: web::Data<Site>,
    visitor: Visitor,
    request: HttpRequest,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let (_, provider) = provider_of(&visitor, &id).await?;
    let token = query::query(&request, "token").unwrap_or_default();
    let (seal, env) = (site.pipeline.keys.saml(), visitor.shared_env());
    let Some((at, session)) = read_logout_token(&provider, &seal, &token, env.now()) else {
        return Ok(sso::redirect("/auth/login?reason=SIGNED_OUT_HERE"));
    };
    let (at, service, keys) = (at.clone(), service_of(&site, &provider.id), provider.keys.clone());
    let id = provider.id.clone();
    let work = move || {
        let key = keys.active.open(&seal, &id)?;
        saml_sp::start_logout(&*env, &service, &at, &session, &key)
    };
    let started = visitor.without_slot(site.saml.compute(work)).await??.map_err(Problem::unexpected)?;
    send(&site, &provider, PostPurpose::Logout, started.outgoing)
}
