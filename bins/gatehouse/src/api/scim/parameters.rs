//! The query parameters of SCIM, for the API description: `scim_core::Params` reads them.
#![expect(dead_code, reason = "the fields describe parameters and are read by name")]

use utoipa::IntoParams;

/// Which page of a list (RFC 7644 §3.4.2.4, RFC 9865).
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Index of the first result, from 1. Smaller values are 1.
    #[param(rename = "startIndex")]
    start_index: Option<i64>,
    /// Page size: 100 by default, at most 200.
    count: Option<i64>,
    /// Empty for the first page, then `nextCursor` of the previous page.
    cursor: Option<String>,
}

/// Which attributes are answered (RFC 7644 §3.9).
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProjectionQuery {
    /// Attributes to return, separated by commas.
    attributes: Option<String>,
    /// Attributes to omit, separated by commas.
    #[param(rename = "excludedAttributes")]
    excluded_attributes: Option<String>,
}

/// The same for a list of users.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UserListProjectionQuery {
    /// Attributes to return, separated by commas.
    #[param(example = "userName,emails.value")]
    attributes: Option<String>,
    /// Attributes to omit, separated by commas.
    #[param(rename = "excludedAttributes")]
    excluded_attributes: Option<String>,
}

/// The same for groups, which can have many members.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupProjectionQuery {
    /// Attributes to return, separated by commas.
    attributes: Option<String>,
    /// Attributes to omit, separated by commas.
    #[param(rename = "excludedAttributes", example = "members")]
    excluded_attributes: Option<String>,
}
