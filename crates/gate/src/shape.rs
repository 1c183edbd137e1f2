//! Chooses the format of error responses: the envelope, SCIM's body, or a page.

use std::fmt;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{StatusCode, header},
};

use super::errors::{Overloaded, Problem};

/// Renders a problem as a page, given the requested URL.
#[derive(Clone, Copy)]
pub struct ProblemPage(pub fn(&Problem, &str) -> HttpResponse);

impl fmt::Debug for ProblemPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProblemPage")
    }
}

/// The area of a path, which also determines the headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    Scim,
    Api,
    Pages,
}

impl Area {
    pub(crate) fn of(path: &str) -> Self {
        match path {
            _ if path.starts_with("/api/scim/") => Self::Scim,
            _ if path.starts_with("/api/") || path.starts_with("/.well-known/") => Self::Api,
            _ => Self::Pages,
        }
    }

    /// Builds the prebuilt 503 for overload.
    pub(crate) fn refuse_at_once(self, overloaded: &Overloaded) -> HttpResponse {
        match self {
            Self::Scim => overloaded.scim(),
            Self::Api | Self::Pages => overloaded.envelope(),
        }
    }
}

/// The format of a request's error responses.
#[derive(Debug)]
pub(crate) enum Shape {
    /// RFC 7644 §3.12.
    Scim,
    /// `{error, code?, reason?}`.
    Envelope,
    /// A page, with the requested URL for the way back.
    Page { target: String, page: ProblemPage },
}

impl Shape {
    pub(crate) fn of(request: &HttpRequest) -> Self {
        match Area::of(request.path()) {
            Area::Scim => Self::Scim,
            Area::Pages if accepts_html(request) => match request.app_data::<ProblemPage>() {
                Some(page) => {
                    let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
                    Self::Page { target: target.to_owned(), page: *page }
                }
                None => Self::Envelope,
            },
            Area::Api | Area::Pages => Self::Envelope,
        }
    }

    pub(crate) fn answer(&self, problem: &Problem) -> HttpResponse {
        match self {
            Self::Scim => problem.scim(),
            Self::Envelope => problem.envelope(),
            Self::Page { target, page } => page.0(problem, target),
        }
    }
}

/// Returns whether the client accepts HTML.
fn accepts_html(request: &HttpRequest) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// A [`Problem`] that is answered in the format of its request.
#[derive(Debug)]
pub struct AreaProblem {
    problem: Problem,
    shape: Shape,
}

impl AreaProblem {
    /// Creates the problem in the format of this request.
    pub fn of(request: &HttpRequest, problem: Problem) -> Self {
        Self { problem, shape: Shape::of(request) }
    }
}

impl fmt::Display for AreaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl ResponseError for AreaProblem {
    fn status_code(&self) -> StatusCode {
        self.problem.status_code()
    }

    fn error_response(&self) -> HttpResponse {
        self.shape.answer(&self.problem)
    }
}
