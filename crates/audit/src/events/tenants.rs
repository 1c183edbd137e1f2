//! The tenant itself.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_CLI, event};

/// The operator made the tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantCreated {
    /// The short name in addresses.
    pub slug: String,
    /// `FREE`, `STANDARD` or `ENTERPRISE`.
    pub tier: &'static str,
}

event! {
    TenantCreated = "ACCOUNT_TENANT_CREATED", about ("tenant", "ten_01jz0000000000000000000000"), by BY_CLI;
    "The operator made the tenant.";
    Self { slug: "acme".into(), tier: "STANDARD" }
}
