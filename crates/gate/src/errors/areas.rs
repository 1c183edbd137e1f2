//! What each area's errors mean to a client.

use actix_web::http::StatusCode;

use super::Problem;

impl From<directory::Error> for Problem {
    fn from(error: directory::Error) -> Self {
        match error {
            directory::Error::Store(error) => error.into(),
            directory::Error::NotFound => Self::not_found(),
            directory::Error::LastAdmin => Self::conflict("CONFLICT", error.to_string()).reason("LAST_ADMIN"),
            directory::Error::EmailTaken(_) | directory::Error::SlugTaken(_) => {
                Self::conflict("uniqueness", error.to_string())
            }
            _ => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<sessions::Error> for Problem {
    fn from(error: sessions::Error) -> Self {
        match error {
            sessions::Error::Store(error) => error.into(),
            sessions::Error::NotFound => Self::not_found(),
        }
    }
}

impl From<tokens::pat::Error> for Problem {
    fn from(error: tokens::pat::Error) -> Self {
        match error {
            tokens::pat::Error::Store(error) => error.into(),
            tokens::pat::Error::NotFound => Self::not_found(),
            tokens::pat::Error::TooMany => Self::conflict("CONFLICT", error.to_string()),
            _ => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<tokens::Error> for Problem {
    fn from(error: tokens::Error) -> Self {
        match error {
            tokens::Error::Store(error) => error.into(),
            tokens::Error::NotFound => Self::not_found(),
            tokens::Error::Name => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<webhooks::Error> for Problem {
    fn from(error: webhooks::Error) -> Self {
        match error {
            webhooks::Error::Store(error) => error.into(),
            webhooks::Error::NotFound => Self::not_found(),
            webhooks::Error::Key(error) => Self::unforeseen(error),
            webhooks::Error::TooMany => Self::conflict("CONFLICT", error.to_string()),
            webhooks::Error::RotationUnderWay => {
                Self::conflict("CONFLICT", error.to_string()).reason("ROTATION_UNDER_WAY")
            }
            webhooks::Error::NoRotation => {
                Self::conflict("CONFLICT", error.to_string()).reason("NO_ROTATION")
            }
            _ => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<saml_sp::ProviderError> for Problem {
    fn from(error: saml_sp::ProviderError) -> Self {
        use saml_sp::ProviderError as Error;
        let conflict = |reason| Self::conflict("CONFLICT", error.to_string()).reason(reason);
        match error {
            Error::Store(error) => error.into(),
            Error::NotFound => Self::not_found(),
            Error::Key(error) => Self::unforeseen(error),
            Error::TooMany => Self::conflict("CONFLICT", error.to_string()),
            Error::DomainTaken(_) => conflict("DOMAIN_TAKEN"),
            Error::RotationUnderWay => conflict("ROTATION_UNDER_WAY"),
            Error::NoRotation => conflict("NO_ROTATION"),
            Error::Field { .. } => Self::invalid_request(error.to_string()),
        }
    }
}

impl From<saml_sp::DomainError> for Problem {
    fn from(error: saml_sp::DomainError) -> Self {
        match error {
            saml_sp::DomainError::Store(error) => error.into(),
            saml_sp::DomainError::NotFound(_) => Self::not_found(),
            saml_sp::DomainError::Taken(_) => {
                Self::conflict("CONFLICT", error.to_string()).reason("DOMAIN_TAKEN")
            }
        }
    }
}

impl From<credentials::Removal> for Problem {
    fn from(removal: credentials::Removal) -> Self {
        let code = match removal {
            credentials::Removal::PolicyRequiresMfa => "POLICY_REQUIRES_MFA",
            credentials::Removal::PolicyRequiresWebauthn => "POLICY_REQUIRES_WEBAUTHN",
            credentials::Removal::LastFactor => "LAST_FACTOR_POLICY_BLOCKED",
        };
        Self::conflict(code, removal.to_string())
    }
}

impl From<scim_core::Error> for Problem {
    fn from(error: scim_core::Error) -> Self {
        let (scim_type, message) = (error.scim_type(), error.to_string());
        let problem = match error {
            scim_core::Error::Store(error) => return error.into(),
            scim_core::Error::NotFound => Self::not_found(),
            scim_core::Error::Uniqueness { .. } => Self::new(StatusCode::CONFLICT, "CONFLICT", ""),
            _ => Self::invalid_request(""),
        };
        Self { message, scim_type, ..problem }
    }
}

impl From<attestation::Error> for Problem {
    fn from(error: attestation::Error) -> Self {
        match error {
            attestation::Error::TooMany => Self::invalid_request(format!("allowedAaguids: {error}")),
            attestation::Error::Store(error) => error.into(),
        }
    }
}

impl From<netpolicy::Error> for Problem {
    fn from(error: netpolicy::Error) -> Self {
        use netpolicy::Error;
        match error {
            Error::Lockout => Self::conflict("LOCKOUT_PROTECTION", error.to_string()),
            Error::CallerNotCovered => {
                Self::conflict("CONFLICT", error.to_string()).reason("CALLER_NOT_COVERED")
            }
            Error::Cidr(_) => Self::bad("INVALID_CIDR", format!("cidr: {error}")),
            Error::Duplicate(_) => Self::bad("DUPLICATE_CIDR", format!("cidr: {error}; change its label")),
            Error::TooMany => Self::conflict("CONFLICT", error.to_string()),
            Error::NotFound => Self::not_found(),
            Error::Label => Self::invalid_request(format!("label: {error}")),
            Error::Store(error) => error.into(),
        }
    }
}
