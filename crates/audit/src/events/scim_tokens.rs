//! SCIM tokens.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_CLI, event};

const RESOURCE_TYPE: &str = "scimToken";
const EXAMPLE_ID: &str = "sct_01jz1111111111111111111111";

/// A SCIM token was created.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimTokenCreated {
    /// Whether creating an existing user returns 409 instead of 200.
    pub create_conflict: bool,
}

event! {
    ScimTokenCreated = "ACCOUNT_SCIM_TOKEN_CREATED", about (RESOURCE_TYPE, EXAMPLE_ID), by BY_CLI;
    "A SCIM token was created.";
    Self { create_conflict: false }
}

/// A SCIM token was revoked. Requests with it are refused.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ScimTokenRevoked {}

event! {
    ScimTokenRevoked = "ACCOUNT_SCIM_TOKEN_REVOKED", about (RESOURCE_TYPE, EXAMPLE_ID), by BY_CLI;
    "A SCIM token was revoked. Requests with it are refused.";
    Self {}
}
