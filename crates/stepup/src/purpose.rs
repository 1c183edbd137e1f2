//! Purposes of a step-up, and the factors that they accept.

use serde::{Deserialize, Serialize};

/// A second factor that a user can prove.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
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

/// A kind of act that requires a step-up. A service defines its own:
///
/// ```
/// use stepup::{Factor, Purpose};
/// const SHIP: Purpose = Purpose::new("SHIP", "Ship a release.");
/// const ERASE: Purpose = Purpose::phishing_resistant("ERASE", "Erase all data.");
/// assert!(SHIP.accepts(Factor::Totp) && !ERASE.accepts(Factor::Totp));
/// ```
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

/// Default lifetime of a token in seconds.
const TTL_SECONDS: u32 = 60;

impl Purpose {
    /// Creates a purpose that any factor may prove. Tokens expire after 60 seconds.
    pub const fn new(name: &'static str, description: &'static str) -> Self {
        Self { name, phishing_resistant: false, ttl_seconds: TTL_SECONDS, description }
    }

    /// Creates a purpose that requires a passkey or security key. Tokens expire after 60 seconds.
    pub const fn phishing_resistant(name: &'static str, description: &'static str) -> Self {
        Self { phishing_resistant: true, ..Self::new(name, description) }
    }

    /// Whether this factor is accepted.
    pub fn accepts(&self, factor: Factor) -> bool {
        !self.phishing_resistant || factor.is_phishing_resistant()
    }
}

/// Returns the purpose with this name.
pub fn find<'p>(purposes: &'p [Purpose], name: &str) -> Option<&'p Purpose> {
    purposes.iter().find(|purpose| purpose.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_have_names() {
        for (factor, name) in [(Factor::Webauthn, "WEBAUTHN"), (Factor::Totp, "TOTP")] {
            assert_eq!((factor.as_str(), Factor::parse(name)), (name, Some(factor)));
        }
        assert_eq!(Factor::parse("totp"), None);
    }
}
