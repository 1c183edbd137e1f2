//! Events of passwords, factors and recovery codes.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, FACTOR, USER, event};

/// A user's password was set.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordChanged {
    /// `SELF`, `LINK` (an invitation or reset link) or `OPERATOR`.
    pub by: &'static str,
}

event! {
    PasswordChanged = "ACCOUNT_PASSWORD_CHANGED", about USER, by BY_USER;
    "A user's password was set.";
    Self { by: "SELF" }
}

/// A link to set a new password was created for a user.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PasswordResetStarted {
    /// Whether the link was sent by mail. Otherwise the caller received it.
    pub sent: bool,
}

event! {
    PasswordResetStarted = "ACCOUNT_PASSWORD_RESET_STARTED", about USER, by BY_USER;
    "A link to set a new password was created for a user.";
    Self { sent: true }
}

/// A user enrolled a factor.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorEnrolled {
    /// ID of the user.
    pub user: String,
    /// `WEBAUTHN` or `TOTP`.
    pub kind: &'static str,
    /// AAGUID that the authenticator reported.
    pub aaguid: Option<String>,
    /// Whether the passkey can be copied to other devices.
    pub backup_eligible: Option<bool>,
}

event! {
    FactorEnrolled = "ACCOUNT_FACTOR_ENROLLED", about FACTOR, by BY_USER;
    "A user enrolled a factor.";
    Self {
        user: "usr_01jz2222222222222222222222".into(),
        kind: "WEBAUTHN",
        aaguid: Some("fa2b99dc-9e39-4257-8f92-4a30d23c4118".into()),
        backup_eligible: Some(false),
    }
}

/// A user renamed a factor.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorRenamed {
    /// ID of the user.
    pub user: String,
}

event! {
    FactorRenamed = "ACCOUNT_FACTOR_RENAMED", about FACTOR, by BY_USER;
    "A user renamed a factor.";
    Self { user: "usr_01jz2222222222222222222222".into() }
}

/// A factor was removed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FactorRemoved {
    /// ID of the user.
    pub user: String,
    /// `WEBAUTHN` or `TOTP`.
    pub kind: &'static str,
}

event! {
    FactorRemoved = "ACCOUNT_FACTOR_REMOVED", about FACTOR, by BY_USER;
    "A factor was removed.";
    Self { user: "usr_01jz2222222222222222222222".into(), kind: "TOTP" }
}

/// A user generated new recovery codes. Earlier codes are no longer valid.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodesGenerated {}

event! {
    RecoveryCodesGenerated = "ACCOUNT_RECOVERY_CODES_GENERATED", about USER, by BY_USER;
    "A user generated new recovery codes. Earlier codes are no longer valid.";
    Self {}
}

/// A recovery code was used to sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryCodeUsed {
    /// Number of unused recovery codes left.
    pub left: u64,
}

event! {
    RecoveryCodeUsed = "ACCOUNT_RECOVERY_CODE_USED", about USER, by BY_USER;
    "A recovery code was used to sign in.";
    Self { left: 9 }
}
