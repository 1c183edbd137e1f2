//! Step-up authentication.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, USER, event};

const ADA: &str = "usr_01jz2222222222222222222222";
const SESSION: &str = "ses_01jz4444444444444444444444";
const TOKEN: &str = "sup_01jz9999999999999999999999";

/// A step-up succeeded and its token was issued.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpIssued {
    /// ID of the user.
    pub user: String,
    /// ID of the session.
    pub session: String,
    /// Purpose of the token.
    pub purpose: String,
    /// Factor type that was used: `WEBAUTHN` or `TOTP`.
    pub factor: &'static str,
}

event! {
    StepUpIssued = "ACCOUNT_STEPUP_ISSUED", about ("step_up", TOKEN), by BY_USER;
    "A step-up succeeded and its token was issued.";
    Self { user: ADA.into(), session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "WEBAUTHN" }
}

/// A step-up failed: the code or passkey was incorrect.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpFailed {
    /// ID of the session.
    pub session: String,
    /// Purpose of the challenge.
    pub purpose: String,
    /// Factor type that was used: `WEBAUTHN` or `TOTP`.
    pub factor: &'static str,
}

event! {
    StepUpFailed = "ACCOUNT_STEPUP_FAILED", about USER, by BY_USER;
    "A step-up failed: the code or passkey was incorrect.";
    Self { session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "TOTP" }
}

/// A step-up token was consumed by an action.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpConsumed {
    /// ID of the user.
    pub user: String,
    /// ID of the session.
    pub session: String,
    /// Purpose of the token.
    pub purpose: String,
    /// Factor type that was used: `WEBAUTHN` or `TOTP`.
    pub factor: &'static str,
}

event! {
    StepUpConsumed = "ACCOUNT_STEPUP_CONSUMED", about ("step_up", TOKEN), by BY_USER;
    "A step-up token was consumed by an action.";
    Self { user: ADA.into(), session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "WEBAUTHN" }
}

/// A request had a step-up token that is not valid for it.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpRefused {
    /// ID of the user whose request was refused.
    pub user: String,
    /// ID of the session.
    pub session: String,
    /// Purpose that the action requires.
    pub purpose: String,
    /// The reason of `STEP_UP_INVALID`.
    pub reason: &'static str,
    /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

event! {
    StepUpRefused = "ACCOUNT_STEPUP_REFUSED", about USER, by BY_USER;
    "A request had a step-up token that is not valid for it.";
    Self {
        user: ADA.into(),
        session: SESSION.into(),
        purpose: "PAYROLL_SEAL".into(),
        reason: "IP_MISMATCH",
        suppressed: None,
    }
}
