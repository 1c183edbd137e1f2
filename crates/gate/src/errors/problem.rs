//! An error response and its two formats.

use std::{fmt, time::Duration};

use actix_web::{
    HttpResponse, HttpResponseBuilder, ResponseError,
    http::{
        StatusCode,
        header::{self, HeaderName, HeaderValue},
    },
};
use audit::Event;
use kernel::Ctx;
use scim_core::ScimType;
use serde_json::{Map, Value};

use super::code::Code;
use crate::purposes::PURPOSES;

/// An error response.
#[derive(Debug)]
pub struct Problem {
    pub(super) code: Code,
    pub(super) message: String,
    pub(super) reason: Option<String>,
    pub(super) scim_type: Option<ScimType>,
    pub(super) header: Option<(HeaderName, HeaderValue)>,
    pub(super) cause: Option<String>,
    /// The step-up purpose that the operation requires.
    pub(super) purpose: Option<stepup::Purpose>,
    /// The audit event of the error.
    pub(super) entry: Option<Box<Entry>>,
}

/// The audit event of an error, attached to the response until the middleware records it.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) event: Event,
    /// The context to record it in; the caller's if `None`.
    pub(crate) ctx: Option<Ctx>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.event.fmt(f)
    }
}

/// The cause of an error, attached to the response until the middleware logs it with the request's id.
pub(crate) struct Cause(pub(crate) String);

/// The code and the reason of an error, attached to the response until the middleware logs them.
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) reason: Option<String>,
}

/// What a SCIM error response says, attached to the response until the middleware collects it.
pub(crate) struct ScimDetail {
    pub(crate) scim_type: Option<ScimType>,
    pub(crate) message: String,
}

/// The media type of SCIM (RFC 7644, section 8.1).
pub const SCIM_JSON: &str = "application/scim+json";

/// `Retry-After` in seconds for 503 responses.
pub(super) const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

impl Problem {
    /// Creates a problem with this code. At 400, `message` begins with the field's JSON path.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
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

    /// Prepends the path of the member that contains the field. Changes only 400 responses, whose message begins with a
    /// path.
    #[must_use]
    pub fn within(self, path: &str) -> Self {
        if self.code.status() != StatusCode::BAD_REQUEST {
            return self;
        }
        Self { message: format!("{path}.{}", self.message), ..self }
    }

    /// Adds a cause for the log.
    #[must_use]
    pub fn because(self, cause: &dyn fmt::Display) -> Self {
        Self { cause: Some(cause.to_string()), ..self }
    }

