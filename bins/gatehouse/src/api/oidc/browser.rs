//! Binds a request to the browser that started it: one cookie per request, which is sent only with the provider's
//! redirect.

use actix_web::{HttpResponse, cookie::SameSite, http::header::HeaderMap};
use data_encoding::HEXLOWER;
use kernel::Secret;
use saml_sp::REQUEST_MINUTES;
use sign_in::sso::oidc::RelyingParty;

use crate::api::Site;
use gate::{
    cookies::{self, RequestCookies},
    errors::Problem,
};

/// Returns the cookie's name: 16 characters of the hash of the state.
fn name(state: &str) -> String {
    let hash = ring::digest::digest(&ring::digest::SHA256, state.as_bytes());
    format!("oidc_{}", HEXLOWER.encode(hash.as_ref()).get(..16).unwrap_or_default())
}

/// Adds the cookie. The redirect is a top-level navigation, which carries `SameSite=Lax` cookies.
fn add(
    site: &Site,
    answer: &mut HttpResponse,
    state: &str,
    ours: &RelyingParty,
    value: &str,
    seconds: i64,
) -> Result<(), Problem> {
    let path = ours.redirect_uri.strip_prefix(&site.pipeline.base_url).ok_or_else(Problem::internal)?;
    let flags = (SameSite::Lax, site.pipeline.https);
    cookies::add(answer, (name(state), value.to_owned()), path, seconds, flags)
}

/// Sets the cookie that binds the request to the browser.
pub(super) fn bind(
    site: &Site,
    answer: &mut HttpResponse,
    state: &str,
    ours: &RelyingParty,
    secret: &Secret<String>,
) -> Result<(), Problem> {
    add(site, answer, state, ours, secret.expose(), REQUEST_MINUTES * 60)
}

/// Deletes the cookie after the redirect.
pub(super) fn release(
    site: &Site,
    answer: &mut HttpResponse,
    state: &str,
    ours: &RelyingParty,
) -> Result<(), Problem> {
    add(site, answer, state, ours, "", 0)
}

/// Returns the secret in the request's cookie.
pub(super) fn secret_of(headers: &HeaderMap, state: &str) -> Option<Secret<String>> {
    RequestCookies::of(headers).value(&name(state)).map(|value| Secret::new(value.to_owned()))
}
