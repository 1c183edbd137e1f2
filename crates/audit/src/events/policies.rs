//! Changes of policies, and requests that they blocked.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, NETWORK_RULE, TENANT, event};

/// The sign-in policy changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

event! {
    SignInPolicyChanged = "ACCOUNT_SIGN_IN_POLICY_CHANGED", about TENANT, by BY_USER;
    "The sign-in policy changed.";
    Self { changed: vec!["mfa.required".into()] }
}

/// The network policy changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

event! {
    NetworkPolicyChanged = "ACCOUNT_NETWORK_POLICY_CHANGED", about TENANT, by BY_USER;
    "The network policy changed.";
    Self { changed: vec!["mode".into()] }
}

/// The network policy blocked a request. Repeated refusals of one address are summarized.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyBlocked {
    /// `SIGN_IN`, `DASHBOARD` or `API`.
    pub surface: &'static str,
    /// ID of the user or SCIM token that was refused.
    pub credential: String,
    /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

event! {
    NetworkPolicyBlocked = "ACCOUNT_NETWORK_POLICY_BLOCKED", about TENANT, by BY_USER;
    "The network policy blocked a request. Repeated refusals of one address are summarized.";
    Self { surface: "DASHBOARD", credential: "usr_01jz2222222222222222222222".into(), suppressed: None }
}

/// A CIDR rule was added to the network policy.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleAdded {
    /// CIDR range in canonical form.
    pub cidr: String,
}

event! {
    NetworkRuleAdded = "ACCOUNT_NETWORK_RULE_ADDED", about NETWORK_RULE, by BY_USER;
    "A CIDR rule was added to the network policy.";
    Self { cidr: "203.0.113.0/24".into() }
}

/// A CIDR rule was removed from the network policy.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleRemoved {
    /// CIDR range in canonical form.
    pub cidr: String,
}

event! {
    NetworkRuleRemoved = "ACCOUNT_NETWORK_RULE_REMOVED", about NETWORK_RULE, by BY_USER;
    "A CIDR rule was removed from the network policy.";
    Self { cidr: "203.0.113.0/24".into() }
}

/// A CIDR rule was renamed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleChanged {
    /// Names of the fields that changed.
    pub changed: Vec<String>,
}

event! {
    NetworkRuleChanged = "ACCOUNT_NETWORK_RULE_CHANGED", about NETWORK_RULE, by BY_USER;
    "A CIDR rule was renamed.";
    Self { changed: vec!["label".into()] }
}

/// The attestation policy changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

event! {
    AttestationPolicyChanged = "ACCOUNT_ATTESTATION_POLICY_CHANGED", about TENANT, by BY_USER;
    "The attestation policy changed.";
    Self { changed: vec!["mode".into(), "allowedGroups".into()] }
}

/// The attestation policy refused the enrolment of a passkey. Repeated refusals of one address are summarized.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationPolicyBlocked {
    /// ID of the user who tried to enrol it.
    pub user: String,
    /// AAGUID that the authenticator reported.
    pub aaguid: String,
    /// How the model is attested: `claimed`, `self`, `signed` or `trusted`.
    pub trust: &'static str,
    /// Whether the passkey can be copied to other devices.
    pub backup_eligible: bool,
    /// Whether it is built into a device; `null` if unknown.
    pub is_platform_authenticator: Option<bool>,
    /// All reasons: `ALLOWLIST_NO_MATCH`, `SYNCED_PASSKEY_DENIED`, `PLATFORM_AUTHENTICATOR_DENIED`.
    pub reasons: Vec<&'static str>,
    /// Only in a summary: number of similar refusals of the last 10 seconds that have no entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

event! {
    AttestationPolicyBlocked = "ACCOUNT_ATTESTATION_POLICY_BLOCKED", about TENANT, by BY_USER;
    "The attestation policy refused the enrolment of a passkey. Repeated refusals of one address are summarized.";
    Self {
        user: "usr_01jz2222222222222222222222".into(),
        aaguid: "ea9b8d66-4d01-1d21-3ce4-b6b48cb575d4".into(),
        trust: "claimed",
        backup_eligible: true,
        is_platform_authenticator: Some(true),
        reasons: vec!["ALLOWLIST_NO_MATCH", "SYNCED_PASSKEY_DENIED"],
        suppressed: None,
    }
}
