//! Pages drawn on the server, brought to life by modules that call the API. No inline script, no inline style,
//! nothing from elsewhere.

mod assets;
mod audit_log;
mod authenticators;
mod developers;
mod enrol;
mod event_groups;
mod frame;
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
    get,
    web::{Redirect, ServiceConfig},
};

pub(crate) use self::{refusal::problem_page, saml_post::saml_post, saml_refused::saml_refused};

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
