//! `/api/oidc`: sign-in through an OpenID provider.

mod browser;
mod callback;
mod exchange;
mod jwks;
mod keys;
mod login;
mod logout;
mod provider;

pub(crate) use self::provider::relying_party;
use crate::api::Registry;

pub(crate) fn routes(registry: &mut Registry<'_>) {
    registry
        .service(login::oidc_login)
        .service(callback::oidc_callback)
        .service(jwks::oidc_jwks)
        .service(logout::oidc_backchannel_logout);
}
