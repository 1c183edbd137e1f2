//! SCIM tokens.

use super::define::{BY_CLI, SCIM_TOKEN, events};

events! {
    /// A SCIM token was created.
    ScimTokenCreated = "ACCOUNT_SCIM_TOKEN_CREATED" (SCIM_TOKEN, BY_CLI) {
        /// Whether creating an existing user returns 409 instead of 200.
        create_conflict: bool = false,
        /// Whether changes by the token are only simulated.
        dry_run: bool = false,
    }
    /// A SCIM token was revoked. Requests with it are refused.
    ScimTokenRevoked = "ACCOUNT_SCIM_TOKEN_REVOKED" (SCIM_TOKEN, BY_CLI) {}
}
