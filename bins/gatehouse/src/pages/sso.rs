//! `/settings/sso`: SSO connections, and the domains of email addresses.

mod accounts;
mod oidc;
mod saml;
mod view;

use actix_web::{HttpResponse, get};
use askama::Template;
use saml_sp::{Protocol, ProviderId};

pub(crate) use self::view::PATH;
use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{
    Answer, Call,
    query::query,
    settings::{domains::domain_list, oidc_providers::oidc_provider_list, saml_providers::provider_list},
};
use gate::{
    errors::Problem,
    permissions::{InPerson, ManageConnections},
    shape::AreaProblem,
};

/// The list of SSO connections.
#[derive(Template)]
#[template(path = "sso.html")]
struct List<'a> {
    shell: PageFrame<'a>,
}

/// Renders the SSO pages: the list, `?new=saml` and `?new=oidc`, `?provider=…` (with `&test=try_…` for the report of a
/// connection test), and its `&view=setup`, `&view=accounts` and `&view=settings`.
#[get("/settings/sso")]
pub(crate) async fn sso(call: Call<InPerson<ManageConnections>>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<InPerson<ManageConnections>>) -> Answer {
    if let Some(id) = query(&call.request, "provider") {
        let id: ProviderId = id.parse().map_err(|_| Problem::not_found())?;
        return match id.protocol() {
            Protocol::Saml => saml::draw_connection(call, id).await,
            Protocol::Oidc => oidc::draw_connection(call, id).await,
        };
    }
    match query(&call.request, "new").as_deref() {
        Some("oidc") => oidc::draw_new(call).await,
        Some(_) => saml::draw_new(call).await,
        None => draw_list(call).await,
    }
}

async fn draw_list(call: &Call<InPerson<ManageConnections>>) -> Answer {
    let administrator = Administrator::load(call).await?;
    let answers = vec![
        EmbeddedAnswer::new(saml::API, &provider_list(call).await?)?,
        EmbeddedAnswer::new(oidc::API, &oidc_provider_list(call).await?)?,
        EmbeddedAnswer::new("/api/settings/domains", &domain_list(call).await?)?,
    ];
    let shell = administrator.shell(&call.site, "Single sign-on", "sso.js", PATH);
    draw(&List { shell: shell.embed(answers) })
}
