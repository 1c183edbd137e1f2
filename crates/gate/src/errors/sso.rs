//! Errors of single sign-on.

use super::{code::Code, problem::Problem};

impl From<saml_sp::ProviderError> for Problem {
    fn from(error: saml_sp::ProviderError) -> Self {
        use saml_sp::ProviderError as Error;
        let conflict = |reason| Self::new(Code::Conflict, error.to_string()).reason(reason);
        match error {
            Error::Store(error) => error.into(),
            Error::NotFound => Self::not_found(),
            Error::TooMany => Self::new(Code::Conflict, error.to_string()),
            Error::DomainTaken(_) => conflict("DOMAIN_TAKEN"),
            Error::RotationUnderWay => conflict("ROTATION_UNDER_WAY"),
            Error::NoRotation => conflict("NO_ROTATION"),
            Error::Field { .. } => Self::invalid_request(error.to_string()),
            other => Self::unexpected(other),
        }
    }
}

impl From<saml_sp::DomainError> for Problem {
    fn from(error: saml_sp::DomainError) -> Self {
        use saml_sp::DomainError as Error;
        let conflict = |reason| Self::new(Code::Conflict, error.to_string()).reason(reason);
        match error {
            Error::Store(error) => error.into(),
            Error::NotFound(_) => Self::not_found(),
            Error::Taken(_) => conflict("DOMAIN_TAKEN"),
            Error::DnsUnavailable(_) => conflict("DNS_UNAVAILABLE"),
            Error::RecordMissing { .. } | Error::JustReleased => conflict("DNS_RECORD_MISSING"),
            other => Self::unexpected(other),
        }
    }
}

/// Describes the refusal of a response to the client. Details are given only after all checks of the response have
/// passed.
impl From<&saml_sp::Refusal> for Problem {
    fn from(refusal: &saml_sp::Refusal) -> Self {
        use saml_sp::Reason;
        match refusal.reason {
            Reason::NotProvisioned => not_provisioned(),
            Reason::SsoNotAllowed => sso_not_allowed(),
            Reason::Disabled => Self::account_disabled(),
            _ => Self::new(
                Code::SamlRefused,
                "the response of the identity provider was refused. The audit log shows administrators the reason",
            ),
        }
    }
}

/// Describes the refusal of a sign-in with OpenID Connect, as that of a SAML response.
impl From<&oidc_rp::Refusal> for Problem {
    fn from(refusal: &oidc_rp::Refusal) -> Self {
        use oidc_rp::Reason;
        match refusal.reason {
            Reason::NotProvisioned => not_provisioned(),
            Reason::SsoNotAllowed => sso_not_allowed(),
            Reason::Disabled => Self::account_disabled(),
            _ => Self::new(
                Code::OidcRefused,
                "the sign-in through the OpenID provider was refused. The audit log shows administrators the reason",
            ),
        }
    }
}

impl Problem {
    /// Returns the refusal of a logout token.
    pub fn logout_refused() -> Self {
        let problem = "the logout token was refused. The audit log shows administrators the reason";
        Self::new(Code::OidcLogoutRefused, problem)
    }

    /// Returns the refusal of a SAML logout message.
    pub fn saml_logout_refused() -> Self {
        let problem = "the logout message was refused. The audit log shows administrators the reason";
        Self::new(Code::SamlLogoutRefused, problem)
    }
}

fn not_provisioned() -> Problem {
    let problem = "no user of this tenant has this address. Ask an administrator for an invitation";
    Problem::new(Code::NotProvisioned, problem)
}

fn sso_not_allowed() -> Problem {
    let problem = "this tenant allows only email and password. Sign in with them, or ask an administrator";
    Problem::new(Code::SsoNotAllowed, problem)
}
