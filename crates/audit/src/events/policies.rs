//! What a tenant asks of those who sign in changes.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

impl EventData for SignInPolicyChanged {
    const CODE: &'static str = "ACCOUNT_SIGN_IN_POLICY_CHANGED";
    const DESCRIPTION: &'static str = "The tenant's sign-in policy changed.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { changed: vec!["mfa.required".into()] }
    }
}
