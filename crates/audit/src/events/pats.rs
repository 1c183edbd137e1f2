//! Events of personal access tokens.

use super::define::{BY_USER, PAT, events};

events! {
    /// A personal access token was created.
    PatCreated = "ACCOUNT_PAT_CREATED" (PAT, BY_USER) {
        /// ID of the user it acts as.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// Scopes of the token.
        scopes: Vec<String> = vec!["read:profile".into()],
        /// Whether the token expires.
        expires: bool = true,
    }
    /// A personal access token was revoked.
    PatRevoked = "ACCOUNT_PAT_REVOKED" (PAT, BY_USER) {
        /// ID of the user it acted as.
        user: String = "usr_01jz2222222222222222222222".into(),
    }
}
