//! `/api/oidc`: sign-in through an OpenID provider.

mod browser;
mod callback;
mod exchange;
mod jwks;
mod keys;
mod login;
mod logout;
mod provider;

use utoipa_actix_web::service_config::ServiceConfig;

pub(crate) use self::provider::relying_party;

pub(crate) fn routes(config: &mut ServiceConfig<'_>) {
    config
        .service(login::oidc_login)
        .service(callback::oidc_callback)
        .service(jwks::oidc_jwks)
        .service(logout::oidc_backchannel_logout);
}
