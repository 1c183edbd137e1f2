//! In which shape refusals are answered: the envelope, SCIM's body, or a page for people.

use std::fmt;

use actix_web::{
    HttpRequest, HttpResponse, ResponseError,
    http::{StatusCode, header},
};

use super::errors::{Overloaded, Problem};

/// How a problem is answered to somebody who has opened a page: by the problem and what was asked for.
#[derive(Clone, Copy)]
pub struct ProblemPage(pub fn(&Problem, &str) -> HttpResponse);

impl fmt::Debug for ProblemPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProblemPage")
    }
}

/// Where an address is: that decides the headers, too.
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
            _ if path.starts_with("/api/") => Self::Api,
            _ => Self::Pages,
        }
    }

    /// The one refusal that is made when there is no time.
    pub(crate) fn refuse_at_once(self, overloaded: &Overloaded) -> HttpResponse {
        match self {
            Self::Scim => overloaded.scim(),
            Self::Api | Self::Pages => overloaded.envelope(),
        }
    }
}

/// How the refusals of one request are answered.
#[derive(Debug)]
pub(crate) enum Shape {
    /// RFC 7644 §3.12
    Scim,
    /// `{error, code?, reason?}`
    Envelope,
    /// For somebody who has opened a page: what was asked for, to come back to.
    Page { target: String, page: ProblemPage },
}

impl Shape {
    pub(crate) fn of(request: &HttpRequest) -> Self {
        match Area::of(request.path()) {
            Area::Scim => Self::Scim,
            Area::Pages if takes_html(request) => match request.app_data::<ProblemPage>() {
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

/// Whether the client is one that people look at.
fn takes_html(request: &HttpRequest) -> bool {
    let accept = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// A [`Problem`] that is answered in the shape of where it arose.
#[derive(Debug)]
pub struct AreaProblem {
    problem: Problem,
    shape: Shape,
}

impl AreaProblem {
    /// Of this request.
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
