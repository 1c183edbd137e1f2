//! `/api/auth`: signing in, step by step, and out.

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
pub(super) mod ticket;
mod verify;

use std::io;

use credentials::{Passkeys, Passwords};
use utoipa_actix_web::service_config::ServiceConfig;

use crate::config::Settings;

pub(super) use self::{
    codes::{FactorName, totp_place, totp_step},
    enter::{Device, Entered, Proved, Step, enter, start},
    hashing::Hashing,
    resume::keep_ticket,
    sign_in::invalid_credentials,
    sign_out::Revoked,
    verify::factor_invalid,
};

/// What authenticator apps and passkeys call this installation.
pub(super) const NAME: &str = "Gatehouse";

/// What signing in needs beside the path of every request.
pub(super) struct Auth {
    pub(super) hashing: Hashing,
    /// `None` where the address of the server cannot be that of a relying party.
    pub(super) passkeys: Option<Passkeys>,
}

impl Auth {
    pub(super) fn new(settings: &Settings, base_url: &str) -> io::Result<Self> {
        let passkeys = Passkeys::new(NAME, base_url);
        Ok(Self {
            hashing: Hashing::new(Passwords::new(settings.password_cost))?,
            passkeys: passkeys.map_err(|error| tracing::warn!(%error, "passkeys cannot be used")).ok(),
        })
    }
}

pub(super) fn routes(config: &mut ServiceConfig<'_>) {
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
