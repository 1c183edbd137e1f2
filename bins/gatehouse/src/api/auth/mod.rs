//! `/api/auth`: signing in, step by step, and out.

mod area;
mod ceremonies;
mod codes;
mod enter;
mod hashing;
mod links;
mod passkey;
mod providers;
mod resume;
mod sign_in;
mod sign_out;
mod step_up;
pub(crate) mod ticket;
mod verify;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use self::{
    area::{Auth, NAME},
    codes::{FactorName, totp_place, totp_step},
    enter::{Device, Entered, Proved, Step, enter, start},
    resume::keep_ticket,
    sign_in::invalid_credentials,
    sign_out::Revoked,
    verify::factor_invalid,
};

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .service(sign_in::sign_in)
        .service(sign_in::choose_tenant)
        .service(verify::verify_factor)
        .service(verify::continue_sign_in)
        .service(providers::sign_in_providers)
        .service(resume::resume_sign_in)
        .service(passkey::begin_passkey_sign_in)
        .service(passkey::finish_passkey_sign_in)
        .service(links::redeem_link)
        .service(sign_out::sign_out)
        .service(step_up::step_up_challenge_options)
        .service(step_up::verify_step_up)
        .service(step_up::step_up_status)
        .service(step_up::consume_step_up);
}
