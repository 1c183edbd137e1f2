//! Tenants.

use super::define::{BY_CLI, events};

events! {
    /// The operator created the tenant.
    TenantCreated = "ACCOUNT_TENANT_CREATED" (("tenant", "ten_01jz0000000000000000000000"), BY_CLI) {
        /// Slug of the tenant.
        slug: String = "acme".into(),
        /// `FREE`, `STANDARD` or `ENTERPRISE`.
        tier: &'static str = "STANDARD",
    }
}
