//! A fresh proof for one act: the purposes, and what each asks for.
//!
//! An act of high impact names a [`Purpose`]. Whoever wants to do it proves a second factor for that
//! purpose, just before. A purpose says which factors count; an embedding service has its own set of them.
//!
//! ```
//! use stepup::Purpose;
//! let purpose = stepup::find(&stepup::PURPOSES, "PAYROLL_TRANSMIT_ACH").ok_or("unknown")?;
//! assert!(purpose.phishing_resistant);
//! # Ok::<(), &str>(())
//! ```

/// What a proof is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Purpose {
    /// As written in the API: `PAYROLL_SEAL`.
    pub name: &'static str,
    /// Whether only a passkey or security key counts.
    pub phishing_resistant: bool,
    /// How long a proof is good for, in seconds.
    pub ttl_seconds: u32,
    /// One sentence for the documentation.
    pub description: &'static str,
}

/// How long a proof is good for unless a purpose says otherwise.
const TTL_SECONDS: u32 = 60;

const fn purpose(name: &'static str, phishing_resistant: bool, description: &'static str) -> Purpose {
    Purpose { name, phishing_resistant, ttl_seconds: TTL_SECONDS, description }
}

/// Sealing a payroll.
pub const PAYROLL_SEAL: Purpose = purpose("PAYROLL_SEAL", false, "Sealing a payroll.");
/// Sending payments.
pub const PAYROLL_TRANSMIT_ACH: Purpose = purpose("PAYROLL_TRANSMIT_ACH", true, "Sending payments.");
/// Erasing a person's data for good.
pub const ERASURE_FINALIZE: Purpose = purpose("ERASURE_FINALIZE", true, "Erasing a person's data for good.");
/// Countersigning an equity grant.
pub const EQUITY_GRANT_COSIGN: Purpose =
    purpose("EQUITY_GRANT_COSIGN", true, "Countersigning an equity grant.");
/// Minting a personal access token that acts as an administrator.
pub const PAT_MINT_ADMIN: Purpose =
    purpose("PAT_MINT_ADMIN", false, "Minting a personal access token that acts as an administrator.");
/// Minting a SCIM token.
pub const SCIM_TOKEN_MINT: Purpose = purpose("SCIM_TOKEN_MINT", false, "Minting a SCIM token.");
/// Changing one's own password or factors.
pub const ACCOUNT_SECURITY_CHANGE: Purpose =
    purpose("ACCOUNT_SECURITY_CHANGE", false, "Changing one's own password or factors.");
/// Changing another person's role, address or credentials, or deleting them.
pub const USER_ADMIN_CHANGE: Purpose = purpose(
    "USER_ADMIN_CHANGE",
    false,
    "Changing another person's role, address or credentials, or deleting them.",
);
/// Changing the sign-in policy.
pub const SIGN_IN_POLICY_CHANGE: Purpose =
    purpose("SIGN_IN_POLICY_CHANGE", false, "Changing the sign-in policy.");
/// Changing the network policy.
pub const NETWORK_POLICY_CHANGE: Purpose =
    purpose("NETWORK_POLICY_CHANGE", false, "Changing the network policy.");
/// Changing the attestation policy.
pub const ATTESTATION_POLICY_CHANGE: Purpose =
    purpose("ATTESTATION_POLICY_CHANGE", false, "Changing the attestation policy.");
/// Rotating a webhook's secret.
pub const WEBHOOK_SECRET_ROTATE: Purpose =
    purpose("WEBHOOK_SECRET_ROTATE", false, "Rotating a webhook's secret.");
/// Changing an identity provider or an e-mail domain.
pub const SSO_PROVIDER_CHANGE: Purpose =
    purpose("SSO_PROVIDER_CHANGE", false, "Changing an identity provider or an e-mail domain.");

/// All of this platform's.
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

/// The purpose of this name.
pub fn find<'p>(purposes: &'p [Purpose], name: &str) -> Option<&'p Purpose> {
    purposes.iter().find(|purpose| purpose.name == name)
}
