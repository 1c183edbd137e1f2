//! `/settings/sso`: SSO connections, and the domains of email addresses.

use actix_web::{HttpResponse, get};
use askama::Template;
use kernel::Ctx;
use saml_sp::{Provider, ProviderId, ProviderStore, ServiceProvider};
use store::Tx;

use super::{frame::Administrator, frame::PageFrame, frame::draw};
use crate::api::{Answer, Call, query::query};
use gate::{errors::Problem, permissions::AdministerInPerson, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings/sso";

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
/// test), and its `&view=setup` and `&view=settings`. The pages fetch their data from the API.
#[get("/settings/sso")]
pub(crate) async fn sso(call: Call<AdministerInPerson>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

async fn drawn(call: &Call<AdministerInPerson>) -> Answer {
    let id = query(&call.request, "provider").map(|id| id.parse::<ProviderId>()).transpose();
    let wanted = id.map_err(|_| Problem::not_found())?;
    let find = async move |_: &Ctx, tx: &mut Tx| match &wanted {
        Some(id) => Ok(Some(tx.provider(id).await?.ok_or_else(Problem::not_found)?)),
        None => Ok::<Option<Provider>, Problem>(None),
    };
    let provider = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let shell = |title, script| administrator.shell(&call.site, title, script, PATH);
    let Some(one) = &provider else {
        return match query(&call.request, "new") {
            Some(_) => {
                let ours = ServiceAddresses::stand_in(&call.site.pipeline.base_url);
                draw(&New { shell: shell("Add SSO connection", "sso-new.js"), ours })
            }
            None => draw(&List { shell: shell("Single sign-on", "sso.js") }),
        };
    };
    let (id, entity_id) = (one.id.as_str(), one.idp.entity_id.as_str());
    let ours = ServiceAddresses::of(&call.site.pipeline.base_url, &one.id);
    match query(&call.request, "view").as_deref() {
        Some("settings") => draw(&Settings { shell: shell(&one.name, "sso-settings.js"), id, entity_id }),
        Some("setup") => {
            let (shell, guessed) = (shell(&one.name, "sso-setup.js"), guessed(entity_id));
            draw(&Setup { shell, id, entity_id, guessed, ours })
        }
        _ => {
            let shell = shell(&one.name, "sso-provider.js");
            let base_url = call.site.pipeline.base_url.trim_end_matches('/');
            let sign_in_url = format!("{base_url}/auth/login?tenant={}", administrator.tenant.slug);
            draw(&Overview { shell, id, entity_id, sign_in_url, ours })
        }
    }
}
