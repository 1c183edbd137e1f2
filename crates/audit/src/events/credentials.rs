//! Passwords, factors and recovery codes change.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, FACTOR, USER, event};

/// A person's password was set.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordChanged {
    /// `SELF`, `LINK` (an invitation or reset link) or `OPERATOR`.
    pub by: &'static str,
}

event! {
    PasswordChanged = "ACCOUNT_PASSWORD_CHANGED", about USER, by BY_USER;
    "A person's password was set.";
    Self { by: "SELF" }
}

/// A link to set a new password was made for a person.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordResetStarted {
    /// Whether it was sent by mail; otherwise whoever asked was told it.
    pub sent: bool,
}

event! {
    PasswordResetStarted = "ACCOUNT_PASSWORD_RESET_STARTED", about USER, by BY_USER;
    "A link to set a new password was made for a person.";
    Self { sent: true }
}

/// A person proved to have a new second factor.
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

event! {
    FactorEnrolled = "ACCOUNT_FACTOR_ENROLLED", about FACTOR, by BY_USER;
    "A person proved to have a new second factor.";
    Self {
        user: "usr_01jz2222222222222222222222".into(),
        kind: "WEBAUTHN",
        aaguid: Some("fa2b99dc-9e39-4257-8f92-4a30d23c4118".into()),
        backup_eligible: Some(false),
    }
}

/// A person renamed a factor.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorRenamed {
    /// Whose it is.
    pub user: String,
}

event! {
    FactorRenamed = "ACCOUNT_FACTOR_RENAMED", about FACTOR, by BY_USER;
    "A person renamed a factor.";
    Self { user: "usr_01jz2222222222222222222222".into() }
}

/// A factor was taken away.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorRemoved {
    /// Whose it was.
    pub user: String,
    /// `WEBAUTHN` or `TOTP`.
    pub kind: &'static str,
}

event! {
    FactorRemoved = "ACCOUNT_FACTOR_REMOVED", about FACTOR, by BY_USER;
    "A factor was taken away.";
    Self { user: "usr_01jz2222222222222222222222".into(), kind: "TOTP" }
}

/// A person made new recovery codes; the old ones are void.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodesGenerated {}

event! {
    RecoveryCodesGenerated = "ACCOUNT_RECOVERY_CODES_GENERATED", about USER, by BY_USER;
    "A person made new recovery codes; the old ones are void.";
    Self {}
}

/// A recovery code was used to sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodeUsed {
    /// How many are left.
    pub left: u64,
}

event! {
    RecoveryCodeUsed = "ACCOUNT_RECOVERY_CODE_USED", about USER, by BY_USER;
    "A recovery code was used to sign in.";
    Self { left: 9 }
}
