//! `/settings/sso`: SSO connections, and the domains of email addresses.

use actix_web::{HttpResponse, get};
use askama::Template;
use kernel::Ctx;
use saml_sp::{ProviderId, ServiceProvider};
use store::Tx;

use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{
    Answer, Call, ProviderView,
    query::query,
    settings::{
        domains::domain_list,
        saml_providers::{found, provider_list},
    },
};
use gate::{errors::Problem, permissions::AdministerInPerson, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings/sso";
/// The API's path of SSO connections.
const API: &str = "/api/settings/saml-providers";

/// The list of SSO connections.
#[derive(Template)]
#[template(path = "sso.html")]
struct List<'a> {
    shell: PageFrame<'a>,
}

/// The form for a new SSO connection.
#[derive(Template)]
#[template(path = "sso_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    /// Placeholders until the connection has an ID.
    ours: ServiceAddresses,
}

/// The state of an SSO connection, and its connection tests.
#[derive(Template)]
#[template(path = "sso_provider.html")]
struct Overview<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    entity_id: &'a str,
    /// URL of the organization's sign-in page.
    sign_in_url: String,
    ours: ServiceAddresses,
}

/// Instructions for the identity provider's side of an SSO connection.
#[derive(Template)]
#[template(path = "sso_setup.html")]
struct Setup<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    entity_id: &'a str,
    /// The probable vendor of the identity provider.
    guessed: &'static str,
    ours: ServiceAddresses,
}

/// The settings of an SSO connection.
#[derive(Template)]
#[template(path = "sso_settings.html")]
struct Settings<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    entity_id: &'a str,
}

/// This service's addresses for an identity provider, and the URL that starts a sign-in.
struct ServiceAddresses {
    entity_id: String,
    acs_url: String,
    login_url: String,
}

impl ServiceAddresses {
    fn of(base_url: &str, id: &ProviderId) -> Self {
        let ServiceProvider { entity_id, acs_url } = ServiceProvider::of(base_url, id);
        let login_url = format!("{}/api/saml/{id}/login", base_url.trim_end_matches('/'));
        Self { entity_id, acs_url, login_url }
    }

    /// Returns placeholder URLs to enter at the identity provider until the connection exists. Nothing responds there.
    fn stand_in(base_url: &str) -> Self {
        let at = |name: &str| format!("{}/api/saml/placeholder/{name}", base_url.trim_end_matches('/'));
        Self { entity_id: at("metadata"), acs_url: at("acs"), login_url: at("login") }
    }
}

/// Guesses the vendor of an identity provider from its entity ID.
fn guessed(entity_id: &str) -> &'static str {
    match entity_id {
        _ if entity_id.starts_with("http://www.okta.com/") => "OKTA",
        _ if entity_id.starts_with("https://sts.windows.net/") => "ENTRA",
        _ => "OTHER",
    }
}

/// Renders the SSO pages: the list, `?new`, `?provider=sso_…` (with `&test=try_…` for the report of a connection
/// test), and its `&view=setup` and `&view=settings`.
#[get("/settings/sso")]
pub(crate) async fn sso(call: Call<AdministerInPerson>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<AdministerInPerson>) -> Answer {
    let id = query(&call.request, "provider").map(|id| id.parse::<ProviderId>()).transpose();
    let wanted = id.map_err(|_| Problem::not_found())?;
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let Some(id) = &wanted else { return Ok::<_, Problem>(None) };
        Ok(Some(found(tx, id).await?))
    };
    let provider = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let shell = |title, script| administrator.shell(&call.site, title, script, PATH);
    let Some((one, tenant)) = &provider else {
        if query(&call.request, "new").is_some() {
            let ours = ServiceAddresses::stand_in(&call.site.pipeline.base_url);
            return draw(&New { shell: shell("Add SSO connection", "sso-new.js"), ours });
        }
        let answers = vec![
            EmbeddedAnswer::new(API, &provider_list(call).await?)?,
            EmbeddedAnswer::new("/api/settings/domains", &domain_list(call).await?)?,
        ];
        return draw(&List { shell: shell("Single sign-on", "sso.js").embed(answers) });
    };
    let (id, entity_id) = (one.id.as_str(), one.idp.entity_id.as_str());
    let base_url = &call.site.pipeline.base_url;
    let ours = ServiceAddresses::of(base_url, &one.id);
    let view = ProviderView::of(base_url, one, tenant, call.ctx().now);
    let shell = |script| {
        Ok::<_, Problem>(
            shell(&one.name, script).embed(vec![EmbeddedAnswer::new(format!("{API}/{id}"), &view)?]),
        )
    };
    match query(&call.request, "view").as_deref() {
        Some("settings") => draw(&Settings { shell: shell("sso-settings.js")?, id, entity_id }),
        Some("setup") => {
            let (shell, guessed) = (shell("sso-setup.js")?, guessed(entity_id));
            draw(&Setup { shell, id, entity_id, guessed, ours })
        }
        _ => {
            let shell = shell("sso-provider.js")?;
            let base_url = base_url.trim_end_matches('/');
            let sign_in_url = format!("{base_url}/auth/login?tenant={}", administrator.tenant.slug);
            draw(&Overview { shell, id, entity_id, sign_in_url, ours })
        }
    }
}
