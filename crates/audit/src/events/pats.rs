//! Events of personal access tokens.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, PAT, event};

/// A personal access token was created.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatCreated {
    /// ID of the user it acts as.
    pub user: String,
    /// Scopes of the token.
    pub scopes: Vec<String>,
    /// Whether the token expires.
    pub expires: bool,
}

event! {
    PatCreated = "ACCOUNT_PAT_CREATED", about PAT, by BY_USER;
    "A personal access token was created.";
    Self {
        user: "usr_01jz2222222222222222222222".into(),
        scopes: vec!["read:profile".into()],
        expires: true,
    }
}

/// A personal access token was revoked.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatRevoked {
    /// ID of the user it acted as.
    pub user: String,
}

event! {
    PatRevoked = "ACCOUNT_PAT_REVOKED", about PAT, by BY_USER;
    "A personal access token was revoked.";
    Self { user: "usr_01jz2222222222222222222222".into() }
}
