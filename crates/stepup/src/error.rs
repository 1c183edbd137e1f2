//! The reasons for refusing a challenge or a token, and the response that a client receives.

use kernel::StoreError;
use serde_json::{Value, json};

use crate::{
    Invalid,
    purpose::{Factor, Purpose},
};

/// The reason why there is no challenge or token, or why a token authorizes nothing.
///
/// [`Error::status`] and [`Error::body`] are the response for the client. With the feature `http`, an error converts
/// to a response. Log [`Error::Store`], [`Error::Ceremony`] and [`Error::NoKey`]: the response does not describe them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody is signed in.
    #[error("Sign in.")]
    Unauthenticated,
    /// The request has no step-up token.
    #[error("This operation requires a step-up with purpose {}. Complete it, then repeat the request with X-StepUp-Token.", .0.name)]
    Required(Purpose),
    /// The request's token is not valid for this act.
    #[error("Repeat the step-up: {0}.")]
    Invalid(#[from] Invalid),
    /// The body of the request is not valid. Contains the reason.
    #[error("Send a valid request: {0}.")]
    Malformed(String),
    /// No purpose has this name.
    #[error("purpose: must be one of {}", .0.join(", "))]
    UnknownPurpose(Vec<&'static str>),
    /// There is no such operation.
    #[error("This operation does not exist.")]
    NotFound,
    /// The user has no factor that the purpose accepts.
    #[error("You have no factor that {0} accepts. Enrol a second factor, or ask an administrator.")]
    NoFactorAvailable(&'static str),
    /// The purpose does not accept this factor.
    #[error("{purpose} does not accept the factor {factor}. Use another factor.", factor = .0.as_str(), purpose = .1)]
    FactorNotPermitted(Factor, String),
    /// The answer is incorrect.
    #[error("The code or passkey is incorrect or has expired.")]
    FactorInvalid,
    /// The user has sent too many codes. See [`Codes`](crate::Codes).
    #[error("You have sent too many codes. Try again in five minutes.")]
    TooManyCodes,
    /// The challenge is unknown, from another session, answered, expired, or had too many wrong answers.
    #[error(
        "This challenge has expired, was already answered, or belongs to another session. Request a new one."
    )]
    ChallengeInvalid,
    /// The client's address is unknown, but tokens are bound to one.
    #[error("the client's address is unknown, but step-up tokens are bound to an address")]
    AddressUnknown,
    /// There is no signing key.
    #[error("there is no key to sign step-up tokens; set master_key")]
    NoKey,
    /// Storage failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The ceremony failed for a technical reason. The answer was not judged.
    #[error("the ceremony failed: {0}")]
    Ceremony(Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Self::AddressUnknown | Self::Malformed(_) | Self::UnknownPurpose(_) => 400,
            Self::Unauthenticated
            | Self::Required(_)
            | Self::Invalid(_)
            | Self::FactorInvalid
            | Self::ChallengeInvalid => 401,
            Self::FactorNotPermitted(..) => 403,
            Self::NotFound => 404,
            Self::NoFactorAvailable(_) => 409,
            Self::TooManyCodes => 429,
            Self::NoKey | Self::Ceremony(_) => 500,
            Self::Store(_) => 503,
        }
    }

    /// Returns the code in the response.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Required(_) => "STEP_UP_REQUIRED",
            Self::Invalid(_) => "STEP_UP_INVALID",
            Self::NoFactorAvailable(_) => "NO_FACTOR_AVAILABLE",
            Self::FactorNotPermitted(..) => "FACTOR_NOT_PERMITTED",
            Self::FactorInvalid => "FACTOR_INVALID",
            Self::TooManyCodes => "RATE_LIMITED",
            Self::ChallengeInvalid => "TICKET_INVALID",
            Self::AddressUnknown | Self::Malformed(_) => "INVALID_REQUEST",
            Self::UnknownPurpose(_) => "UNKNOWN_PURPOSE",
            Self::NotFound => "NOT_FOUND",
            Self::NoKey | Self::Ceremony(_) => "INTERNAL",
            Self::Store(_) => "UNAVAILABLE",
        }
    }

    /// Returns the body of the response: `{"error", "code"}`, with the `purpose` of [`Error::Required`] and the
    /// `reason` of [`Error::Invalid`]. Technical failures are not described.
    pub fn body(&self) -> Value {
        let message = match self {
            Self::NoKey | Self::Ceremony(_) | Self::Store(_) => {
                "The service is temporarily unavailable. Try again.".to_owned()
            }
            other => other.to_string(),
        };
        let mut body = json!({ "error": message, "code": self.code() });
        let more = match self {
            Self::Required(purpose) => Some(("purpose", purpose.name)),
            Self::Invalid(invalid) => Some(("reason", invalid.reason())),
            _ => None,
        };
        if let (Some(members), Some((name, value))) = (body.as_object_mut(), more) {
            members.insert(name.to_owned(), value.into());
        }
        body
    }
}
