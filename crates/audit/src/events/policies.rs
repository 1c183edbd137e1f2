//! What a tenant asks of those who sign in changes.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_USER, NETWORK_RULE, TENANT, event};

/// The tenant's sign-in policy changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

event! {
    SignInPolicyChanged = "ACCOUNT_SIGN_IN_POLICY_CHANGED", about TENANT, by BY_USER;
    "The tenant's sign-in policy changed.";
    Self { changed: vec!["mfa.required".into()] }
}

/// The tenant's network policy changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

event! {
    NetworkPolicyChanged = "ACCOUNT_NETWORK_POLICY_CHANGED", about TENANT, by BY_USER;
    "The tenant's network policy changed.";
    Self { changed: vec!["mode".into()] }
}

/// Somebody was kept out by the tenant's network policy; the same from the same address is told once in a
/// while.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyBlocked {
    /// `SIGN_IN`, `DASHBOARD` or `API`.
    pub surface: &'static str,
    /// The id of the person or the SCIM token that was refused.
    pub credential: String,
    /// In a closing entry alone: how many more like this were refused, and left out, in the 10 seconds before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

event! {
    NetworkPolicyBlocked = "ACCOUNT_NETWORK_POLICY_BLOCKED", about TENANT, by BY_USER;
    "Somebody was kept out by the tenant's network policy; the same from the same address is told once in a while.";
    Self { surface: "DASHBOARD", credential: "usr_01jz2222222222222222222222".into(), suppressed: None }
}

/// A range of addresses was added to the tenant's network policy.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleAdded {
    /// CIDR range in canonical form.
    pub cidr: String,
}

event! {
    NetworkRuleAdded = "ACCOUNT_NETWORK_RULE_ADDED", about NETWORK_RULE, by BY_USER;
    "A range of addresses was added to the tenant's network policy.";
    Self { cidr: "203.0.113.0/24".into() }
}

/// A range of addresses was removed from the tenant's network policy.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleRemoved {
    /// CIDR range in canonical form.
    pub cidr: String,
}

event! {
    NetworkRuleRemoved = "ACCOUNT_NETWORK_RULE_REMOVED", about NETWORK_RULE, by BY_USER;
    "A range of addresses was removed from the tenant's network policy.";
    Self { cidr: "203.0.113.0/24".into() }
}

/// A rule of the tenant's network policy has another label.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleChanged {
    /// Names of what changed.
    pub changed: Vec<String>,
}

event! {
    NetworkRuleChanged = "ACCOUNT_NETWORK_RULE_CHANGED", about NETWORK_RULE, by BY_USER;
    "A rule of the tenant's network policy has another label.";
    Self { changed: vec!["label".into()] }
}

/// The tenant's attestation policy changed.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

event! {
    AttestationPolicyChanged = "ACCOUNT_ATTESTATION_POLICY_CHANGED", about TENANT, by BY_USER;
    "The tenant's attestation policy changed.";
    Self { changed: vec!["mode".into(), "allowedGroups".into()] }
}

/// A passkey was not enrolled because of the tenant's attestation policy; the same from the same address is
/// told once in a while.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationPolicyBlocked {
    /// Whose passkey it would have been.
    pub user: String,
    /// What the authenticator says it is.
    pub aaguid: String,
    /// How far that is known: `claimed`, `self`, `signed` or `trusted`.
    pub trust: &'static str,
    /// Whether it can be copied to other devices.
    pub backup_eligible: bool,
    /// Whether it is built into a device; `null` where that was not said.
    pub is_platform_authenticator: Option<bool>,
    /// All that speaks against it: `ALLOWLIST_NO_MATCH`, `SYNCED_PASSKEY_DENIED`, `PLATFORM_AUTHENTICATOR_DENIED`.
    pub reasons: Vec<&'static str>,
    /// In a closing entry alone: how many more like this were refused, and left out, in the 10 seconds before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<u64>,
}

event! {
    AttestationPolicyBlocked = "ACCOUNT_ATTESTATION_POLICY_BLOCKED", about TENANT, by BY_USER;
    "A passkey was not enrolled because of the tenant's attestation policy; the same from the same address is told once in a while.";
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
