//! Pages drawn on the server, brought to life by modules that call the API. No inline script, no inline style,
//! nothing from elsewhere.

mod assets;
mod audit_log;
mod authenticators;
mod developers;
mod enrol;
mod event_groups;
mod login;
mod network;
pub(crate) mod next;
mod refusal;
mod saml_post;
mod saml_refused;
mod security;
mod sso;
mod times;
mod webhooks;

use actix_web::{
    HttpResponse, get,
    http::header,
    web::{Redirect, ServiceConfig},
};
use askama::Template;
use directory::Role;
use sessions::SessionId;

pub(crate) use self::{refusal::problem_page, saml_post::saml_post, saml_refused::saml_refused};
use crate::http::Site;
use gate::errors::Problem;

/// Pages for everybody, for the table of operations.
pub(crate) const OPEN: [&str; 4] = ["/", "/developers", "/assets/{file}", "/auth/login"];
/// Pages for those who have a session.
pub(crate) const SIGNED_IN: [&str; 7] = [
    enrol::PATH,
    security::PATH,
    network::PATH,
    authenticators::PATH,
    sso::PATH,
    webhooks::PATH,
    audit_log::PATH,
];

pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(home)
        .service(developers::developers)
        .service(assets::asset)
        .service(login::login)
        .service(enrol::enrol)
        .service(security::security)
        .service(network::network)
        .service(authenticators::authenticators)
        .service(sso::sso)
        .service(webhooks::webhooks)
        .service(audit_log::audit_log);
}

/// Where people arrive who ask for nothing.
#[get("/")]
async fn home() -> Redirect {
    Redirect::to(security::PATH).see_other()
}

/// The pages of an administrator: where they are, and what they are called.
const WAYS: [(&str, &str); 6] = [
    (security::PATH, "Security"),
    (network::PATH, "Network"),
    (authenticators::PATH, "Authenticators"),
    (sso::PATH, "Single sign-on"),
    (webhooks::PATH, "Webhooks"),
    (audit_log::PATH, "Audit log"),
];

/// What every page has.
struct Shell<'a> {
    title: &'a str,
    /// What browsers must see before the path, or nothing that changes something is accepted.
    base_url: &'a str,
    /// The module that brings the page to life.
    script: &'static str,
    /// Its path, where there are ways to others.
    here: &'static str,
    /// Who is signed in.
    person: Option<Who>,
}

/// Who is signed in, as the head of a page says it.
struct Who {
    name: String,
    tenant: String,
    /// Whether the settings are theirs.
    admin: bool,
    /// Which session the page was drawn for: an open page notices when it is another.
    session: String,
}

impl Who {
    fn of(person: &directory::Person, tenant: &directory::Tenant, session: &SessionId) -> Self {
        let name = person.display_name.clone().unwrap_or_else(|| person.account().to_owned());
        let admin = person.role == Role::Admin;
        Self { name, tenant: tenant.name.clone(), admin, session: session.to_string() }
    }
}

impl<'a> Shell<'a> {
    fn new(site: &'a Site, title: &'a str, script: &'static str) -> Self {
        Self { title, base_url: &site.pipeline.base_url, script, here: "", person: None }
    }
}

/// A page about a person: kept nowhere.
fn draw(page: &impl Template) -> Result<HttpResponse, Problem> {
    let text = page.render().map_err(Problem::unforeseen)?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .content_type("text/html; charset=utf-8")
        .body(text))
}
