//! The query parameters of SCIM, for the API description: `scim_core::Params` reads them.
#![expect(dead_code, reason = "the fields describe parameters and are read by name")]

use utoipa::IntoParams;

/// Which page of a list (RFC 7644 §3.4.2.4, RFC 9865).
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct PageQuery {
    /// Position of the first one, from 1; less is 1.
    #[param(rename = "startIndex")]
    start_index: Option<i64>,
    /// How many, 100 by default; more than 200 is 200, less than 0 is 0.
    count: Option<i64>,
    /// Empty for the first page, then `nextCursor` of the page before.
    cursor: Option<String>,
}

/// Which attributes are answered (RFC 7644 §3.9).
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct ProjectionQuery {
    /// Names to answer alone, separated by commas.
    attributes: Option<String>,
    /// Names not to answer, separated by commas.
    #[param(rename = "excludedAttributes")]
    excluded_attributes: Option<String>,
}

/// The same for a list of users.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct UserListProjectionQuery {
    /// Names to answer alone, separated by commas.
    #[param(example = "userName,emails.value")]
    attributes: Option<String>,
    /// Names not to answer, separated by commas.
    #[param(rename = "excludedAttributes")]
    excluded_attributes: Option<String>,
}

/// The same for groups, which can have many members.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GroupProjectionQuery {
    /// Names to answer alone, separated by commas.
    attributes: Option<String>,
    /// Names not to answer, separated by commas.
    #[param(rename = "excludedAttributes", example = "members")]
    excluded_attributes: Option<String>,
}
