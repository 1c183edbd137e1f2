//! `/api/me`: the caller's own account.

pub(crate) mod factors;
mod locked;
mod passkeys;
mod password;
mod profile;
mod recovery;
pub(crate) mod sessions;
pub(crate) mod tokens;
mod totp;

pub(crate) use self::profile::{NewPhone, Patched, phone_numbers};
use crate::api::Registry;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(profile::get_me)
        .service(profile::patch_me)
        .service(sessions::list_sessions)
        .service(sessions::revoke_session)
        .service(sessions::revoke_other_sessions)
        .service(sessions::heartbeat)
        .service(password::change_password)
        .service(factors::list_factors)
        .service(factors::rename_factor)
        .service(factors::remove_factor)
        .service(factors::remove_all_factors)
        .service(totp::begin_totp)
        .service(totp::verify_totp)
        .service(passkeys::begin_passkey)
        .service(passkeys::verify_passkey)
        .service(recovery::generate_recovery_codes)
        .service(tokens::list_tokens)
        .service(tokens::create_token)
        .service(tokens::revoke_token);
}
