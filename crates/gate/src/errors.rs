//! The one file that turns errors into HTTP.
//!
//! Inside there is one [`Problem`]; outside two shapes of it: the envelope `{error, code?, reason?}`, and
//! under `/api/scim` the body of RFC 7644 §3.12, which at 401 and 403 carries both.

mod areas;

use std::{fmt, time::Duration};

use actix_web::{
    HttpResponse, HttpResponseBuilder, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
    web::Bytes,
};
use audit::Event;
use kernel::{Ctx, StoreError};
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
    /// What a proof is asked for.
    purpose: Option<stepup::Purpose>,
    /// What the ledger is to say of the refusal.
    entry: Option<Box<Entry>>,
}

/// What the ledger is to say of a refusal: it travels with the answer to where it can be written.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) event: Event,
    /// As whom; where that is not said, as the caller.
    pub(crate) ctx: Option<Ctx>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.event.fmt(f)
    }
}

/// What went wrong, for the log alone: it travels with the answer to where the request's id is known.
pub(crate) struct Cause(pub(crate) String);

/// The media type of SCIM (RFC 7644, section 8.1).
pub const SCIM_JSON: &str = "application/scim+json";

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
            purpose: None,
            entry: None,
        }
    }

    fn with(self, name: HeaderName, value: HeaderValue) -> Self {
        Self { header: Some((name, value)), ..self }
    }

    /// The same, with what the log is to say.
    #[must_use]
    pub fn because(self, cause: &dyn fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    /// 400; `message` begins with the field's JSON path.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "INVALID_REQUEST", message)
    }

    /// 400 with a code of its own; `message` begins with the field's JSON path.
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 400 for a body that is not JSON.
    pub fn invalid_syntax(message: impl Into<String>) -> Self {
        Self { scim_type: Some(ScimType::InvalidSyntax), ..Self::invalid_request(message) }
    }

    /// 401: says the same whatever is wrong with the credential.
    pub fn unauthenticated() -> Self {
        let message =
            "a valid credential is needed: a token that is not revoked, or a session that is not over";
        Self::new(StatusCode::UNAUTHORIZED, "UNAUTHENTICATED", message)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 400 for a cursor that is not ours.
    pub fn invalid_cursor() -> Self {
        let message = "cursor: not one of this list; begin again without it";
        Self::bad("INVALID_CURSOR", message)
    }

    /// 401 with a code of its own.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, code, message)
    }

    /// 401: the session was ended from elsewhere.
    pub fn session_revoked() -> Self {
        Self::refused("SESSION_REVOKED", "this session was ended; sign in again")
    }

    /// 401: the person may not sign in.
    pub fn account_disabled() -> Self {
        Self::refused(
            "ACCOUNT_DISABLED",
            "this account is disabled; an administrator of the tenant can enable it",
        )
    }

    /// 401: the tenant accepts e-mail and password, or a passkey, alone.
    pub fn sso_not_allowed() -> Self {
        let message = "This tenant does not accept single sign-on. Sign in with your password.";
        Self::refused("SSO_NOT_ALLOWED", message)
    }

    /// 403: passwords and passkeys do not open this tenant.
    pub fn sso_required() -> Self {
        Self::denied(
            "SSO_REQUIRED",
            "This tenant requires single sign-on. Sign in through its identity provider.",
        )
    }

    /// 401 with the purpose, as the guard of an act answers.
    pub(crate) fn step_up_required(purpose: &stepup::Purpose) -> Self {
        let message = format!(
            "a fresh proof is needed for {}: run the step-up flow and repeat with X-StepUp-Token",
            purpose.name
        );
        let challenge = HeaderValue::from_str(&format!("StepUp purpose={}", purpose.name));
        let problem = Self::refused("STEP_UP_REQUIRED", message);
        let problem = Self { purpose: Some(*purpose), ..problem };
        match challenge {
            Ok(challenge) => problem.with(header::WWW_AUTHENTICATE, challenge),
            Err(_) => problem,
        }
    }

    /// 401: the proof that came along is not good for this.
    pub(crate) fn step_up_invalid(invalid: stepup::Invalid) -> Self {
        let message = format!("{invalid}: prove again who you are");
        Self { reason: Some(invalid.reason().into()), ..Self::refused("STEP_UP_INVALID", message) }
    }

    /// 400: nobody has heard of it.
    pub fn unknown_purpose() -> Self {
        let names: Vec<_> = stepup::PURPOSES.iter().map(|purpose| purpose.name).collect();
        let message = format!("purpose: write one of {}", names.join(", "));
        Self::bad("UNKNOWN_PURPOSE", message)
    }

    /// The same, entered in the ledger of the caller's tenant.
    #[must_use]
    pub fn entered(self, event: Event) -> Self {
        Self { entry: Some(Box::new(Entry { event, ctx: None })), ..self }
    }

    /// The same, where there is no caller yet.
    #[must_use]
    pub fn entered_by(self, ctx: &Ctx, event: Event) -> Self {
        Self { entry: Some(Box::new(Entry { event, ctx: Some(ctx.clone()) })), ..self }
    }

    /// What the ledger is to say, for whoever sees to it.
    pub fn take_event(&mut self) -> Option<Event> {
        self.entry.take().map(|entry| entry.event)
    }

    /// 403 with a reason.
    pub fn forbidden(reason: impl Into<String>, message: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", message);
        Self { reason: Some(reason.into()), ..problem }
    }

    /// 403 with a code of its own.
    pub fn denied(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, message)
    }

    /// 403: a valid credential of a kind that is not for this.
    pub fn credential_kind() -> Self {
        Self::forbidden("CREDENTIAL_KIND", "this kind of credential is not for this operation")
    }

    /// 403: the session owes a second factor.
    pub fn mfa_required() -> Self {
        Self::forbidden("MFA_REQUIRED", "a second factor is owed: finish signing in first")
    }

    /// 409 with a code of its own.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// The same with a reason.
    #[must_use]
    pub fn reason(self, reason: &'static str) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// 404
    pub fn not_found() -> Self {
        Self::missing("there is nothing at this address")
    }

    /// 404 that says what there is not.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", message)
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
        Self::limited(message, seconds)
    }

    /// 429 for what is done one at a time.
    pub fn busy(what: &str, seconds: u64) -> Self {
        Self::limited(format!("{what}; try again in {seconds} s"), seconds)
    }

    /// 429 for attempts at something secret.
    pub fn too_many_attempts(seconds: u64) -> Self {
        Self::limited(format!("too many attempts; try again in {seconds} s"), seconds)
    }

    fn limited(message: String, seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", message)
            .with(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// 500: the log has the rest, under the request's id.
    pub fn internal() -> Self {
        let message = "something went wrong here; the log knows more under this answer's X-Request-Id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", message)
    }

    /// 500 for what does not happen: the log says what did.
    pub fn unforeseen(cause: impl fmt::Display) -> Self {
        Self::internal().because(&cause)
    }

    /// 503
    pub fn unavailable() -> Self {
        let message = "the service cannot answer just now; try again soon";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
            .with(header::RETRY_AFTER, RETRY_AFTER)
    }

    /// 503 for a search that was stopped.
    fn search_too_long(limit: Duration) -> Self {
        let message = format!(
            "the search was stopped after {} s; ask for less, such as a shorter time",
            limit.as_secs()
        );
        Self { message, ..Self::unavailable() }
    }

    /// What programs know it by.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What people are told.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What a refusal is about, where it says so.
    pub fn why(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Leaves with the answer what log and ledger are to say.
    pub fn tell(&self, answer: &mut HttpResponse) {
        if let Some(cause) = &self.cause {
            answer.extensions_mut().insert(Cause(cause.clone()));
        }
        if let Some(entry) = &self.entry {
            answer.extensions_mut().insert((**entry).clone());
        }
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
        self.respond(SCIM_JSON, &body)
    }

    fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("error".into(), self.message.as_str().into());
        members.insert("code".into(), self.code.into());
        if let Some(reason) = &self.reason {
            members.insert("reason".into(), reason.as_str().into());
        }
        if let Some(purpose) = &self.purpose {
            members.insert("purpose".into(), purpose.name.into());
            if purpose.phishing_resistant {
                members.insert("requiresPhishingResistant".into(), true.into());
            }
        }
        members
    }

    fn respond(&self, content_type: &str, body: &Value) -> HttpResponse {
        let mut answer = HttpResponseBuilder::new(self.status);
        if let Some(header) = &self.header {
            answer.insert_header(header.clone());
        }
        let mut answer = answer.content_type(content_type).body(body.to_string());
        self.tell(&mut answer);
        answer
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for Problem {}

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
        let problem = match error {
            StoreError::Unavailable(_) => Self::unavailable(),
            StoreError::TenantBusy(work) => {
                Self::busy(&format!("too many {work} of this tenant are under way"), 1)
            }
            StoreError::ScanTooLong(limit) => Self::search_too_long(limit),
            _ => Self::internal(),
        };
        problem.because(&error)
    }
}

/// 503, of which the two bodies are written once: it is said when there is no time.
pub(crate) struct Overloaded {
    envelope: Bytes,
    scim: Bytes,
}

impl Overloaded {
    pub(crate) fn new() -> Self {
        let problem = Problem::unavailable();
        let scim = scim_core::error_body(problem.status.as_u16(), None, &problem.message);
        let envelope = Value::Object(problem.members());
        Self { envelope: envelope.to_string().into(), scim: scim.to_string().into() }
    }

    /// As an answer of the plain API.
    pub(crate) fn envelope(&self) -> HttpResponse {
        Self::answer("application/json", &self.envelope)
    }

    /// As an answer of SCIM.
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
