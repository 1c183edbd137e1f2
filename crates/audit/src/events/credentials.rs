//! Events of passwords, factors and recovery codes.

use super::define::{BY_USER, FACTOR, USER, events};

events! {
    /// A user's password was set.
    PasswordChanged = "ACCOUNT_PASSWORD_CHANGED" (USER, BY_USER) {
        /// `SELF`, `LINK` (an invitation, reset or setup link) or `OPERATOR`.
        by: &'static str = "SELF",
    }
    /// A link to set a new password was created for a user.
    PasswordResetStarted = "ACCOUNT_PASSWORD_RESET_STARTED" (USER, BY_USER) {
        /// Whether the link was sent by mail. Otherwise the caller received it.
        sent: bool = true,
    }
    /// A user enrolled a factor.
    FactorEnrolled = "ACCOUNT_FACTOR_ENROLLED" (FACTOR, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// `WEBAUTHN` or `TOTP`.
        kind: &'static str = "WEBAUTHN",
        /// AAGUID that the authenticator reported.
        aaguid: Option<String> = Some("fa2b99dc-9e39-4257-8f92-4a30d23c4118".into()),
        /// Whether the passkey can be copied to other devices.
        backup_eligible: Option<bool> = Some(false),
        /// Present and true if the browser created the passkey without asking the user, after a sign-in with a code.
        #[serde(skip_serializing_if = "Option::is_none")]
        conditional: Option<bool> = None,
    }
    /// A user renamed a factor.
    FactorRenamed = "ACCOUNT_FACTOR_RENAMED" (FACTOR, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
    }
    /// A factor was removed.
    FactorRemoved = "ACCOUNT_FACTOR_REMOVED" (FACTOR, BY_USER) {
        /// ID of the user.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// `WEBAUTHN` or `TOTP`.
        kind: &'static str = "TOTP",
    }
    /// A user generated new recovery codes. Earlier codes are no longer valid.
    RecoveryCodesGenerated = "ACCOUNT_RECOVERY_CODES_GENERATED" (USER, BY_USER) {}
    /// A recovery code was used to sign in.
    RecoveryCodeUsed = "ACCOUNT_RECOVERY_CODE_USED" (USER, BY_USER) {
        /// Number of unused recovery codes left.
        left: u64 = 9,
    }
}
