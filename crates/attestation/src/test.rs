//! Tests a policy with an authenticator model, as an administrator asks for it.

use serde::{Deserialize, Serialize};

use crate::{Aaguid, Authenticator, Candidate, Policy, Reason};

/// An authenticator to test the policy with.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = AttestationTestBody))]
pub struct ModelTest {
    /// A UUID.
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "uuid"))]
    pub aaguid: Aaguid,
    /// Default: the value of the catalog, else false.
    pub is_platform_authenticator: Option<bool>,
    /// Default: the value of the catalog, else false.
    pub backup_eligible: Option<bool>,
}

/// Decision of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", schema(as = PolicyDecision))]
pub enum Decision {
    /// The authenticator may be enrolled.
    Allow,
    /// The authenticator is refused.
    Deny,
}

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = AttestationDecision))]
pub struct ModelDecision {
    /// `ALLOW` or `DENY`.
    pub decision: Decision,
    /// First of `reasons`.
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// All reasons for the refusal, in this order: `ALLOWLIST_NO_MATCH`, `SYNCED_PASSKEY_DENIED`,
    /// `PLATFORM_AUTHENTICATOR_DENIED`.
    pub reasons: Vec<Reason>,
    /// `null` if the catalog does not contain the model.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub authenticator: Option<&'static Authenticator>,
}

impl ModelTest {
    /// Decides about the authenticator as if an attestation had proved its model.
    pub fn run(self, policy: &Policy) -> ModelDecision {
        let verdict = policy.decide(&Candidate {
            aaguid: self.aaguid,
            is_platform: self.is_platform_authenticator,
            backup_eligible: self.backup_eligible,
            proved: true,
        });
        ModelDecision {
            decision: if verdict.is_allowed() { Decision::Allow } else { Decision::Deny },
            reason: verdict.reason(),
            authenticator: verdict.authenticator,
            reasons: verdict.reasons,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Mode;

    #[test]
    fn decision_names_its_reasons_and_the_model() {
        let aaguid = "2fc0579f-8113-47ea-b116-bb5a8db9202a";
        let test: ModelTest = serde_json::from_value(json!({ "aaguid": aaguid })).unwrap();
        let off = serde_json::to_value(test.run(&Policy::default())).unwrap();
        assert_eq!((&off["decision"], &off["reasons"]), (&json!("ALLOW"), &json!([])));
        assert_eq!((off.get("reason"), &off["authenticator"]["aaguid"]), (None, &json!(aaguid)));
        let on = test.run(&Policy { mode: Mode::Allowlist, ..Policy::default() });
        assert_eq!((on.decision, on.reason), (Decision::Deny, Some(Reason::AllowlistNoMatch)));
    }
}
