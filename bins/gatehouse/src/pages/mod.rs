//! Server-rendered pages, with modules that call the API. They have no inline scripts, no inline styles, and no content
//! from other origins.

mod assets;
mod audit_log;
mod authenticators;
mod developers;
mod enrol;
mod events;
mod frame;
mod groups;
mod log_streams;
mod login;
mod network;
pub(crate) mod next;
mod overview;
mod people;
mod pictures;
mod refusal;
mod related_origins;
mod roles;
mod saml_post;
mod scim;
mod sections;
mod security;
mod setup;
mod sign_in;
mod signals;
mod sso;
mod sso_refused;
mod times;
mod transmitters;
mod webhooks;

use actix_web::{
    HttpRequest, get,
    web::{self, Redirect, ServiceConfig},
};
use gate::{access::Gate, shape::AreaProblem};

pub(crate) use self::{
    log_streams::PATH as LOG_STREAMS,
    refusal::problem_page,
    saml_post::{PostPurpose, saml_post},
    scim::PATH as SCIM,
    sso_refused::sso_refused,
    webhooks::PATH as WEBHOOKS,
};

/// Public pages, for the table of operations.
pub(crate) const OPEN: [&str; 9] = [
    "/",
    setup::PATH,
    developers::PATHS[0],
    developers::PATHS[1],
    developers::PATHS[2],
    "/assets/{version}/{file}",
    related_origins::PATH,
    pictures::PATH,
    "/auth/login",
];
/// Pages that require a session.
pub(crate) const SIGNED_IN: [&str; 16] = [
    scim::PATH,
    overview::PATH,
    people::PATH,
    groups::PATH,
    roles::PATH,
    sign_in::PATH,
    enrol::PATH,
    security::PATH,
    network::PATH,
    authenticators::PATH,
    sso::PATH,
    webhooks::PATH,
    log_streams::PATH,
    signals::PATH,
    transmitters::PATH,
    audit_log::PATH,
];

pub(crate) fn routes(config: &mut ServiceConfig) {
    config
        .service(home)
        .service(developers::start_page)
        .service(developers::section_page)
        .service(developers::schema_page)
        .service(assets::asset)
        .service(related_origins::related_origins)
        .service(pictures::picture)
        .service(login::login)
        .service(setup::setup)
        .service(enrol::enrol)
        .service(security::security)
        .service(overview::overview)
        .service(people::people)
        .service(groups::groups)
        .service(roles::roles)
        .service(sign_in::sign_in)
        .service(scim::scim)
        .service(network::network)
        .service(authenticators::authenticators)
        .service(sso::sso)
        .service(webhooks::webhooks)
        .service(log_streams::log_stream_pages)
        .service(signals::signal_pages)
        .service(transmitters::transmitter_pages)
        .service(audit_log::audit_log);
}

/// Redirects from the start page: to the setup of a new server, or to the user's own page.
#[get("/")]
async fn home(gate: web::Data<Gate>, request: HttpRequest) -> Result<Redirect, AreaProblem> {
    let is_new = gate.is_new().await.map_err(|error| AreaProblem::of(&request, error.into()))?;
    let place = if is_new { setup::PATH } else { security::PATH };
    Ok(Redirect::to(place).see_other())
}
