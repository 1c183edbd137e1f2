//! Binds a SAML request to the browser that started it: one cookie per request, which is sent only with the identity
//! provider's POST. A second one names the browser's session, which ends once another one has begun: the session cookie
//! itself does not accompany a POST from another site.

use actix_web::{HttpResponse, cookie::SameSite, http::header::HeaderMap};
use saml_sp::{REQUEST_MINUTES, RequestId};

use crate::api::Site;
use gate::{
    access::Visitor,
    cookies::{self, RequestCookies},
    errors::Problem,
};

/// Returns the name of the cookie with the secret of the request.
fn name(request: &RequestId) -> String {
    format!("saml_{}", request.short())
}

/// Returns the name of the cookie with the signed name of the session.
fn session_name(request: &RequestId) -> String {
    format!("saml_{}_session", request.short())
}

/// Adds a cookie. With HTTPS it is `SameSite=None`, so that the identity provider's cross-site POST carries it.
/// Without HTTPS, browsers do not allow that.
fn add(
    site: &Site,
    answer: &mut HttpResponse,
    cookie: (String, String),
    acs_url: &str,
    seconds: i64,
) -> Result<(), Problem> {
    let path = acs_url.strip_prefix(&site.pipeline.base_url).ok_or_else(Problem::internal)?;
    let same_site = if site.pipeline.https { SameSite::None } else { SameSite::Lax };
    cookies::add(answer, cookie, path, seconds, (same_site, site.pipeline.https))
}

/// Sets the cookies that bind the request, by its secret, to the browser and its session.
pub(crate) fn bind(
    site: &Site,
    visitor: &Visitor,
    answer: &mut HttpResponse,
    (request, secret): (&RequestId, &str),
    acs_url: &str,
) -> Result<(), Problem> {
    let seconds = REQUEST_MINUTES * 60;
    add(site, answer, (name(request), secret.to_owned()), acs_url, seconds)?;
    match visitor.sealed_previous(&site.pipeline) {
        Some(sealed) => add(site, answer, (session_name(request), sealed), acs_url, seconds),
        None => Ok(()),
    }
}

/// Deletes the cookies after the response.
pub(crate) fn release(
    site: &Site,
    answer: &mut HttpResponse,
    request: &RequestId,
    acs_url: &str,
) -> Result<(), Problem> {
    add(site, answer, (name(request), String::new()), acs_url, 0)?;
    add(site, answer, (session_name(request), String::new()), acs_url, 0)
}

/// Returns the secret in the request's cookie.
pub(crate) fn request_cookie(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    RequestCookies::of(headers).value(&name(request)).map(str::to_owned)
}

/// Returns the signed name of the session that the browser had when the request began.
pub(crate) fn sealed_session(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    RequestCookies::of(headers).value(&session_name(request)).map(str::to_owned)
}
