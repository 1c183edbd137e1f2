//! The purposes of step-ups on this platform.

use stepup::Purpose;

/// Seal a payroll.
pub const PAYROLL_SEAL: Purpose = Purpose::new("PAYROLL_SEAL", "Seal a payroll.");
/// Transmit payroll payments.
pub const PAYROLL_TRANSMIT_ACH: Purpose =
    Purpose::phishing_resistant("PAYROLL_TRANSMIT_ACH", "Send payments.");
/// Erase a person's data permanently.
pub const ERASURE_FINALIZE: Purpose =
    Purpose::phishing_resistant("ERASURE_FINALIZE", "Erase a person's data permanently.");
/// Countersign an equity grant.
pub const EQUITY_GRANT_COSIGN: Purpose =
    Purpose::phishing_resistant("EQUITY_GRANT_COSIGN", "Countersign an equity grant.");
/// Create a personal access token with administrator access.
pub const PAT_MINT_ADMIN: Purpose =
    Purpose::new("PAT_MINT_ADMIN", "Create a personal access token with administrator access.");
/// Create a SCIM token.
pub const SCIM_TOKEN_MINT: Purpose = Purpose::new("SCIM_TOKEN_MINT", "Create a SCIM token.");
/// Change your password or factors.
pub const ACCOUNT_SECURITY_CHANGE: Purpose =
    Purpose::new("ACCOUNT_SECURITY_CHANGE", "Change your password or factors.");
/// Change another user's role, address or credentials, or delete the user.
pub const USER_ADMIN_CHANGE: Purpose = Purpose::new(
    "USER_ADMIN_CHANGE",
    "Change another user's role, address or credentials, or delete the user.",
);
/// Change the sign-in policy.
pub const SIGN_IN_POLICY_CHANGE: Purpose =
    Purpose::new("SIGN_IN_POLICY_CHANGE", "Change the sign-in policy.");
/// Change the network policy.
pub const NETWORK_POLICY_CHANGE: Purpose =
    Purpose::new("NETWORK_POLICY_CHANGE", "Change the network policy.");
/// Change the attestation policy.
pub const ATTESTATION_POLICY_CHANGE: Purpose =
    Purpose::new("ATTESTATION_POLICY_CHANGE", "Change the attestation policy.");
/// Rotate the signing secret of a webhook.
pub const WEBHOOK_SECRET_ROTATE: Purpose =
    Purpose::new("WEBHOOK_SECRET_ROTATE", "Rotate the signing secret of a webhook.");
/// Change an SSO connection or a domain.
pub const SSO_PROVIDER_CHANGE: Purpose =
    Purpose::new("SSO_PROVIDER_CHANGE", "Change an SSO connection or a domain.");

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
