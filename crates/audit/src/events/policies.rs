//! Changes of policies, and requests that they blocked.

use super::define::{BY_USER, NETWORK_RULE, TENANT, events};

events! {
    /// The sign-in policy changed.
    SignInPolicyChanged = "ACCOUNT_SIGN_IN_POLICY_CHANGED" (TENANT, BY_USER) {
        /// Names of the settings that changed.
        changed: Vec<String> = vec!["mfa.required".into()],
    }
    /// The network policy changed.
    NetworkPolicyChanged = "ACCOUNT_NETWORK_POLICY_CHANGED" (TENANT, BY_USER) {
        /// Names of the settings that changed.
        changed: Vec<String> = vec!["mode".into()],
    }
    /// The network policy blocked a request. Repeated refusals of one address are summarized.
    NetworkPolicyBlocked = "ACCOUNT_NETWORK_POLICY_BLOCKED" (TENANT, BY_USER) {
        /// `SIGN_IN`, `DASHBOARD` or `API`.
        surface: &'static str = "DASHBOARD",
        /// ID of the user or SCIM token that was refused.
        credential: String = "usr_01jz2222222222222222222222".into(),
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
    /// A CIDR rule was added to the network policy.
    NetworkRuleAdded = "ACCOUNT_NETWORK_RULE_ADDED" (NETWORK_RULE, BY_USER) {
        /// CIDR range in canonical form.
        cidr: String = "203.0.113.0/24".into(),
    }
    /// A CIDR rule was removed from the network policy.
    NetworkRuleRemoved = "ACCOUNT_NETWORK_RULE_REMOVED" (NETWORK_RULE, BY_USER) {
        /// CIDR range in canonical form.
        cidr: String = "203.0.113.0/24".into(),
    }
    /// A CIDR rule was renamed.
    NetworkRuleChanged = "ACCOUNT_NETWORK_RULE_CHANGED" (NETWORK_RULE, BY_USER) {
        /// Names of the fields that changed.
        changed: Vec<String> = vec!["label".into()],
    }
    /// The attestation policy changed.
    AttestationPolicyChanged = "ACCOUNT_ATTESTATION_POLICY_CHANGED" (TENANT, BY_USER) {
        /// Names of the settings that changed.
        changed: Vec<String> = vec!["mode".into(), "allowedGroups".into()],
    }
    /// The attestation policy refused the enrolment of a passkey. Repeated refusals of one address are summarized.
    AttestationPolicyBlocked = "ACCOUNT_ATTESTATION_POLICY_BLOCKED" (TENANT, BY_USER) {
        /// ID of the user who tried to enrol it.
        user: String = "usr_01jz2222222222222222222222".into(),
        /// AAGUID that the authenticator reported.
        aaguid: String = "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4".into(),
        /// How the model is attested: `claimed`, `self`, `signed` or `trusted`.
        trust: &'static str = "claimed",
        /// Whether the passkey can be copied to other devices.
        backup_eligible: bool = true,
        /// Whether it is built into a device; `null` if unknown.
        is_platform_authenticator: Option<bool> = Some(true),
        /// All reasons: `ALLOWLIST_NO_MATCH`, `SYNCED_PASSKEY_DENIED`, `PLATFORM_AUTHENTICATOR_DENIED`.
        reasons: Vec<&'static str> = vec!["ALLOWLIST_NO_MATCH", "SYNCED_PASSKEY_DENIED"],
        /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
        #[serde(skip_serializing_if = "Option::is_none")]
        suppressed: Option<u64> = None,
    }
}
