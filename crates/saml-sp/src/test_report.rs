//! Report of a connection test: each check, the received attributes, and the user who would have been signed in.

use std::borrow::Cow;

use kernel::{Email, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::{
    refusal::{Refusal, Step},
    response::{Attribute, Claims, NameId},
};

/// Result of a connection test, as it is stored and shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TestReport {
    /// Whether all checks passed.
    pub passed: bool,
    /// The checks in the order in which they run.
    pub checks: Vec<TestCheck>,
    /// Attributes that the identity provider sent.
    pub attributes: Vec<Attribute>,
    /// The NameID that it sent.
    pub name_id: Option<NameId>,
    /// Email address found in the assertion, if any.
    pub email: Option<String>,
    /// Authentication context class of the sign-in at the identity provider.
    pub authn_context: Option<String>,
    /// User who would have been signed in.
    pub user: Option<TestUser>,
    /// When the response arrived.
    pub finished_at: Timestamp,
}

/// A check in a connection test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlTestCheck))]
pub struct TestCheck {
    /// `ENCODING`, `XML`, `STRUCTURE`, `SIGNATURE`, `DECRYPTION`, `STATUS`, `ADDRESSING`, `CONDITIONS`, `SUBJECT`, `REQUEST`, `REPLAY`,
    /// `EMAIL` or `ACCOUNT`.
    #[cfg_attr(feature = "openapi", schema(value_type = Step))]
    pub check: Cow<'static, str>,
    /// `PASSED`, `FAILED` or `NOT_REACHED`.
    pub outcome: TestOutcome,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<crate::refusal::Reason>))]
    pub reason: Option<Cow<'static, str>>,
    /// Actual and expected value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Outcome of a check in a connection test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(
    feature = "openapi",
    schema(as = SamlTestOutcome, description = "`NOT_REACHED`: an earlier check failed.")
)]
pub enum TestOutcome {
    /// The response has passed it.
    Passed,
    /// The response was refused by it.
    Failed,
    /// An earlier check failed.
    NotReached,
}

/// The user of the address in a connection test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SamlTestUser))]
pub struct TestUser {
    /// `usr_…`
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: UserId,
    /// Name to display.
    pub display_name: Option<String>,
    /// Email address of the account.
    pub email: Option<String>,
    /// Whether the account is enabled.
    pub active: bool,
}

/// The outcome of a response, as a report needs it.
#[derive(Debug, Default)]
pub struct TestedResponse<'a> {
    /// The checks that passed.
    pub passed: &'a [Step],
    /// The signed claims, if the signature was verified.
    pub claims: Option<&'a Claims>,
    /// The email address in the claims.
    pub email: Option<&'a Email>,
    /// The user with this address.
    pub user: Option<TestUser>,
    /// The reason for rejection, if a check failed.
    pub refusal: Option<&'a Refusal>,
}

/// The failed check of a report.
#[derive(Debug, Clone, Copy)]
pub struct FailedCheck<'f> {
    /// Code of the check.
    pub check: &'static str,
    /// Code of the reason.
    pub reason: &'static str,
    /// Actual and expected value.
    pub detail: &'f str,
}

impl<'f> FailedCheck<'f> {
    fn of(refusal: &'f Refusal) -> Self {
        let (check, reason) = (refusal.step().as_str(), refusal.reason.as_str());
        Self { check, reason, detail: &refusal.detail }
    }
}

impl TestCheck {
    fn new(check: &'static str, outcome: TestOutcome) -> Self {
        Self { check: check.into(), outcome, reason: None, detail: None }
    }

    /// Lists checks in their order: those that passed, the failed one, and those that were not reached.
    pub fn list(
        all: impl IntoIterator<Item = &'static str>,
        passed: &[&str],
        failed: Option<FailedCheck<'_>>,
    ) -> Vec<Self> {
        let check = |name| match failed {
            Some(failed) if failed.check == name => Self {
                reason: Some(failed.reason.into()),
                detail: Some(failed.detail.to_owned()),
                ..Self::new(name, TestOutcome::Failed)
            },
            Some(_) if !passed.contains(&name) => Self::new(name, TestOutcome::NotReached),
            _ => Self::new(name, TestOutcome::Passed),
        };
        all.into_iter().map(check).collect()
    }
}

