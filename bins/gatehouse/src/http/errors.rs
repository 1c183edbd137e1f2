//! The one file that turns errors into HTTP.
//!
//! Inside there is one [`Problem`]; outside two shapes of it: the envelope `{error, code?, reason?}`, and
//! under `/api/scim` the body of RFC 7644 §3.12, which at 401 and 403 carries both.

use std::fmt;

use actix_web::{
    HttpResponse, HttpResponseBuilder, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
    web::Bytes,
};
use kernel::StoreError;
use scim_core::ScimType;
use serde_json::{Map, Value};

/// A refusal or a failure, as a client may know of it.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    reason: Option<String>,
    scim_type: Option<ScimType>,
    header: Option<(HeaderName, HeaderValue)>,
    cause: Option<String>,
}

/// What went wrong, for the log alone: it travels with the answer to where the request's id is known.
pub(super) struct Cause(pub(super) String);

/// Seconds after which trying again is worth it.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

impl Problem {
    fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            reason: None,
            scim_type: None,
            header: None,
            cause: None,
        }
    }

    fn with(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// The same, with what the log is to say.
    pub(super) fn because(self, cause: &dyn fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    /// 400; `message` begins with the field's JSON path.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    /// 400 for a body that is not JSON.
    pub fn invalid_syntax(message: impl Into<String>) -> Self {
        Self { scim_type: Some(ScimType::InvalidSyntax), ..Self::invalid_request(message) }
    }

    /// 401: says the same whatever is wrong with the credential.
    pub fn unauthenticated() -> Self {
        let message =
            "a valid credential is needed: send Authorization: Bearer with a token that is not revoked";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 404
    pub fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", "there is nothing at this address")
    }

    /// 405 with what is allowed, separated by commas.
    pub fn method_not_allowed(allow: &HeaderValue) -> Self {
        let message = "this address does not take this method; the header Allow says which it takes";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
            .with(header::ALLOW, allow.clone())
    }

    /// 413
    pub fn payload_too_large(limit: usize) -> Self {
        let message = format!("the body is larger than {limit} bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "PAYLOAD_TOO_LARGE", message)
    }

    /// 415 with what is taken.
    pub fn unsupported_media_type(takes: &str) -> Self {
        let message = format!("send the body as {takes}");
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", message)
    }

    /// 429 with the seconds to wait.
    pub fn rate_limited(seconds: u64) -> Self {
        let message = format!("too many requests for this tenant; try again in {seconds} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message)
            .with(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// 500: the log has the rest, under the request's id.
    pub fn internal() -> Self {
        let message = "something went wrong here; the log knows more under this answer's X-Request-Id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
    }

    /// 503
    pub fn unavailable() -> Self {
        let message = "the service cannot answer just now; try again soon";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
            .with(header::RETRY_AFTER, RETRY_AFTER)
    }

    /// As an answer of the plain API.
    pub fn envelope(&self) -> HttpResponse {
        self.respond("application/json", &Value::Object(self.members()))
    }

    /// As an answer of SCIM.
    pub fn scim(&self) -> HttpResponse {
        let mut body = scim_core::error_body(self.status.as_u16(), self.scim_type, &self.message);
        let both = self.status == StatusCode::UNAUTHORIZED || self.status == StatusCode::FORBIDDEN;
        if let (true, Some(members)) = (both, body.as_object_mut()) {
            members.extend(self.members());
        }
        self.respond(super::body::SCIM_JSON, &body)
    }

    fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("error".into(), self.message.as_str().into());
        members.insert("code".into(), self.code.into());
        if let Some(reason) = &self.reason {
            members.insert("reason".into(), reason.as_str().into());
        }
        members
    }

    fn respond(&self, content_type: &str, body: &Value) -> HttpResponse {
        let mut answer = HttpResponseBuilder::new(self.status);
        if let Some(header) = &self.header {
            answer.insert_header(header.clone());
        }
        let mut answer = answer.content_type(content_type).body(body.to_string());
        if let Some(cause) = &self.cause {
            answer.extensions_mut().insert(Cause(cause.clone()));
        }
        answer
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.status
    }

    fn error_response(&self) -> HttpResponse {
        self.envelope()
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let problem =
            if let StoreError::Unavailable(_) = error { Self::unavailable() } else { Self::internal() };
        problem.because(&error)
    }
}

impl From<scim_core::Error> for Problem {
    fn from(error: scim_core::Error) -> Self {
        let (scim_type, message) = (error.scim_type(), error.to_string());
        let problem = match error {
            scim_core::Error::Store(error) => return error.into(),
            scim_core::Error::NotFound => Self::not_found(),
            scim_core::Error::Uniqueness { .. } => Self::new(StatusCode::CONFLICT, "CONFLICT", ""),
            _ => Self::invalid_request(""),
        };
        Self { message, scim_type, ..problem }
    }
}

/// 503, of which the two bodies are written once: it is said when there is no time.
pub(super) struct Overloaded {
    envelope: Bytes,
    scim: Bytes,
}

impl Overloaded {
    pub(super) fn new() -> Self {
        let problem = Problem::unavailable();
        let scim = scim_core::error_body(problem.status.as_u16(), None, &problem.message);
        let envelope = Value::Object(problem.members());
        Self { envelope: envelope.to_string().into(), scim: scim.to_string().into() }
    }

    /// As an answer of the plain API.
    pub(super) fn envelope(&self) -> HttpResponse {
        Self::answer("application/json", &self.envelope)
    }

    /// As an answer of SCIM.
    pub(super) fn scim(&self) -> HttpResponse {
        Self::answer(super::body::SCIM_JSON, &self.scim)
    }

    fn answer(content_type: &'static str, body: &Bytes) -> HttpResponse {
        HttpResponse::ServiceUnavailable()
            .insert_header((header::CONTENT_TYPE, HeaderValue::from_static(content_type)))
            .insert_header((header::RETRY_AFTER, RETRY_AFTER))
            .body(body.clone())
    }
}

/// A [`Problem`] that is answered in SCIM's shape.
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
        self.0.status
    }

    fn error_response(&self) -> HttpResponse {
        self.0.scim()
    }
}
