//! People sign in, or try to; their sessions begin and end.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, SESSION, USER, event};

/// A person signed in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInSucceeded {
    /// The session that it began.
    pub session: String,
    /// What it was proved by, as in `amr`.
    pub methods: Vec<String>,
}

event! {
    SignInSucceeded = "ACCOUNT_SIGN_IN_SUCCEEDED", about USER, by BY_USER;
    "A person signed in.";
    Self { session: "ses_01jz6666666666666666666666".into(), methods: vec!["pwd".into(), "otp".into()] }
}

/// An attempt to sign in was refused.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInFailed {
    /// Why: `WRONG_PASSWORD`, `FACTOR_INVALID`, `ACCOUNT_DISABLED`, `SSO_REQUIRED`, `SSO_NOT_ALLOWED`, `RATE_LIMITED`.
    pub reason: &'static str,
    /// What was tried: `PASSWORD`, `TOTP`, `WEBAUTHN`, `RECOVERY_CODE` or `SSO`.
    pub step: &'static str,
}

event! {
    SignInFailed = "ACCOUNT_SIGN_IN_FAILED", about USER, by BY_USER;
    "An attempt to sign in was refused.";
    Self { reason: "WRONG_PASSWORD", step: "PASSWORD" }
}

/// A person signed in from an address that had never signed them in.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInNewDevice {
    /// The session that it began.
    pub session: String,
}

event! {
    SignInNewDevice = "ACCOUNT_SIGN_IN_NEW_DEVICE", about USER, by BY_USER;
    "A person signed in from an address that had never signed them in.";
    Self { session: "ses_01jz6666666666666666666666".into() }
}

/// A session got a new id, because a factor was proved on it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRenewed {
    /// The id of the user.
    pub user: String,
    /// The id that the session had before.
    pub previous: String,
}

event! {
    SessionRenewed = "ACCOUNT_SESSION_RENEWED", about SESSION, by BY_USER;
    "A session got a new id, because a factor was proved on it.";
    Self {
        user: "usr_01jz2222222222222222222222".into(),
        previous: "ses_01jz7777777777777777777777".into(),
    }
}

/// A session began.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionStarted {
    /// Whose it is.
    pub user: String,
    /// Whether a second factor is still owed, so that it opens nothing else.
    pub restricted: bool,
}

event! {
    SessionStarted = "ACCOUNT_SESSION_STARTED", about SESSION, by BY_USER;
    "A session began.";
    Self { user: "usr_01jz2222222222222222222222".into(), restricted: false }
}

/// A session was ended before its time.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionRevoked {
    /// Whose it was.
    pub user: String,
    /// `REVOKED` in the list of sessions, `SIGNED_OUT`, or `REPLACED` by a new sign-in in the same browser.
    pub why: &'static str,
}

event! {
    SessionRevoked = "ACCOUNT_SESSION_REVOKED", about SESSION, by BY_USER;
    "A session was ended before its time.";
    Self { user: "usr_01jz2222222222222222222222".into(), why: "REVOKED" }
}

/// All of a person's sessions were ended, but at most the one that asked for it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionsRevoked {
    /// How many were in force.
    pub count: u64,
    /// `REVOKED`, `PASSWORD_CHANGED`, `FACTOR_REMOVED`, `RESET` or `DEACTIVATED`.
    pub why: &'static str,
}

event! {
    SessionsRevoked = "ACCOUNT_SESSIONS_REVOKED", about USER, by BY_USER;
    "All of a person's sessions were ended, but at most the one that asked for it.";
    Self { count: 3, why: "PASSWORD_CHANGED" }
}