impl TestReport {
    /// Reports on a response.
    pub fn new(response: TestedResponse<'_>, now: Timestamp) -> Self {
        let TestedResponse { passed, claims, email, user, refusal } = response;
        let failed = refusal.map(Refusal::step);
        // Omit the decryption check if nothing was encrypted.
        let applies =
            |step: &Step| *step != Step::Decryption || failed == Some(*step) || passed.contains(step);
        let all = Step::ALL.into_iter().filter(applies).map(Step::as_str);
        let passed: Vec<_> = passed.iter().map(|step| step.as_str()).collect();
        Self {
            passed: refusal.is_none(),
            checks: TestCheck::list(all, &passed, refusal.map(FailedCheck::of)),
            attributes: claims.map(|claims| claims.attributes.clone()).unwrap_or_default(),
            name_id: claims.and_then(|claims| claims.name_id.clone()),
            email: email.map(|email| email.as_str().to_owned()),
            authn_context: claims.and_then(|claims| claims.authn_context.clone()),
            user,
            finished_at: now,
        }
    }

    /// Reports that no response has arrived.
    pub fn unanswered(now: Timestamp) -> Self {
        Self::unanswered_checks(Step::ALL.into_iter().map(Step::as_str), now)
    }

    /// Reports that no response has arrived, with these checks.
    pub fn unanswered_checks(all: impl IntoIterator<Item = &'static str>, now: Timestamp) -> Self {
        let check = |name| TestCheck::new(name, TestOutcome::NotReached);
        let checks = all.into_iter().map(check).collect();
        Self { passed: false, checks, ..Self::new(TestedResponse::default(), now) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::refusal::Reason;

    fn outcomes(report: &TestReport) -> Vec<(&str, TestOutcome)> {
        report.checks.iter().map(|check| (&*check.check, check.outcome)).collect()
    }

    #[test]
    fn a_failed_check_follows_the_passed_ones_and_precedes_those_not_reached() {
        let now = Timestamp::from_unix_millis(0);
        let refusal = Refusal::new(Reason::BadSignature, "no pinned certificate verifies it");
        let passed = [Step::Encoding, Step::Xml, Step::Structure];
        let response = TestedResponse { passed: &passed, refusal: Some(&refusal), ..Default::default() };
        let report = TestReport::new(response, now);
        assert!(!report.passed);
        let expected = [
            ("ENCODING", TestOutcome::Passed),
            ("XML", TestOutcome::Passed),
            ("STRUCTURE", TestOutcome::Passed),
            ("SIGNATURE", TestOutcome::Failed),
            // Nothing was encrypted, so there is no check of the decryption.
            ("STATUS", TestOutcome::NotReached),
        ];
        assert_eq!(outcomes(&report)[..5], expected);
        assert_eq!(report.checks.len(), Step::ALL.len() - 1);
        let json = serde_json::to_value(&report.checks[3]).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "check": "SIGNATURE",
                "outcome": "FAILED",
                "reason": "SIGNATURE_INVALID",
                "detail": "no pinned certificate verifies it",
            })
        );
        assert_eq!(
            serde_json::to_value(&report.checks[4]).unwrap(),
            serde_json::json!({ "check": "STATUS", "outcome": "NOT_REACHED" })
        );
    }

    #[test]
    fn all_checks_pass_without_a_refusal_and_none_is_reached_without_a_response() {
        let now = Timestamp::from_unix_millis(0);
        let response = TestedResponse { passed: &Step::ALL, ..Default::default() };
        let report = TestReport::new(response, now);
        assert!(report.passed && report.checks.iter().all(|check| check.outcome == TestOutcome::Passed));
        assert_eq!(report.checks.len(), Step::ALL.len());
        let report = TestReport::unanswered(now);
        assert!(!report.passed && report.checks.len() == Step::ALL.len());
        assert!(report.checks.iter().all(|check| check.outcome == TestOutcome::NotReached));
    }
}
