//! Step-up authentication.

use super::define::{BY_USER, Resource, USER, events};

const ADA: &str = "usr_01jz2222222222222222222222";
const SESSION: &str = "ses_01jz4444444444444444444444";
const STEP_UP: Resource = ("step_up", "sup_01jz9999999999999999999999");

events! {
    /// A step-up succeeded and its token was issued.
    StepUpIssued = "ACCOUNT_STEPUP_ISSUED" (STEP_UP, BY_USER) {
        /// ID of the user.
        user: String = ADA.into(),
        /// ID of the session.
        session: String = SESSION.into(),
        /// Purpose of the token.
        purpose: String = "PAYROLL_SEAL".into(),
        /// Factor type that was used: `WEBAUTHN` or `TOTP`.
        factor: &'static str = "WEBAUTHN",
    }
    /// A step-up failed: the code or passkey was incorrect.
    StepUpFailed = "ACCOUNT_STEPUP_FAILED" (USER, BY_USER) {
        /// ID of the session.
        session: String = SESSION.into(),
        /// Purpose of the challenge.
        purpose: String = "PAYROLL_SEAL".into(),
        /// Factor type that was used: `WEBAUTHN` or `TOTP`.
        factor: &'static str = "TOTP",
    }
    /// A step-up token was consumed by an action.
    StepUpConsumed = "ACCOUNT_STEPUP_CONSUMED" (STEP_UP, BY_USER) {
        /// ID of the user.
        user: String = ADA.into(),
        /// ID of the session.
        session: String = SESSION.into(),
        /// Purpose of the token.
        purpose: String = "PAYROLL_SEAL".into(),
        /// Factor type that was used: `WEBAUTHN` or `TOTP`.
        factor: &'static str = "WEBAUTHN",
    }
    /// A request had a step-up token that is not valid for it.
    StepUpRefused = "ACCOUNT_STEPUP_REFUSED" (USER, BY_USER) {
        /// ID of the user whose request was refused.
        user: String = ADA.into(),
        /// ID of the session.
        session: String = SESSION.into(),
        /// Purpose that the action requires.
        purpose: String = "PAYROLL_SEAL".into(),
        /// The reason of `STEP_UP_INVALID`.
        reason: &'static str = "IP_MISMATCH",
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
}
