//! Binds a SAML request to the browser that started it: one cookie per request, which is sent only with the identity
//! provider's POST.

use actix_web::{HttpResponse, cookie::SameSite, http::header::HeaderMap};
use saml_sp::{REQUEST_MINUTES, RequestId};

use crate::api::Site;
use gate::{
    cookies::{self, RequestCookies},
    errors::Problem,
};

/// Returns the cookie's name.
fn name(request: &RequestId) -> String {
    format!("saml_{}", request.short())
}

/// Adds the cookie. With HTTPS it is `SameSite=None`, so that the identity provider's cross-site POST carries it.
/// Without HTTPS, browsers do not allow that.
fn add(
    site: &Site,
    answer: &mut HttpResponse,
    request: &RequestId,
    acs_url: &str,
    value: &str,
    seconds: i64,
) -> Result<(), Problem> {
    let path = acs_url.strip_prefix(&site.pipeline.base_url).ok_or_else(Problem::internal)?;
    let same_site = if site.pipeline.https { SameSite::None } else { SameSite::Lax };
    cookies::add(answer, (name(request), value.to_owned()), path, seconds, (same_site, site.pipeline.https))
}

/// Sets the cookie that binds the request to the browser.
pub(crate) fn bind(
    site: &Site,
    answer: &mut HttpResponse,
    request: &RequestId,
    acs_url: &str,
    kept: &str,
) -> Result<(), Problem> {
    add(site, answer, request, acs_url, kept, REQUEST_MINUTES * 60)
}

/// Deletes the cookie after the response.
pub(crate) fn release(
    site: &Site,
    answer: &mut HttpResponse,
    request: &RequestId,
    acs_url: &str,
) -> Result<(), Problem> {
    add(site, answer, request, acs_url, "", 0)
}

/// Returns the value of the request's cookie.
pub(crate) fn request_cookie(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    RequestCookies::of(headers).value(&name(request)).map(str::to_owned)
}
