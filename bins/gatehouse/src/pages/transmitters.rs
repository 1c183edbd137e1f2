//! `/settings/transmitters`: transmitters whose signals are accepted.

use ::signals::{TransmitterId, TransmitterStore as _};
use actix_web::{HttpResponse, get};
use askama::Template;
use kernel::Ctx;
use saml_sp::ProviderStore as _;
use sign_in::sso::oidc::OidcStore as _;
use store::Tx;

use super::frame::{Administrator, EmbeddedAnswer, PageFrame, draw};
use crate::api::{
    Answer, Call,
    query::query,
    settings::signals::transmitters::{transmitter_list, transmitter_view},
};
use gate::{errors::Problem, permissions::ManageTransmitters, shape::AreaProblem};

pub(crate) const PATH: &str = "/settings/transmitters";
/// The API's path of transmitters.
const API: &str = "/api/settings/signals/transmitters";

/// The kinds of events: the member of the API, the title, and when an event counts.
const KINDS: [(&str, &str, &str); 8] = [
    ("sessionRevoked", "Session revoked", "CAEP session-revoked, RISC sessions-revoked"),
    ("credentialChange", "Credential changed, revoked or deleted", "CAEP credential-change"),
    ("credentialCompromise", "Credential compromised", "RISC credential-compromise"),
    ("assuranceLevelChange", "Assurance level decreased", "CAEP assurance-level-change"),
    ("deviceComplianceChange", "Device no longer compliant", "CAEP device-compliance-change"),
    ("riskLevelChange", "Risk level high", "CAEP risk-level-change"),
    ("accountDisabled", "Account disabled", "RISC account-disabled"),
    ("accountPurged", "Account deleted", "RISC account-purged"),
];

/// The list of transmitters.
#[derive(Template)]
#[template(path = "transmitters.html")]
struct List<'a> {
    shell: PageFrame<'a>,
}

/// The form for a new transmitter.
#[derive(Template)]
#[template(path = "transmitter_new.html")]
struct New<'a> {
    shell: PageFrame<'a>,
    kinds: &'a [(&'a str, &'a str, &'a str)],
    /// IDs and names of SSO connections.
    connections: &'a [(String, String)],
    base_url: &'a str,
}

/// A transmitter.
#[derive(Template)]
#[template(path = "transmitter.html")]
struct Transmitter<'a> {
    shell: PageFrame<'a>,
    id: &'a str,
    issuer: &'a str,
    kinds: &'a [(&'a str, &'a str, &'a str)],
    /// The name of the SSO connection, unless it was removed.
    connection: Option<&'a str>,
}

/// Renders the pages of transmitters: the list, `?new` and `?id=trm_…`.
#[get("/settings/transmitters")]
pub(crate) async fn transmitter_pages(call: Call<ManageTransmitters>) -> Result<HttpResponse, AreaProblem> {
    drawn(&call).await.map_err(|problem| AreaProblem::of(&call.request, problem))
}

/// Returns IDs and names of the SSO connections.
async fn connections(tx: &mut Tx) -> Result<Vec<(String, String)>, Problem> {
    let saml = tx.providers().await?.into_iter().map(|one| (one.id.as_str().to_owned(), one.name));
    let oidc = tx.oidc_providers().await?.into_iter().map(|one| (one.id.as_str().to_owned(), one.name));
    Ok(saml.chain(oidc).collect())
}

async fn drawn(call: &Call<ManageTransmitters>) -> Answer {
    let id = query(&call.request, "id").map(|id| id.parse::<TransmitterId>()).transpose();
    let id = id.map_err(|_| Problem::not_found())?;
    let find = async move |_: &Ctx, tx: &mut Tx| {
        let found = match &id {
            Some(id) => Some(tx.transmitter(id).await?.ok_or_else(Problem::not_found)?),
            None => None,
        };
        Ok::<_, Problem>((found, connections(tx).await?))
    };
    let (found, connections) = call.read(find).await?;
    let administrator = Administrator::load(call).await?;
    let shell = |title, script| administrator.shell(&call.site, title, script, PATH);
    let Some(transmitter) = &found else {
        if query(&call.request, "new").is_some() {
            let (shell, base_url) =
                (shell("Add transmitter", "transmitter-new.js"), &*call.site.pipeline.base_url);
            return draw(&New { shell, kinds: &KINDS, connections: &connections, base_url });
        }
        let list = EmbeddedAnswer::new(API, &transmitter_list(call).await?)?;
        return draw(&List { shell: shell("Transmitters", "transmitters.js").embed(vec![list]) });
    };
    let (id, issuer) = (transmitter.id.as_str(), transmitter.issuer.as_str());
    let answer = EmbeddedAnswer::new(format!("{API}/{id}"), &transmitter_view(call, transmitter))?;
    let connection = connections.iter().find(|(id, _)| *id == transmitter.connection);
    let connection = connection.map(|(_, name)| name.as_str());
    let shell = shell(&transmitter.name, "transmitter.js").embed(vec![answer]);
    draw(&Transmitter { shell, id, issuer, kinds: &KINDS, connection })
}
