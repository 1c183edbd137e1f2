//! Sign-ins and sessions.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, SESSION, USER, event};

/// A user signed in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInSucceeded {
    /// ID of the session that it started.
    pub session: String,
    /// Authentication methods (`amr`).
    pub methods: Vec<String>,
}

event! {
    SignInSucceeded = "ACCOUNT_SIGN_IN_SUCCEEDED", about USER, by BY_USER;
    "A user signed in.";
    Self { session: "ses_01jz6666666666666666666666".into(), methods: vec!["pwd".into(), "otp".into()] }
}

/// A sign-in failed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInFailed {
    /// Reason: `WRONG_PASSWORD`, `FACTOR_INVALID`, `ACCOUNT_DISABLED`, `SSO_REQUIRED`, `SSO_NOT_ALLOWED`, `RATE_LIMITED`.
    pub reason: &'static str,
    /// Method: `PASSWORD`, `TOTP`, `WEBAUTHN`, `RECOVERY_CODE` or `SSO`.
    pub step: &'static str,
}

event! {
    SignInFailed = "ACCOUNT_SIGN_IN_FAILED", about USER, by BY_USER;
    "A sign-in failed.";
    Self { reason: "WRONG_PASSWORD", step: "PASSWORD" }
}

/// A user signed in from a new address.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInNewDevice {
    /// ID of the session that it started.
    pub session: String,
}

event! {
    SignInNewDevice = "ACCOUNT_SIGN_IN_NEW_DEVICE", about USER, by BY_USER;
    "A user signed in from a new address.";
    Self { session: "ses_01jz6666666666666666666666".into() }
}

/// A session got a new ID after a second factor was verified.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRenewed {
    /// ID of the user.
    pub user: String,
    /// Previous ID of the session.
    pub previous: String,
}

event! {
    SessionRenewed = "ACCOUNT_SESSION_RENEWED", about SESSION, by BY_USER;
    "A session got a new ID after a second factor was verified.";
    Self {
        user: "usr_01jz2222222222222222222222".into(),
        previous: "ses_01jz7777777777777777777777".into(),
    }
}

/// A session started.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStarted {
    /// ID of the user.
    pub user: String,
    /// Whether a second factor is still required.
    pub restricted: bool,
}

event! {
    SessionStarted = "ACCOUNT_SESSION_STARTED", about SESSION, by BY_USER;
    "A session started.";
    Self { user: "usr_01jz2222222222222222222222".into(), restricted: false }
}

/// A session was revoked.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRevoked {
    /// ID of the user.
    pub user: String,
    /// `REVOKED` in the list of sessions, `SIGNED_OUT`, or `REPLACED` by a new sign-in in the same browser.
    pub why: &'static str,
}

event! {
    SessionRevoked = "ACCOUNT_SESSION_REVOKED", about SESSION, by BY_USER;
    "A session was revoked.";
    Self { user: "usr_01jz2222222222222222222222".into(), why: "REVOKED" }
}

/// All sessions of a user were revoked, except possibly the current one.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsRevoked {
    /// Number of active sessions.
    pub count: u64,
    /// `REVOKED`, `PASSWORD_CHANGED`, `FACTOR_REMOVED`, `RESET` or `DEACTIVATED`.
    pub why: &'static str,
}

event! {
    SessionsRevoked = "ACCOUNT_SESSIONS_REVOKED", about USER, by BY_USER;
    "All sessions of a user were revoked, except possibly the current one.";
    Self { count: 3, why: "PASSWORD_CHANGED" }
}
