//! Binds a SAML request to the browser that started it: one cookie per request, which is sent only with the identity
//! provider's POST. It also names the browser's session, which ends once another one has begun: the session cookie itself
//! does not accompany a POST from another site.

use actix_web::{HttpResponse, cookie::SameSite, http::header::HeaderMap};
use saml_sp::{REQUEST_MINUTES, RequestId};

use crate::api::Site;
use gate::{
    access::Visitor,
    cookies::{self, RequestCookies},
    errors::Problem,
};

/// Separates the secret of the request from the signed name of the session. Neither contains it.
const SEPARATOR: char = '~';

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

/// Sets the cookie that binds the request, by its secret, to the browser.
pub(crate) fn bind(
    site: &Site,
    visitor: &Visitor,
    answer: &mut HttpResponse,
    (request, secret): (&RequestId, &str),
    acs_url: &str,
) -> Result<(), Problem> {
    let session = visitor.sealed_previous(&site.pipeline).map(|sealed| format!("{SEPARATOR}{sealed}"));
    let value = format!("{secret}{}", session.unwrap_or_default());
    add(site, answer, request, acs_url, &value, REQUEST_MINUTES * 60)
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

/// Returns the secret in the request's cookie.
pub(crate) fn request_cookie(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    let cookies = RequestCookies::of(headers);
    cookies.value(&name(request)).and_then(|value| value.split(SEPARATOR).next()).map(str::to_owned)
}

/// Returns the signed name of the session that the browser had when the request began.
pub(crate) fn sealed_session(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    let cookies = RequestCookies::of(headers);
    cookies
        .value(&name(request))
        .and_then(|value| value.split_once(SEPARATOR))
        .map(|(_, sealed)| sealed.to_owned())
}
