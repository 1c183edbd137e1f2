//! Purposes of a step-up, and the factors that they accept.

use serde::{Deserialize, Serialize};

/// A second factor that a user can prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Factor {
    /// A passkey or security key, which resists phishing.
    Webauthn,
    /// A code from an authenticator app (RFC 6238).
    Totp,
}

impl Factor {
    /// Returns the name in the API and in storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webauthn => "WEBAUTHN",
            Self::Totp => "TOTP",
        }
    }

    /// Parses a name.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Webauthn, Self::Totp].into_iter().find(|factor| factor.as_str() == text)
    }

    /// Whether the factor resists phishing.
    pub fn is_phishing_resistant(self) -> bool {
        self == Self::Webauthn
    }
}

/// A kind of act that requires a step-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Purpose {
    /// The name in the API, such as `PAYROLL_SEAL`.
    pub name: &'static str,
    /// Whether only a passkey or security key is accepted.
    #[serde(rename = "requiresPhishingResistant")]
    pub phishing_resistant: bool,
    /// Lifetime of a token in seconds.
    pub ttl_seconds: u32,
    /// One sentence for the documentation.
    pub description: &'static str,
}

impl Purpose {
    /// Whether this factor is accepted.
    pub fn accepts(&self, factor: Factor) -> bool {
        !self.phishing_resistant || factor.is_phishing_resistant()
    }
}

/// Default lifetime of a token in seconds.
const TTL_SECONDS: u32 = 60;

const fn purpose(name: &'static str, phishing_resistant: bool, description: &'static str) -> Purpose {
    Purpose { name, phishing_resistant, ttl_seconds: TTL_SECONDS, description }
}

/// Seal a payroll.
pub const PAYROLL_SEAL: Purpose = purpose("PAYROLL_SEAL", false, "Seal a payroll.");
/// Transmit payroll payments.
pub const PAYROLL_TRANSMIT_ACH: Purpose = purpose("PAYROLL_TRANSMIT_ACH", true, "Send payments.");
/// Erase a person's data permanently.
pub const ERASURE_FINALIZE: Purpose = purpose("ERASURE_FINALIZE", true, "Erase a person's data permanently.");
/// Countersign an equity grant.
pub const EQUITY_GRANT_COSIGN: Purpose = purpose("EQUITY_GRANT_COSIGN", true, "Countersign an equity grant.");
/// Create a personal access token with administrator access.
pub const PAT_MINT_ADMIN: Purpose =
    purpose("PAT_MINT_ADMIN", false, "Create a personal access token with administrator access.");
/// Create a SCIM token.
pub const SCIM_TOKEN_MINT: Purpose = purpose("SCIM_TOKEN_MINT", false, "Create a SCIM token.");
/// Change your password or factors.
pub const ACCOUNT_SECURITY_CHANGE: Purpose =
    purpose("ACCOUNT_SECURITY_CHANGE", false, "Change your password or factors.");
/// Change another user's role, address or credentials, or delete the user.
pub const USER_ADMIN_CHANGE: Purpose = purpose(
    "USER_ADMIN_CHANGE",
    false,
    "Change another user's role, address or credentials, or delete the user.",
);
/// Change the sign-in policy.
pub const SIGN_IN_POLICY_CHANGE: Purpose =
    purpose("SIGN_IN_POLICY_CHANGE", false, "Change the sign-in policy.");
/// Change the network policy.
pub const NETWORK_POLICY_CHANGE: Purpose =
    purpose("NETWORK_POLICY_CHANGE", false, "Change the network policy.");
/// Change the attestation policy.
pub const ATTESTATION_POLICY_CHANGE: Purpose =
    purpose("ATTESTATION_POLICY_CHANGE", false, "Change the attestation policy.");
/// Rotate the signing secret of a webhook.
pub const WEBHOOK_SECRET_ROTATE: Purpose =
    purpose("WEBHOOK_SECRET_ROTATE", false, "Rotate the signing secret of a webhook.");
/// Change an SSO connection or a domain.
pub const SSO_PROVIDER_CHANGE: Purpose =
    purpose("SSO_PROVIDER_CHANGE", false, "Change an SSO connection or a domain.");

/// All purposes of this platform.
pub const PURPOSES: [Purpose; 13] = [
    PAYROLL_SEAL,
    PAYROLL_TRANSMIT_ACH,
    ERASURE_FINALIZE,
    EQUITY_GRANT_COSIGN,
    PAT_MINT_ADMIN,
    SCIM_TOKEN_MINT,
    ACCOUNT_SECURITY_CHANGE,
    USER_ADMIN_CHANGE,
    SIGN_IN_POLICY_CHANGE,
    NETWORK_POLICY_CHANGE,
    ATTESTATION_POLICY_CHANGE,
    WEBHOOK_SECRET_ROTATE,
    SSO_PROVIDER_CHANGE,
];

/// Returns the purpose with this name.
pub fn find<'p>(purposes: &'p [Purpose], name: &str) -> Option<&'p Purpose> {
    purposes.iter().find(|purpose| purpose.name == name)
}
