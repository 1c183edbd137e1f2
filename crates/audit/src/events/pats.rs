//! Personal access tokens come and go.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatCreated {
    /// Who it acts as.
    pub user: String,
    /// What it may be used for.
    pub scopes: Vec<String>,
    /// Whether it ends by itself.
    pub expires: bool,
}

impl EventData for PatCreated {
    const CODE: &'static str = "ACCOUNT_PAT_CREATED";
    const DESCRIPTION: &'static str = "A personal access token was minted.";
    const RESOURCE_TYPE: &'static str = "pat";
    const EXAMPLE_ID: &'static str = "ptk_01jz8888888888888888888888";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self {
            user: "usr_01jz2222222222222222222222".into(),
            scopes: vec!["read:profile".into()],
            expires: true,
        }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PatRevoked {
    /// Who it acted as.
    pub user: String,
}

impl EventData for PatRevoked {
    const CODE: &'static str = "ACCOUNT_PAT_REVOKED";
    const DESCRIPTION: &'static str = "A personal access token was revoked.";
    const RESOURCE_TYPE: &'static str = "pat";
    const EXAMPLE_ID: &'static str = "ptk_01jz8888888888888888888888";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { user: "usr_01jz2222222222222222222222".into() }
    }
}
