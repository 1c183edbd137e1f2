//! What a tenant asks of those who sign in changes.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SignInPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

impl EventData for SignInPolicyChanged {
    const CODE: &'static str = "ACCOUNT_SIGN_IN_POLICY_CHANGED";
    const DESCRIPTION: &'static str = "The tenant's sign-in policy changed.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { changed: vec!["mfa.required".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

impl EventData for NetworkPolicyChanged {
    const CODE: &'static str = "ACCOUNT_NETWORK_POLICY_CHANGED";
    const DESCRIPTION: &'static str = "The tenant's network policy changed.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { changed: vec!["mode".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
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

impl EventData for NetworkPolicyBlocked {
    const CODE: &'static str = "ACCOUNT_NETWORK_POLICY_BLOCKED";
    const DESCRIPTION: &'static str = "Somebody was kept out by the tenant's network policy; the same from the same address is told once in a while.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { surface: "DASHBOARD", credential: "usr_01jz2222222222222222222222".into(), suppressed: None }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleAdded {
    /// Its range.
    pub cidr: String,
}

impl EventData for NetworkRuleAdded {
    const CODE: &'static str = "ACCOUNT_NETWORK_RULE_ADDED";
    const DESCRIPTION: &'static str = "A range of addresses was added to the tenant's network policy.";
    const RESOURCE_TYPE: &'static str = "network_rule";
    const EXAMPLE_ID: &'static str = "nrl_01jz3333333333333333333333";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { cidr: "203.0.113.0/24".into() }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleRemoved {
    /// Its range.
    pub cidr: String,
}

impl EventData for NetworkRuleRemoved {
    const CODE: &'static str = "ACCOUNT_NETWORK_RULE_REMOVED";
    const DESCRIPTION: &'static str = "A range of addresses was removed from the tenant's network policy.";
    const RESOURCE_TYPE: &'static str = "network_rule";
    const EXAMPLE_ID: &'static str = "nrl_01jz3333333333333333333333";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { cidr: "203.0.113.0/24".into() }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkRuleChanged {
    /// Names of what changed.
    pub changed: Vec<String>,
}

impl EventData for NetworkRuleChanged {
    const CODE: &'static str = "ACCOUNT_NETWORK_RULE_CHANGED";
    const DESCRIPTION: &'static str = "A rule of the tenant's network policy has another label.";
    const RESOURCE_TYPE: &'static str = "network_rule";
    const EXAMPLE_ID: &'static str = "nrl_01jz3333333333333333333333";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { changed: vec!["label".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttestationPolicyChanged {
    /// Names of the settings that changed.
    pub changed: Vec<String>,
}

impl EventData for AttestationPolicyChanged {
    const CODE: &'static str = "ACCOUNT_ATTESTATION_POLICY_CHANGED";
    const DESCRIPTION: &'static str = "The tenant's attestation policy changed.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { changed: vec!["mode".into(), "allowedGroups".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
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

impl EventData for AttestationPolicyBlocked {
    const CODE: &'static str = "ACCOUNT_ATTESTATION_POLICY_BLOCKED";
    const DESCRIPTION: &'static str = "A passkey was not enrolled because of the tenant's attestation policy; the same from the same address is told once in a while.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
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
}
