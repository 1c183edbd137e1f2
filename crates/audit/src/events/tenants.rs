//! The tenant itself.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantCreated {
    /// The short name in addresses.
    pub slug: String,
    /// `FREE`, `STANDARD` or `ENTERPRISE`.
    pub tier: &'static str,
}

impl EventData for TenantCreated {
    const CODE: &'static str = "ACCOUNT_TENANT_CREATED";
    const DESCRIPTION: &'static str = "The operator made the tenant.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz0000000000000000000000";

    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("cli", "SYSTEM");

    fn example() -> Self {
        Self { slug: "acme".into(), tier: "STANDARD" }
    }
}
