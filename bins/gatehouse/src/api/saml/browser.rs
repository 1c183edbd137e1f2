//! What binds a request to the browser that began it: a cookie for each, which travels with the identity provider's
//! POST and nowhere else.

use actix_web::{
    HttpResponse,
    http::header::{self, HeaderMap, HeaderValue},
};
use saml_sp::{REQUEST_MINUTES, RequestId};

use crate::api::Site;
use gate::cookies::Sent;

/// The name of a request's cookie.
fn name(request: &RequestId) -> String {
    format!("saml_{}", request.short())
}

/// A cookie that pages of the identity provider may send along, on https; without it browsers allow that to nobody.
fn cookie(site: &Site, request: &RequestId, acs_url: &str, value: &str, seconds: i64) -> Option<HeaderValue> {
    let path = acs_url.strip_prefix(&site.pipeline.base_url)?;
    let reach = if site.pipeline.https { "SameSite=None; Secure" } else { "SameSite=Lax" };
    let text = format!("{}={value}; Path={path}; Max-Age={seconds}; HttpOnly; {reach}", name(request));
    HeaderValue::from_str(&text).ok()
}

/// Lets the browser keep what binds the request to it.
pub(crate) fn bind(site: &Site, answer: &mut HttpResponse, request: &RequestId, acs_url: &str, kept: &str) {
    if let Some(header) = cookie(site, request, acs_url, kept, REQUEST_MINUTES * 60) {
        answer.headers_mut().append(header::SET_COOKIE, header);
    }
}

/// Takes it away: the request was answered.
pub(crate) fn release(site: &Site, answer: &mut HttpResponse, request: &RequestId, acs_url: &str) {
    if let Some(header) = cookie(site, request, acs_url, "", 0) {
        answer.headers_mut().append(header::SET_COOKIE, header);
    }
}

/// What the browser kept for this request.
pub(crate) fn kept(headers: &HeaderMap, request: &RequestId) -> Option<String> {
    Sent::of(headers).value(&name(request)).map(str::to_owned)
}
