//! The first parameter of every handler: the caller's permission and the shared state of the server.

use std::{
    future::{Ready, ready},
    ops::Deref,
    str::FromStr,
};

use actix_web::{FromRequest, HttpRequest, HttpResponse, dev::Payload, web};
use gate::{access::Access, errors::Problem, permissions::Permission, shape::AreaProblem};
use kernel::{Id, Kind};

use super::Site;

/// Result of a handler outside SCIM. SCIM handlers have [errors of their own shape](super::scim).
pub(crate) type Answer = Result<HttpResponse, Problem>;

/// A request whose caller has the permission `P`, with the shared state of the server.
///
/// It dereferences to an [`Access<P>`], the only way to the caller's data. Extraction never waits, so a caller
/// without the permission is refused before any other parameter of the handler is read.
pub(crate) struct Call<P: Permission> {
    access: Access<P>,
    pub(crate) site: web::Data<Site>,
    pub(crate) request: HttpRequest,
}

impl<P: Permission> FromRequest for Call<P> {
    type Error = <Access<P> as FromRequest>::Error;
    type Future = Ready<Result<Self, Self::Error>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let access = Access::from_request(request, payload).into_inner();
        ready(access.and_then(|access| {
            let site = request.app_data::<web::Data<Site>>().cloned();
            let site = site.ok_or_else(|| AreaProblem::of(request, Problem::internal()))?;
            Ok(Self { access, site, request: request.clone() })
        }))
    }
}

impl<P: Permission> Deref for Call<P> {
    type Target = Access<P>;

    fn deref(&self) -> &Access<P> {
        &self.access
    }
}

impl<P: Permission> Call<P> {
    /// Returns only the access, for a response body that is streamed after the handler returns.
    pub(crate) fn into_access(self) -> Access<P> {
        self.access
    }

    /// Parses the `{id}` of the path.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](gate::errors::Code::NotFound): a malformed ID is treated as unknown.
    pub(crate) fn id<T: FromStr>(&self) -> Result<T, Problem> {
        let id = web::Path::<String>::from_request(&self.request, &mut Payload::None).into_inner();
        id.ok().and_then(|id| id.parse().ok()).ok_or_else(Problem::not_found)
    }
}

/// Parses an ID in a path. This server generates its IDs, so text of any other form is unknown. Callers without credentials
/// cannot make it search for, or repeat, text of their own.
///
/// # Errors
///
/// [`Code::NotFound`](gate::errors::Code::NotFound).
pub(crate) fn generated_id<K: Kind>(text: &str) -> Result<Id<K>, Problem> {
    Id::generated(text).map_err(|_| Problem::not_found())
}
