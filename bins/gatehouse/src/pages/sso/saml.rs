//! The pages of SAML connections.

use askama::Template;
use kernel::Ctx;
use saml_sp::{ProviderId, ServiceProvider};
use store::Tx;

use super::super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use super::{
    accounts::draw_accounts,
    view::{PATH, View, sign_in_url},
};
use crate::api::{Answer, Call, ProviderView, settings::saml_providers::found};
use gate::permissions::{InPerson, ManageConnections};

/// The API's path of SAML connections.
pub(super) const API: &str = "/api/settings/saml-providers";

/// The form for a new connection.
#[derive(Template)]
#[template(path = "sso_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    /// Placeholders until the connection has an ID.
    ours: ServiceAddresses,
}

/// The state of a connection, and its connection tests.
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

/// Instructions for the identity provider's side of a connection.
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

/// The settings of a connection.
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
    slo_url: String,
    login_url: String,
}

impl ServiceAddresses {
    fn of(base_url: &str, id: &ProviderId) -> Self {
        let ServiceProvider { entity_id, acs_url, slo_url } = ServiceProvider::of(base_url, id);
        let login_url = format!("{}/api/saml/{id}/login", base_url.trim_end_matches('/'));
        Self { entity_id, acs_url, slo_url, login_url }
    }

    /// Returns placeholder URLs to enter at the identity provider until the connection exists. Nothing responds there.
    fn stand_in(base_url: &str) -> Self {
        let at = |name: &str| format!("{}/api/saml/placeholder/{name}", base_url.trim_end_matches('/'));
        Self { entity_id: at("metadata"), acs_url: at("acs"), slo_url: at("slo"), login_url: at("login") }
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

/// Renders the form for a new connection.
pub(super) async fn draw_new(call: &Call<InPerson<ManageConnections>>) -> Answer {
    let administrator = Administrator::load(call).await?;
    let shell = administrator.shell(&call.site, "Add SSO connection", "sso-new.js", PATH);
    draw(&New { shell, ours: ServiceAddresses::stand_in(&call.site.pipeline.base_url) })
}

/// Renders a page of a connection.
pub(super) async fn draw_connection(call: &Call<InPerson<ManageConnections>>, id: ProviderId) -> Answer {
    let find = async move |_: &Ctx, tx: &mut Tx| found(tx, &id).await;
    let (provider, tenant) = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let base_url = &call.site.pipeline.base_url;
    let view = ProviderView::of(base_url, &provider, &tenant, call.ctx().now);
    let (id, entity_id) = (provider.id.as_str(), provider.idp.entity_id.as_str());
    let answer = EmbeddedAnswer::new(format!("{API}/{id}"), &view)?;
    let shell = |script| administrator.shell(&call.site, &provider.name, script, PATH).embed(vec![answer]);
    let ours = ServiceAddresses::of(base_url, &provider.id);
    match View::of(call) {
        View::Accounts => draw_accounts(call, (&provider.id, entity_id), shell("sso-accounts.js")).await,
        View::Settings => draw(&Settings { shell: shell("sso-settings.js"), id, entity_id }),
        View::Setup => {
            let (shell, guessed) = (shell("sso-setup.js"), guessed(entity_id));
            draw(&Setup { shell, id, entity_id, guessed, ours })
        }
        View::Overview => {
            let (shell, sign_in_url) = (shell("sso-provider.js"), sign_in_url(call, &administrator));
            draw(&Overview { shell, id, entity_id, sign_in_url, ours })
        }
    }
}