    /// 400; `message` begins with the field's JSON path.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidRequest, message)
    }

    /// 400 for a body that is not JSON.
    pub fn invalid_syntax(message: impl Into<String>) -> Self {
        Self { scim_type: Some(ScimType::InvalidSyntax), ..Self::invalid_request(message) }
    }

    /// 401, with the same message whatever is wrong with the credential.
    pub fn unauthenticated() -> Self {
        let message = "The credential is missing or not valid. Sign in, or send a valid token.";
        Self::new(Code::Unauthenticated, message)
            .with(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
    }

    /// 400 for an invalid cursor.
    pub fn invalid_cursor() -> Self {
        let message = "cursor: not valid for this list; start again without a cursor";
        Self::new(Code::InvalidCursor, message)
    }

    /// 401: the session was revoked.
    pub fn session_revoked() -> Self {
        Self::new(Code::SessionRevoked, "This session was ended. Sign in again.")
    }

    /// 401: the user is disabled.
    pub fn account_disabled() -> Self {
        Self::new(
            Code::AccountDisabled,
            "This account is disabled. Ask an administrator of the tenant to enable it.",
        )
    }

    /// 401: the tenant accepts only email and password, or a passkey.
    pub fn sso_not_allowed() -> Self {
        let message = "This tenant does not accept single sign-on. Sign in with your password.";
        Self::new(Code::SsoNotAllowed, message)
    }

    /// 403: the tenant does not accept passwords and passkeys.
    pub fn sso_required() -> Self {
        Self::new(
            Code::SsoRequired,
            "This tenant requires single sign-on. Sign in through its identity provider.",
        )
    }

    /// 401: the operation requires a step-up with this purpose.
    pub(crate) fn step_up_required(purpose: &stepup::Purpose) -> Self {
        let message = stepup::Error::Required(*purpose).to_string();
        let challenge = HeaderValue::from_str(&format!("StepUp purpose={}", purpose.name));
        let problem = Self::new(Code::StepUpRequired, message);
        let problem = Self { purpose: Some(*purpose), ..problem };
        match challenge {
            Ok(challenge) => problem.with(header::WWW_AUTHENTICATE, challenge),
            Err(_) => problem,
        }
    }

    /// 401: the step-up token is not valid for this request.
    pub(crate) fn step_up_invalid(invalid: stepup::Invalid) -> Self {
        let message = stepup::Error::Invalid(invalid).to_string();
        Self { reason: Some(invalid.reason().into()), ..Self::new(Code::StepUpInvalid, message) }
    }

    /// 400: the step-up purpose does not exist.
    pub fn unknown_purpose() -> Self {
        let names: Vec<_> = PURPOSES.iter().map(|purpose| purpose.name).collect();
        let message = format!("purpose: must be one of {}", names.join(", "));
        Self::new(Code::UnknownPurpose, message)
    }

    /// Adds an event for the audit log of the caller's tenant.
    #[must_use]
    pub fn with_event(self, event: Event) -> Self {
        Self { entry: Some(Box::new(Entry { event, ctx: None })), ..self }
    }

    /// Adds an event for the audit log, recorded in `ctx` because there is no caller.
    #[must_use]
    pub fn with_event_as(self, ctx: &Ctx, event: Event) -> Self {
        Self { entry: Some(Box::new(Entry { event, ctx: Some(ctx.clone()) })), ..self }
    }

    /// Removes the audit event, so that the caller of this method can record it.
    pub fn take_event(&mut self) -> Option<Event> {
        self.entry.take().map(|entry| entry.event)
    }

    /// 403 with a reason.
    pub fn forbidden(reason: impl Into<String>, message: impl Into<String>) -> Self {
        let problem = Self::new(Code::Forbidden, message);
        Self { reason: Some(reason.into()), ..problem }
    }

    /// 403: the credential is valid but its type is not accepted here.
    pub fn credential_kind() -> Self {
        Self::forbidden("CREDENTIAL_KIND", "This operation does not accept this type of credential.")
    }

    /// 403: the session has not completed its second factor.
    pub fn mfa_required() -> Self {
        Self::forbidden(
            "MFA_REQUIRED",
            "This session needs a second factor. Verify or enrol one to finish signing in.",
        )
    }

    /// Sets the reason.
    #[must_use]
    pub fn reason(self, reason: &'static str) -> Self {
        Self { reason: Some(reason.into()), ..self }
    }

    /// 404 `NOT_FOUND`.
    pub fn not_found() -> Self {
        Self::missing("Nothing was found at this URL. Check the path and the IDs in it.")
    }

    /// 404 that says what is missing.
    pub fn missing(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// 405 with the allowed methods, separated by commas.
    pub fn method_not_allowed(allow: &HeaderValue) -> Self {
        let message = "This path does not support this method. Use one from the Allow header.";
        Self::new(Code::MethodNotAllowed, message).with(header::ALLOW, allow.clone())
    }

    /// 413.
    pub fn payload_too_large(limit: usize) -> Self {
        let message = format!("The body exceeds the limit of {limit} bytes.");
        Self::new(Code::PayloadTooLarge, message)
    }

    /// 415 with the accepted media type.
    pub fn unsupported_media_type(takes: &str) -> Self {
        let message = format!("Send the body as {takes}.");
        Self::new(Code::UnsupportedMediaType, message)
    }

    /// 429 with the seconds to wait.
    pub fn rate_limited(seconds: u64) -> Self {
        Self::busy("Too many requests for this tenant", seconds)
    }

    /// 429 because of concurrent work, with a reason that has no final full stop.
    pub fn busy(reason: &str, seconds: u64) -> Self {
        Self::again_in(Code::RateLimited, reason, seconds)
    }

    /// 429 for guesses of a secret.
    pub fn too_many_attempts(seconds: u64) -> Self {
        Self::busy("Too many attempts", seconds)
    }

    fn again_in(code: Code, reason: &str, seconds: u64) -> Self {
        let message = format!("{reason}. Try again in {seconds} s.");
        Self::new(code, message).with(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// 500. The log has the details under the request's id.
    pub fn internal() -> Self {
        let message = "Internal error. For the cause, search the server's log for this X-Request-Id.";
        Self::new(Code::Internal, message)
    }

    /// 500 for an unexpected error, whose cause is logged.
    pub fn unexpected(cause: impl fmt::Display) -> Self {
        Self::internal().because(&cause)
    }

    /// 503.
    pub fn unavailable() -> Self {
        let message = "The server is overloaded or its database is unavailable. Try again soon.";
        Self::new(Code::Unavailable, message).with(header::RETRY_AFTER, RETRY_AFTER)
    }

    /// 503 for something that works again later, with a reason that has no final full stop.
    pub fn unavailable_for(reason: &str, seconds: u64) -> Self {
        Self::again_in(Code::Unavailable, reason, seconds)
    }

    /// 503 for a search that was stopped.
    pub(super) fn search_too_long(limit: Duration) -> Self {
        let message = format!(
            "The search exceeded its limit of {} s. Narrow it, for example to a shorter time range.",
            limit.as_secs()
        );
        Self { message, ..Self::unavailable() }
    }

    /// Returns the error code.
    pub fn code(&self) -> &'static str {
        self.code.as_str()
    }

    /// Returns the message for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the reason, if there is one.
    pub fn why(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Attaches code, reason, cause and audit event to the response.
    pub fn attach_to(&self, answer: &mut HttpResponse) {
        answer.extensions_mut().insert(Refused { code: self.code(), reason: self.reason.clone() });
        if let Some(cause) = &self.cause {
            answer.extensions_mut().insert(Cause(cause.clone()));
        }
        if let Some(entry) = &self.entry {
            answer.extensions_mut().insert((**entry).clone());
        }
    }

    /// Builds a response of the plain API.
    pub fn envelope(&self) -> HttpResponse {
        self.respond("application/json", &Value::Object(self.members()))
    }

    /// Builds a SCIM response.
    pub fn scim(&self) -> HttpResponse {
        let mut body = scim_core::error_body(self.code.status().as_u16(), self.scim_type, &self.message);
        let both = [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN].contains(&self.code.status());
        if let (true, Some(members)) = (both, body.as_object_mut()) {
            members.extend(self.members());
        }
        let mut answer = self.respond(SCIM_JSON, &body);
        let detail = ScimDetail { scim_type: self.scim_type, message: self.message.clone() };
        answer.extensions_mut().insert(detail);
        answer
    }

    pub(super) fn members(&self) -> Map<String, Value> {
        let mut members = Map::new();
        members.insert("error".into(), self.message.as_str().into());
        members.insert("code".into(), self.code().into());
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
        let mut answer = HttpResponseBuilder::new(self.code.status());
        if let Some(header) = &self.header {
            answer.insert_header(header.clone());
        }
        let mut answer = answer.content_type(content_type).body(body.to_string());
        self.attach_to(&mut answer);
        answer
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message)
    }
}

impl std::error::Error for Problem {}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.code.status()
    }

    fn error_response(&self) -> HttpResponse {
        self.envelope()
    }
}
