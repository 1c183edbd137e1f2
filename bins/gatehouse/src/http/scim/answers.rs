//! What answers about users and groups have in common.

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use scim_core::{Found, Query, list_response};
use serde_json::Value;

use super::super::{body::scim_answer, errors::ScimProblem};

pub(super) type Answer = Result<HttpResponse, ScimProblem>;

/// One resource and its address.
pub(super) fn one(status: StatusCode, location: &str, resource: &Value) -> HttpResponse {
    let mut answer = scim_answer(status, resource);
    if let Ok(location) = location.parse() {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

/// A page.
pub(super) fn list<T>(
    query: &Query,
    found: Found<T>,
    id: impl Fn(&T) -> &str,
    show: impl FnMut(T) -> Value,
) -> HttpResponse {
    let next = found.next_cursor(query, id);
    let resources = found.resources.into_iter().map(show).collect();
    scim_answer(StatusCode::OK, &list_response(found.total, &query.page.start, next, resources))
}

/// What was deleted is gone.
pub(super) fn gone() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
