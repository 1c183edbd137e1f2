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
use crate::api::Operations;

pub(crate) fn routes(operations: &mut Operations<'_>) {
    operations
        .service(login::oidc_login)
        .service(callback::oidc_callback)
        .service(jwks::oidc_jwks)
        .service(logout::oidc_backchannel_logout);
}
