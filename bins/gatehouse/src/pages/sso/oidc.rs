//! The pages of OpenID Connect connections.

use askama::Template;
use kernel::Ctx;
use saml_sp::ProviderId;
use sign_in::sso::oidc::RelyingParty;
use store::Tx;

use super::super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use super::{
    accounts::draw_accounts,
    view::{PATH, View, sign_in_url},
};
use crate::api::{
    Answer, Call,
    settings::oidc_providers::{oidc_found, views::OidcProviderView},
};
use gate::permissions::{InPerson, ManageConnections};

/// The API's path of OpenID Connect connections.
pub(super) const API: &str = "/api/settings/oidc-providers";

/// The form for a new connection.
#[derive(Template)]
#[template(path = "oidc_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    /// A redirect URI to enter until the connection has an ID. Nothing responds there.
    placeholder: String,
}

/// The state of a connection, and its connection tests.
#[derive(Template)]
#[template(path = "oidc_provider.html")]
struct Overview<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    issuer: &'a str,
    /// URL of the organization's sign-in page.
    sign_in_url: String,
    ours: RelyingParty,
}

/// Instructions for the identity provider's side of a connection.
#[derive(Template)]
#[template(path = "oidc_setup.html")]
struct Setup<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    issuer: &'a str,
    /// The probable vendor of the identity provider.
    guessed: &'static str,
    ours: RelyingParty,
}

/// The settings of a connection.
#[derive(Template)]
#[template(path = "oidc_settings.html")]
struct Settings<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    issuer: &'a str,
}

/// Guesses the vendor of an identity provider from its issuer.
fn guessed(issuer: &str) -> &'static str {
    let host = issuer.strip_prefix("https://").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let is_okta = [".okta.com", ".okta-emea.com", ".oktapreview.com"].iter().any(|end| host.ends_with(end));
    match host {
        "accounts.google.com" => "GOOGLE",
        "login.microsoftonline.com" | "login.microsoftonline.us" | "sts.windows.net" => "ENTRA",
        _ if is_okta => "OKTA",
        _ if issuer.contains("/realms/") => "KEYCLOAK",
        _ => "OTHER",
    }
}

/// Renders the form for a new connection.
pub(super) async fn draw_new(call: &Call<InPerson<ManageConnections>>) -> Answer {
    let administrator = Administrator::load(call).await?;
    let base_url = call.site.pipeline.base_url.trim_end_matches('/');
    let shell = administrator.shell(&call.site, "Add SSO connection", "oidc-new.js", PATH);
    draw(&New { shell, placeholder: format!("{base_url}/api/oidc/placeholder/callback") })
}

/// Renders a page of a connection.
pub(super) async fn draw_connection(call: &Call<InPerson<ManageConnections>>, id: ProviderId) -> Answer {
    let find = async move |_: &Ctx, tx: &mut Tx| oidc_found(tx, &id).await;
    let (provider, tenant) = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let base_url = &call.site.pipeline.base_url;
    let view = OidcProviderView::of(base_url, &provider, &tenant, call.ctx().now);
    let (id, issuer) = (provider.id.as_str(), provider.metadata.issuer.as_str());
    let answer = EmbeddedAnswer::new(format!("{API}/{id}"), &view)?;
    let shell = |script| administrator.shell(&call.site, &provider.name, script, PATH).embed(vec![answer]);
    let ours = RelyingParty::of(base_url, &provider.id);
    match View::of(call) {
        View::Accounts => draw_accounts(call, (&provider.id, issuer), shell("sso-accounts.js")).await,
        View::Settings => draw(&Settings { shell: shell("oidc-settings.js"), id, issuer }),
        View::Setup => {
            let (shell, guessed) = (shell("oidc-setup.js"), guessed(issuer));
            draw(&Setup { shell, id, issuer, guessed, ours })
        }
        View::Overview => {
            let (shell, sign_in_url) = (shell("oidc-provider.js"), sign_in_url(call, &administrator));
            draw(&Overview { shell, id, issuer, sign_in_url, ours })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_tells_the_vendor() {
        for (issuer, vendor) in [
            ("https://example.okta.com", "OKTA"),
            ("https://example.oktapreview.com/oauth2/default", "OKTA"),
            ("https://login.microsoftonline.com/11111111-2222-4333-8444-555555555555/v2.0", "ENTRA"),
            ("https://accounts.google.com", "GOOGLE"),
            ("https://id.example.com/realms/example", "KEYCLOAK"),
            ("https://okta.com.example.com", "OTHER"),
            ("", "OTHER"),
        ] {
            assert_eq!(guessed(issuer), vendor, "{issuer}");
        }
    }
}
