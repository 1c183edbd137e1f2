//! Factors.

use super::{code::Code, problem::Problem};

impl From<credentials::Removal> for Problem {
    fn from(removal: credentials::Removal) -> Self {
        let code = match removal {
            credentials::Removal::PolicyRequiresMfa => Code::PolicyRequiresMfa,
            credentials::Removal::PolicyRequiresWebauthn => Code::PolicyRequiresWebauthn,
            credentials::Removal::LastFactor => Code::LastFactorPolicyBlocked,
        };
        Self::new(code, removal.to_string())
    }
}
