//! The tokens that identity providers provision with.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

const RESOURCE_TYPE: &str = "scimToken";
const EXAMPLE_ID: &str = "sct_01jz1111111111111111111111";

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScimTokenCreated {
    /// Whether creating an existing user answers 409 instead of 200.
    pub create_conflict: bool,
}

impl EventData for ScimTokenCreated {
    const CODE: &'static str = "ACCOUNT_SCIM_TOKEN_CREATED";
    const DESCRIPTION: &'static str = "A SCIM token was minted for an identity provider.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("cli", "SYSTEM");

    fn example() -> Self {
        Self { create_conflict: false }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ScimTokenRevoked {}

impl EventData for ScimTokenRevoked {
    const CODE: &'static str = "ACCOUNT_SCIM_TOKEN_REVOKED";
    const DESCRIPTION: &'static str = "A SCIM token was revoked; requests that present it are refused.";
    const RESOURCE_TYPE: &'static str = RESOURCE_TYPE;
    const EXAMPLE_ID: &'static str = EXAMPLE_ID;

    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("cli", "SYSTEM");

    fn example() -> Self {
        Self {}
    }
}
