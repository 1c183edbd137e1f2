//! Passwords, factors and recovery codes change.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordChanged {
    /// `SELF`, `LINK` (an invitation or reset link) or `OPERATOR`.
    pub by: &'static str,
}

impl EventData for PasswordChanged {
    const CODE: &'static str = "ACCOUNT_PASSWORD_CHANGED";
    const DESCRIPTION: &'static str = "A person's password was set.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { by: "SELF" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordResetStarted {
    /// Whether it was sent by mail; otherwise whoever asked was told it.
    pub sent: bool,
}

impl EventData for PasswordResetStarted {
    const CODE: &'static str = "ACCOUNT_PASSWORD_RESET_STARTED";
    const DESCRIPTION: &'static str = "A link to set a new password was made for a person.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { sent: true }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorEnrolled {
    /// Whose it is.
    pub user: String,
    /// `WEBAUTHN` or `TOTP`.
    pub kind: &'static str,
    /// The make of the authenticator, as it says itself.
    pub aaguid: Option<String>,
    /// Whether the passkey can be copied to other devices.
    pub backup_eligible: Option<bool>,
}

impl EventData for FactorEnrolled {
    const CODE: &'static str = "ACCOUNT_FACTOR_ENROLLED";
    const DESCRIPTION: &'static str = "A person proved to have a new second factor.";
    const RESOURCE_TYPE: &'static str = "factor";
    const EXAMPLE_ID: &'static str = "fac_01jz7777777777777777777777";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self {
            user: "usr_01jz2222222222222222222222".into(),
            kind: "WEBAUTHN",
            aaguid: Some("fa2b99dc-9e39-4257-8f92-4a30d23c4118".into()),
            backup_eligible: Some(false),
        }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorRenamed {
    /// Whose it is.
    pub user: String,
}

impl EventData for FactorRenamed {
    const CODE: &'static str = "ACCOUNT_FACTOR_RENAMED";
    const DESCRIPTION: &'static str = "A person renamed a factor.";
    const RESOURCE_TYPE: &'static str = "factor";
    const EXAMPLE_ID: &'static str = "fac_01jz7777777777777777777777";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { user: "usr_01jz2222222222222222222222".into() }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorRemoved {
    /// Whose it was.
    pub user: String,
    /// `WEBAUTHN` or `TOTP`.
    pub kind: &'static str,
}

impl EventData for FactorRemoved {
    const CODE: &'static str = "ACCOUNT_FACTOR_REMOVED";
    const DESCRIPTION: &'static str = "A factor was taken away.";
    const RESOURCE_TYPE: &'static str = "factor";
    const EXAMPLE_ID: &'static str = "fac_01jz7777777777777777777777";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { user: "usr_01jz2222222222222222222222".into(), kind: "TOTP" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodesGenerated {}

impl EventData for RecoveryCodesGenerated {
    const CODE: &'static str = "ACCOUNT_RECOVERY_CODES_GENERATED";
    const DESCRIPTION: &'static str = "A person made new recovery codes; the old ones are void.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self {}
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodeUsed {
    /// How many are left.
    pub left: u64,
}

impl EventData for RecoveryCodeUsed {
    const CODE: &'static str = "ACCOUNT_RECOVERY_CODE_USED";
    const DESCRIPTION: &'static str = "A recovery code was used to sign in.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { left: 9 }
    }
}
