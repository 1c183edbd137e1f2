//! Responses that users and groups share.

use std::str::FromStr;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use scim_core::{Error, Params, Query, ResourcePage, write_list};

use crate::api::Call;
use gate::{
    body::scim_text,
    errors::ScimProblem,
    permissions::{Permission, ScimRead},
};

pub(crate) type Answer = Result<HttpResponse, ScimProblem>;

/// Responds with one resource and its location.
pub(crate) fn one(status: StatusCode, location: &str, resource: String) -> HttpResponse {
    let mut answer = scim_text(status, resource);
    if let Ok(location) = location.parse() {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

/// Parses the `{id}` of the path. A malformed ID is treated as unknown.
pub(crate) fn resource_id<P: Permission, T: FromStr>(call: &Call<P>) -> Result<T, Error> {
    call.id().map_err(|_| Error::NotFound)
}

/// Decrypts the cursor in the parameters. Fails if it was not issued to this tenant.
pub(crate) fn unsealed(call: &Call<ScimRead>, params: Params) -> Result<Params, ScimProblem> {
    let open = |sealed: &str| call.site.pipeline.keys.open_cursor(call.tenant(), sealed).map(str::to_owned);
    Ok(params.unsealed(open)?)
}

/// Responds with a page; `write` serializes each resource.
pub(crate) fn list<T>(
    call: &Call<ScimRead>,
    query: &Query,
    found: ResourcePage<T>,
    id: impl Fn(&T) -> &str,
    write: impl FnMut(T, &mut String),
) -> HttpResponse {
    let next = found.next_cursor(query, id);
    let next = next.and_then(|cursor| call.site.pipeline.keys.seal_cursor(call.tenant(), &cursor));
    scim_text(StatusCode::OK, write_list(found.total, &query.page.start, next, found.resources, write))
}

/// Responds 204 to a deletion.
pub(crate) fn no_content() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
