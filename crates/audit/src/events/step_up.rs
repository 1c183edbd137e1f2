//! Fresh proofs: given, used, refused.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

const ADA: &str = "usr_01jz2222222222222222222222";
const SESSION: &str = "ses_01jz5555555555555555555555";
const TOKEN: &str = "sup_01jz9999999999999999999999";

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpIssued {
    /// Who gave it.
    pub user: String,
    /// In which session.
    pub session: String,
    /// For what.
    pub purpose: String,
    /// With what.
    pub factor: &'static str,
}

impl EventData for StepUpIssued {
    const CODE: &'static str = "ACCOUNT_STEPUP_ISSUED";
    const DESCRIPTION: &'static str = "A fresh proof was given for one act.";
    const RESOURCE_TYPE: &'static str = "step_up";
    const EXAMPLE_ID: &'static str = TOKEN;
    const EXAMPLE_ACTOR: (&'static str, &'static str) = (ADA, "USER");

    fn example() -> Self {
        Self { user: ADA.into(), session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "WEBAUTHN" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpFailed {
    /// In which session.
    pub session: String,
    /// For what.
    pub purpose: String,
    /// With what.
    pub factor: &'static str,
}

impl EventData for StepUpFailed {
    const CODE: &'static str = "ACCOUNT_STEPUP_FAILED";
    const DESCRIPTION: &'static str = "A wrong code or passkey was given for a fresh proof.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = ADA;
    const EXAMPLE_ACTOR: (&'static str, &'static str) = (ADA, "USER");

    fn example() -> Self {
        Self { session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "TOTP" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpConsumed {
    /// Who gave it.
    pub user: String,
    /// In which session.
    pub session: String,
    /// For what.
    pub purpose: String,
    /// With what.
    pub factor: &'static str,
}

impl EventData for StepUpConsumed {
    const CODE: &'static str = "ACCOUNT_STEPUP_CONSUMED";
    const DESCRIPTION: &'static str = "A fresh proof was used for its act.";
    const RESOURCE_TYPE: &'static str = "step_up";
    const EXAMPLE_ID: &'static str = TOKEN;
    const EXAMPLE_ACTOR: (&'static str, &'static str) = (ADA, "USER");

    fn example() -> Self {
        Self { user: ADA.into(), session: SESSION.into(), purpose: "PAYROLL_SEAL".into(), factor: "WEBAUTHN" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct StepUpRefused {
    /// Who called.
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

impl EventData for StepUpRefused {
    const CODE: &'static str = "ACCOUNT_STEPUP_REFUSED";
    const DESCRIPTION: &'static str = "A step-up token was presented that is not good for the act.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = ADA;
    const EXAMPLE_ACTOR: (&'static str, &'static str) = (ADA, "USER");

    fn example() -> Self {
        Self {
            user: ADA.into(),
            session: SESSION.into(),
            purpose: "PAYROLL_SEAL".into(),
            reason: "IP_MISMATCH",
            suppressed: None,
        }
    }
}
