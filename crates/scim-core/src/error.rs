//! Errors in the terms of RFC 7644 §3.12.

use kernel::{StoreError, UniqueKey};
use serde_json::{Value, json};

/// The `scimType` of an error body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScimType {
    /// The filter cannot be parsed or uses an unsupported feature.
    InvalidFilter,
    /// A required value is missing, or a value does not fit its attribute.
    InvalidValue,
    /// The body is not valid for the operation.
    InvalidSyntax,
    /// A unique value belongs to another resource.
    Uniqueness,
    /// The path of a PATCH is malformed.
    InvalidPath,
    /// The filter in a PATCH path matches nothing, or a required path is missing.
    NoTarget,
    /// The client may not change the attribute.
    Mutability,
    /// The result is larger than one response may be.
    TooMany,
    /// The cursor is invalid or belongs to another query.
    InvalidCursor,
}

impl ScimType {
    /// Every variant.
    pub const ALL: [Self; 9] = [
        Self::InvalidFilter,
        Self::InvalidValue,
        Self::InvalidSyntax,
        Self::Uniqueness,
        Self::InvalidPath,
        Self::NoTarget,
        Self::Mutability,
        Self::TooMany,
        Self::InvalidCursor,
    ];

    /// Returns the name used in SCIM error bodies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidFilter => "invalidFilter",
            Self::InvalidValue => "invalidValue",
            Self::InvalidSyntax => "invalidSyntax",
            Self::Uniqueness => "uniqueness",
            Self::InvalidPath => "invalidPath",
            Self::NoTarget => "noTarget",
            Self::Mutability => "mutability",
            Self::TooMany => "tooMany",
            Self::InvalidCursor => "invalidCursor",
        }
    }
}

/// The reason an operation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The filter is not valid; the message says why.
    #[error("{0}")]
    InvalidFilter(String),
    /// A value is missing or does not fit its attribute, which is named.
    #[error("{attribute}: {problem}")]
    InvalidValue {
        /// The attribute's path, such as `emails[0].value`.
        attribute: String,
        /// The correction to make.
        problem: String,
    },
    /// The body is not valid for the operation.
    #[error("{0}")]
    InvalidSyntax(String),
    /// The path of a PATCH is malformed.
    #[error("{0}")]
    InvalidPath(String),
    /// The target of a PATCH operation does not exist.
    #[error("{0}")]
    NoTarget(String),
    /// The client may not change the attribute.
    #[error("{0}")]
    Mutability(String),
    /// The result is larger than one response may be; the message says how to ask for less.
    #[error("{0}")]
    TooMany(String),
    /// The cursor is invalid or belongs to another query.
    #[error("cursor: does not belong to this query; start again without a cursor")]
    InvalidCursor,
    /// A unique value belongs to another resource.
    #[error("{attribute}: this value is already taken")]
    Uniqueness {
        /// Name of the attribute.
        attribute: &'static str,
    },
    /// No resource has this id.
    #[error("There is no resource with this ID.")]
    NotFound,
    /// The database failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            // A concurrent request took the value between our check and our write.
            StoreError::Taken(key) => Self::Uniqueness {
                attribute: match key {
                    UniqueKey::SignInEmail => "emails",
                    UniqueKey::GroupName => "displayName",
                    UniqueKey::UserName => "userName",
                    _ => "another attribute",
                },
            },
            StoreError::ScanTooLong(limit) => Self::TooMany(format!(
                "The search took longer than {} s. Compare an indexed attribute with eq: id, userName, \
                 externalId or emails.value of users; id, displayName or externalId of groups. Or read the list \
                 by cursor.",
                limit.as_secs()
            )),
            other => Self::Store(other),
        }
    }
}

impl Error {
    pub(crate) fn invalid(attribute: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::InvalidValue { attribute: attribute.into(), problem: problem.into() }
    }

    /// Returns the error for a member that is not a user of the tenant, named by its position or id.
    pub(crate) fn no_such_member(which: &str) -> Self {
        Self::invalid("members", format!("{which} is not the ID of a user"))
    }

    /// Returns the HTTP status of the error.
    pub fn status(&self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Uniqueness { .. } => 409,
            Self::Store(StoreError::Unavailable(_)) => 503,
            Self::Store(StoreError::TenantBusy(_)) => 429,
            Self::Store(_) => 500,
            _ => 400,
        }
    }

    /// Returns the `scimType`, if the error has one.
    pub fn scim_type(&self) -> Option<ScimType> {
        match self {
            Self::InvalidFilter(_) => Some(ScimType::InvalidFilter),
            Self::InvalidValue { .. } => Some(ScimType::InvalidValue),
            Self::InvalidSyntax(_) => Some(ScimType::InvalidSyntax),
            Self::InvalidPath(_) => Some(ScimType::InvalidPath),
            Self::NoTarget(_) => Some(ScimType::NoTarget),
            Self::Mutability(_) => Some(ScimType::Mutability),
            Self::TooMany(_) => Some(ScimType::TooMany),
            Self::InvalidCursor => Some(ScimType::InvalidCursor),
            Self::Uniqueness { .. } => Some(ScimType::Uniqueness),
            Self::NotFound | Self::Store(_) => None,
        }
    }
}

/// Returns an error body (RFC 7644 §3.12), in which `status` is a string.
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
