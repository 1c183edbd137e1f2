//! Tenants.

use super::define::{BY_CLI, BY_USER, events};

events! {
    /// The tenant was created.
    TenantCreated = "ACCOUNT_TENANT_CREATED" (("tenant", "ten_01jz0000000000000000000000"), BY_CLI) {
        /// Slug of the tenant.
        slug: String = "acme".into(),
        /// `FREE`, `STANDARD` or `ENTERPRISE`.
        tier: &'static str = "STANDARD",
    }
    /// An administrator changed the tenant's name.
    TenantRenamed = "ACCOUNT_TENANT_RENAMED" (("tenant", "ten_01jz0000000000000000000000"), BY_USER) {
        /// The new name.
        name: String = "Acme Ltd".into(),
    }
    /// The operator encrypted stored secrets of the tenant with the current master key.
    SecretsReencrypted = "ACCOUNT_TENANT_SECRETS_REENCRYPTED" (("tenant", "ten_01jz0000000000000000000000"), BY_CLI) {
        /// Number of secrets: of authenticator apps, SSO connections, log streams and shared signals.
        count: u64 = 12,
        /// ID of the master key.
        key: String = "2".into(),
    }
}
