//! What answers about users and groups have in common.

use std::str::FromStr;

use actix_web::{
    HttpResponse,
    http::{StatusCode, header},
};
use kernel::UserId;
use scim_core::{Error, Group, Params, Projection, Query, ResourcePage, User, write_list};

use crate::api::Call;
use gate::{
    body::scim_text,
    errors::ScimProblem,
    permissions::{Permission, ScimRead},
};

pub(crate) type Answer = Result<HttpResponse, ScimProblem>;

/// One resource and its address.
pub(crate) fn one(status: StatusCode, location: &str, resource: String) -> HttpResponse {
    let mut answer = scim_text(status, resource);
    if let Ok(location) = location.parse() {
        answer.headers_mut().insert(header::LOCATION, location);
    }
    answer
}

/// The `{id}` of the path. An id that cannot be one is as unknown as any other.
pub(crate) fn resource_id<P: Permission, T: FromStr>(call: &Call<P>) -> Result<T, Error> {
    call.id().map_err(|_| Error::NotFound)
}

/// What was asked for, with a cursor that we have handed out to this tenant, if any.
pub(crate) fn unsealed(call: &Call<ScimRead>, params: Params) -> Result<Params, ScimProblem> {
    let open = |sealed: &str| call.site.pipeline.keys.open_cursor(call.tenant(), sealed).map(str::to_owned);
    Ok(params.unsealed(open)?)
}

/// A page; `write` writes each of its resources.
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

/// Writes the part of a user that is wanted.
pub(crate) fn write_user(user: User, projection: &Projection, root: &str, out: &mut String) {
    match projection {
        Projection::All => user.write_json(root, out),
        _ => out.push_str(&projection.of(user.into_json(root)).to_string()),
    }
}

/// Writes the part of a group that is wanted.
pub(crate) fn write_group(
    group: &Group,
    members: &[UserId],
    projection: &Projection,
    root: &str,
    out: &mut String,
) {
    match projection {
        Projection::All => group.write_json(members, root, out),
        _ => out.push_str(&projection.of(group.to_json(members, root)).to_string()),
    }
}

/// What was deleted is gone.
pub(crate) fn no_content() -> HttpResponse {
    HttpResponse::NoContent().finish()
}
