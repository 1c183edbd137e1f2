//! Email domains: those assigned to a provider, and those verified by a tenant.

use std::{fmt, str::FromStr};

use kernel::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The domain of an email address: lower case, ASCII (IDNA A-labels), at least two labels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EmailDomain(String);

/// The text is not a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a domain such as example.com")]
pub struct ParseEmailDomainError;

impl EmailDomain {
    /// Returns the domain in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the domain of an email address; `None` if it is not valid.
    pub fn of(address: &str) -> Option<Self> {
        address.rsplit_once('@')?.1.to_ascii_lowercase().parse().ok()
    }
}

impl FromStr for EmailDomain {
    type Err = ParseEmailDomainError;

    fn from_str(text: &str) -> Result<Self, ParseEmailDomainError> {
        let text = text.trim();
        // IDNA converts non-ASCII names to A-labels or rejects them.
        let Ok(url::Host::Domain(ascii)) = url::Host::parse(text) else { return Err(ParseEmailDomainError) };
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
                && !label.starts_with('-')
                && !label.ends_with('-')
        };
        let sound = ascii.len() <= 253 && ascii.contains('.') && ascii.split('.').all(label);
        if sound { Ok(Self(ascii.to_ascii_lowercase())) } else { Err(ParseEmailDomainError) }
    }
}

impl fmt::Display for EmailDomain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EmailDomain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EmailDomain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// How a domain was verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Method {
    /// By a TXT record.
    Dns,
    /// By an operator, without proof.
    Operator,
}

impl Method {
    /// Returns the name used in storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "DNS",
            Self::Operator => "OPERATOR",
        }
    }

    /// Parses the result of [`Method::as_str`].
    pub fn read(text: &str) -> Option<Self> {
        [Self::Dns, Self::Operator].into_iter().find(|known| known.as_str() == text)
    }
}

/// A domain verified by a tenant. No other tenant can verify it until it is released.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedDomain {
    /// The domain.
    pub domain: EmailDomain,
    /// How ownership was proved.
    pub method: Method,
    /// When ownership was proved.
    pub verified_at: Timestamp,
    /// The token in the DNS record, as last found; `None` if no record has been found. It is not secret.
    pub token: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains_become_ascii_and_need_two_labels() {
        let read = |text: &str| text.parse::<EmailDomain>().map(|domain| domain.to_string());
        assert_eq!(read(" Example.COM ").unwrap(), "example.com");
        assert_eq!(read("münchen.example").unwrap(), "xn--mnchen-3ya.example");
        for text in
            ["", "com", "a b.com", "-a.com", "a..com", "a_b.com", "10.0.0.1", "[::1]", "x@a.com", "a.com."]
        {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(EmailDomain::of("Ada@Example.com").unwrap().as_str(), "example.com");
        assert_eq!(EmailDomain::of("example.com"), None);
    }
}
