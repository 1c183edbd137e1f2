//! What binds a request to the browser that began it: a cookie for each, which travels with the identity provider's
//! POST and nowhere else.

use actix_web::{HttpResponse, cookie::SameSite, http::header::HeaderMap};
use saml_sp::{REQUEST_MINUTES, RequestId};

use crate::api::Site;
use gate::{
    cookies::{self, RequestCookies},
    errors::Problem,
};

/// The name of a request's cookie.
fn name(request: &RequestId) -> String {
    format!("saml_{}", request.short())
}

/// Adds a cookie that pages of the identity provider may send along, on https; without it browsers allow that to nobody.
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

/// Lets the browser keep what binds the request to it.
pub(crate) fn bind(
    site: &Site,
    answer: &mut HttpResponse,
    request: &RequestId,
    acs_url: &str,
    kept: &str,
) -> Result<(), Problem> {
    add(site, answer, request, acs_url, kept, REQUEST_MINUTES * 60)
}

/// Takes it away: the request was answered.
pub(crate) fn release(
    site: &Site,
    answer: &mut HttpResponse,
    request: &RequestId,
    acs_url: &str,
) -> Result<(), Problem> {
    add(site, answer, request, acs_url, "", 0)
}

/// What the browser kept for this request.
pub(crate) fn request_cookie(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    RequestCookies::of(headers).value(&name(request)).map(str::to_owned)
}
