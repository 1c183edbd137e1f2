//! Tenants.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_CLI, event};

/// The operator created the tenant.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TenantCreated {
    /// Slug of the tenant.
    pub slug: String,
    /// `FREE`, `STANDARD` or `ENTERPRISE`.
    pub tier: &'static str,
}

event! {
    TenantCreated = "ACCOUNT_TENANT_CREATED", about ("tenant", "ten_01jz0000000000000000000000"), by BY_CLI;
    "The operator created the tenant.";
    Self { slug: "acme".into(), tier: "STANDARD" }
}
