//! What can go wrong, in RFC 7644 §3.12's words.

use kernel::StoreError;
use serde_json::{Value, json};

/// The `scimType` of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScimType {
    /// The filter cannot be parsed or uses what is not supported.
    InvalidFilter,
    /// A required value is missing or a value does not fit its attribute.
    InvalidValue,
    /// The body is not what the operation takes.
    InvalidSyntax,
    /// A unique value is another resource's.
    Uniqueness,
}

impl ScimType {
    /// As written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidFilter => "invalidFilter",
            Self::InvalidValue => "invalidValue",
            Self::InvalidSyntax => "invalidSyntax",
            Self::Uniqueness => "uniqueness",
        }
    }
}

/// Why an operation was refused.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The filter is not understood; says what is.
    #[error("{0}")]
    InvalidFilter(String),
    /// A value is missing or does not fit; names the attribute.
    #[error("{attribute}: {problem}")]
    InvalidValue {
        /// The attribute's path, such as `emails[0].value`.
        attribute: String,
        /// What to write instead.
        problem: String,
    },
    /// The body is not what the operation takes.
    #[error("{0}")]
    InvalidSyntax(String),
    /// A unique value belongs to another user.
    #[error("{attribute}: another user of this tenant has this value")]
    Uniqueness {
        /// The attribute.
        attribute: &'static str,
    },
    /// There is no such resource.
    #[error("no user has this id")]
    NotFound,
    /// Storage failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            // Somebody was faster between our look and our write.
            StoreError::Taken(key) if key.contains("sign_in_email") => {
                Self::Uniqueness { attribute: "emails" }
            }
            StoreError::Taken(_) => Self::Uniqueness { attribute: "userName" },
            other => Self::Store(other),
        }
    }
}

impl Error {
    pub(crate) fn invalid(attribute: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidValue { attribute: attribute.into(), problem: problem.into() }
    }

    /// The HTTP status that the error has on the wire.
    pub fn status(&self) -> u16 {
        match self {
            Self::InvalidFilter(_) | Self::InvalidValue { .. } | Self::InvalidSyntax(_) => 400,
            Self::NotFound => 404,
            Self::Uniqueness { .. } => 409,
            Self::Store(StoreError::Unavailable(_)) => 503,
            Self::Store(_) => 500,
        }
    }

    /// The `scimType`, where RFC 7644 has one.
    pub fn scim_type(&self) -> Option<ScimType> {
        match self {
            Self::InvalidFilter(_) => Some(ScimType::InvalidFilter),
            Self::InvalidValue { .. } => Some(ScimType::InvalidValue),
            Self::InvalidSyntax(_) => Some(ScimType::InvalidSyntax),
            Self::Uniqueness { .. } => Some(ScimType::Uniqueness),
            Self::NotFound | Self::Store(_) => None,
        }
    }
}

/// The body of RFC 7644 §3.12; `status` is a string there.
pub fn error_body(status: u16, scim_type: Option<ScimType>, detail: &str) -> Value {
    let mut body = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:Error"],
        "status": status.to_string(),
        "detail": detail,
    });
    if let (Some(scim_type), Some(members)) = (scim_type, body.as_object_mut()) {
        members.insert("scimType".into(), scim_type.as_str().into());
    }
    body
}
