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
    /// The path of a PATCH is malformed.
    InvalidPath,
    /// The filter in a path of a PATCH matches nothing, or there is no path.
    NoTarget,
    /// The attribute is not the client's to change.
    Mutability,
    /// There is more than is answered at once.
    TooMany,
    /// The cursor is not one of ours, or of another query.
    InvalidCursor,
}

impl ScimType {
    /// All of them.
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

    /// As written on the wire.
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
    /// The path of a PATCH is malformed.
    #[error("{0}")]
    InvalidPath(String),
    /// A PATCH has nothing to work on.
    #[error("{0}")]
    NoTarget(String),
    /// The attribute is not the client's to change.
    #[error("{0}")]
    Mutability(String),
    /// There is more than is answered at once; says how to ask for less.
    #[error("{0}")]
    TooMany(String),
    /// The cursor is not one of ours, or of another query.
    #[error("cursor: is not one that this query was answered with")]
    InvalidCursor,
    /// A unique value belongs to another resource.
    #[error("{attribute}: another one of this tenant has this value")]
    Uniqueness {
        /// Name of the attribute.
        attribute: &'static str,
    },
    /// There is no such resource.
    #[error("there is no resource with this id")]
    NotFound,
    /// The database failed.
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
            StoreError::Taken(key) if key.contains("group") => Self::Uniqueness { attribute: "displayName" },
            StoreError::Taken(_) => Self::Uniqueness { attribute: "userName" },
            StoreError::ScanTooLong(limit) => Self::TooMany(format!(
                "the search was stopped after {} s. Compare an indexed attribute with eq: id, userName, externalId or \
                 emails.value of users; id, displayName or externalId of groups. Or read the list by cursor",
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

    /// A member that is no user of the tenant, by its place or id.
    pub(crate) fn no_such_member(which: &str) -> Self {
        Self::invalid("members", format!("{which} is the id of no user"))
    }

    /// The HTTP status that the error has on the wire.
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

    /// The `scimType`, where there is one.
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
