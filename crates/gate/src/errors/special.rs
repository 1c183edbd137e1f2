//! Special formats of problems: the prebuilt overload response, and SCIM's format.

use std::fmt;

use actix_web::{
    HttpResponse, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderValue},
    },
    web::Bytes,
};
use serde_json::Value;

use super::problem::{Problem, RETRY_AFTER, SCIM_JSON};

/// A 503 with both bodies built in advance, so that it is cheap to send under overload.
pub(crate) struct Overloaded {
    envelope: Bytes,
    scim: Bytes,
}

impl Overloaded {
    pub(crate) fn new() -> Self {
        let problem = Problem::unavailable();
        let scim = scim_core::error_body(problem.code.status().as_u16(), None, &problem.message);
        let envelope = Value::Object(problem.members());
        Self { envelope: envelope.to_string().into(), scim: scim.to_string().into() }
    }

    /// Builds a response of the plain API.
    pub(crate) fn envelope(&self) -> HttpResponse {
        Self::answer("application/json", &self.envelope)
    }

    /// Builds a SCIM response.
    pub(crate) fn scim(&self) -> HttpResponse {
        Self::answer(SCIM_JSON, &self.scim)
    }

    fn answer(content_type: &'static str, body: &Bytes) -> HttpResponse {
        HttpResponse::ServiceUnavailable()
            .insert_header((header::CONTENT_TYPE, HeaderValue::from_static(content_type)))
            .insert_header((header::RETRY_AFTER, RETRY_AFTER))
            .body(body.clone())
    }
}

/// A [`Problem`] whose response has SCIM's format.
#[derive(Debug)]
pub struct ScimProblem(Problem);

impl<E: Into<Problem>> From<E> for ScimProblem {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for ScimProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ResponseError for ScimProblem {
    fn status_code(&self) -> StatusCode {
        self.0.code.status()
    }

    fn error_response(&self) -> HttpResponse {
        self.0.scim()
    }
}
