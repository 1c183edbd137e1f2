//! Server-rendered pages, with modules that call the API. They have no inline scripts, no inline styles, and no content
//! from other origins.

mod assets;
mod audit_log;
mod authenticators;
mod developers;
mod enrol;
mod frame;
mod login;
mod network;
pub(crate) mod next;
mod overview;
mod refusal;
mod saml_post;
mod saml_refused;
mod security;
mod sso;
mod times;
mod webhooks;

use actix_web::{
    get,
    web::{Redirect, ServiceConfig},
};

pub(crate) use self::{refusal::problem_page, saml_post::saml_post, saml_refused::saml_refused};

/// Public pages, for the table of operations.
pub(crate) const OPEN: [&str; 4] = ["/", "/developers", "/assets/{version}/{file}", "/auth/login"];
/// Pages that require a session.
pub(crate) const SIGNED_IN: [&str; 8] = [
    overview::PATH,
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
        .service(overview::overview)
        .service(network::network)
        .service(authenticators::authenticators)
        .service(sso::sso)
        .service(webhooks::webhooks)
        .service(audit_log::audit_log);
}

/// Redirects from the start page.
#[get("/")]
async fn home() -> Redirect {
    Redirect::to(security::PATH).see_other()
}

/// Paths and titles of the sections in the sidebar.
const SECTIONS: [(&str, &str); 7] = [
    (overview::PATH, "Overview"),
    (sso::PATH, "Identity and SSO"),
    (webhooks::PATH, "Webhooks"),
    (network::PATH, "Network"),
    (authenticators::PATH, "Authenticators"),
    (audit_log::PATH, "Audit log"),
    ("/developers", "Developers"),
];
