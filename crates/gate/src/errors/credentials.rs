//! Errors of factors.

use super::{code::Code, problem::Problem};

impl From<credentials::RemovalError> for Problem {
    fn from(removal: credentials::RemovalError) -> Self {
        let code = match removal {
            credentials::RemovalError::PolicyRequiresMfa => Code::PolicyRequiresMfa,
            credentials::RemovalError::PolicyRequiresWebauthn => Code::PolicyRequiresWebauthn,
            credentials::RemovalError::LastFactor => Code::LastFactorPolicyBlocked,
        };
        Self::new(code, removal.to_string())
    }
}
