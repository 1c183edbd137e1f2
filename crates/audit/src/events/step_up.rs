//! Fresh proofs: given, used, refused.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, USER, event};

const ADA: &str = "usr_01jz2222222222222222222222";
const SESSION: &str = "ses_01jz5555555555555555555555";
const TOKEN: &str = "sup_01jz9999999999999999999999";

/// A fresh proof was given for one act.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpIssued {
    /// Who gave it.
    pub user: String,
    /// In which session.
    pub session: String,
    /// Purpose of the token.
    pub purpose: String,
    /// Factor type that was used: `WEBAUTHN` or `TOTP`.
    pub factor: &'static str,
}

event! {
    StepUpIssued = "ACCOUNT_STEPUP_ISSUED", about ("step_up", TOKEN), by BY_USER;
    "A fresh proof was given for one act.";
    Self { user: ADA.into(), session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "WEBAUTHN" }
}

/// A wrong code or passkey was given for a fresh proof.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpFailed {
    /// In which session.
    pub session: String,
    /// Purpose of the challenge.
    pub purpose: String,
    /// Factor type that was used: `WEBAUTHN` or `TOTP`.
    pub factor: &'static str,
}

event! {
    StepUpFailed = "ACCOUNT_STEPUP_FAILED", about USER, by BY_USER;
    "A wrong code or passkey was given for a fresh proof.";
    Self { session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "TOTP" }
}

/// A fresh proof was used for its act.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpConsumed {
    /// Who gave it.
    pub user: String,
    /// In which session.
    pub session: String,
    /// Purpose of the token.
    pub purpose: String,
    /// Factor type that was used: `WEBAUTHN` or `TOTP`.
    pub factor: &'static str,
}

event! {
    StepUpConsumed = "ACCOUNT_STEPUP_CONSUMED", about ("step_up", TOKEN), by BY_USER;
    "A fresh proof was used for its act.";
    Self { user: ADA.into(), session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "WEBAUTHN" }
}

/// A step-up token was presented that is not good for the act.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpRefused {
    /// Id of the user whose request was refused.
    pub user: String,
    /// In which session.
    pub session: String,
    /// What the act asks for.
    pub purpose: String,
    /// The reason of `STEP_UP_INVALID`.
    pub reason: &'static str,
    /// In a closing entry alone: how many more like this were refused, and left out, in the 10 seconds before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

event! {
    StepUpRefused = "ACCOUNT_STEPUP_REFUSED", about USER, by BY_USER;
    "A step-up token was presented that is not good for the act.";
    Self {
        user: ADA.into(),
        session: SESSION.into(),
        purpose: "PAYROLL_SEAL".into(),
        reason: "IP_MISMATCH",
        suppressed: None,
    }
}
