//! Query parameters.

use actix_web::HttpRequest;

/// Returns the value of a query parameter.
pub(crate) fn query(request: &HttpRequest, name: &str) -> Option<String> {
    let pairs = form_urlencoded::parse(request.query_string().as_bytes());
    pairs.into_iter().find(|(known, _)| known == name).map(|(_, value)| value.into_owned())
}
