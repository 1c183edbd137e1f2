//! `/api/auth`: sign-in, step by step, and sign-out.

mod answer;
mod area;
mod device_session;
mod forgotten_password;
mod links;
mod passkey;
mod password;
mod providers;
mod resume;
mod setup;
mod sign_out;
mod step_up;
mod tenant;
mod verify;

pub(crate) use self::{
    answer::{PasskeySetup, device_of, offer_binding, set_cookies},
    area::{Auth, NAME},
    resume::set_ticket_cookie,
    sign_out::Revoked,
};
use crate::api::Registry;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(password::sign_in_with_password)
        .service(tenant::choose_tenant)
        .service(verify::verify_factor)
        .service(verify::continue_sign_in)
        .service(providers::sign_in_providers)
        .service(resume::resume_sign_in)
        .service(passkey::begin_passkey_sign_in)
        .service(passkey::finish_passkey_sign_in)
        .service(links::redeem_link)
        .service(setup::set_up)
        .service(forgotten_password::forgotten_password)
        .service(sign_out::sign_out)
        .service(device_session::bind_session)
        .service(device_session::refresh_session)
        .service(step_up::step_up_challenge_options)
        .service(step_up::verify_step_up)
        .service(step_up::step_up_status)
        .service(step_up::consume_step_up);
}
