//! Identity providers of a tenant.

use kernel::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    binding::{Binding, LogoutService},
    certificate::{Certificate, Certificates},
    domain::EmailDomain,
    id::ProviderId,
    keys::OurKeys,
};

/// Maximum number of providers of a tenant.
pub const MAX_PROVIDERS: usize = 20;
/// Maximum number of domains of a provider.
pub const MAX_DOMAINS: usize = 100;
/// Maximum length of a provider's name, in characters.
pub const MAX_NAME: usize = 100;
/// Maximum number of signing certificates of a provider.
pub const MAX_CERTIFICATES: usize = 10;
/// Maximum number of requested authentication contexts.
pub const MAX_CONTEXTS: usize = 10;

/// The identity provider's endpoint and signing certificates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// The issuer of its assertions, compared exactly.
    pub entity_id: String,
    /// The URL of its single sign-on service.
    pub sso_url: String,
    /// The binding of the single sign-on service.
    #[serde(default)]
    pub sso_binding: Binding,
    /// Its single logout service, if its metadata has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logout: Option<LogoutService>,
    /// Its pinned signing certificates. A signature by any of them is accepted.
    pub certificates: Certificates,
}

/// The source of the identity provider's settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Source {
    /// Metadata supplied as a document.
    MetadataXml,
    /// Metadata at this URL, fetched periodically.
    MetadataUrl(String),
    /// Individual fields, without metadata.
    Fields,
}

/// Which attributes supply the claims.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttributeMapping {
    /// Attribute with the email address. Default: the NameID if its format is emailAddress, else commonly used attribute names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// The state of metadata refreshes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refresh {
    /// When it was last read successfully.
    pub read_at: Option<Timestamp>,
    /// The time and reason of the last failed attempt, unless a later one succeeded.
    pub failed: Option<(Timestamp, String)>,
    /// When to fetch it next.
    pub next_at: Option<Timestamp>,
    /// Whether the metadata wants signed requests.
    #[serde(default)]
    pub wants_signed_requests: bool,
}

/// An identity provider of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// `sso_…`
    pub id: ProviderId,
    /// The display name.
    pub name: String,
    /// Domains whose email addresses it may assert; never empty.
    pub email_domains: Vec<EmailDomain>,
    /// The identity provider.
    pub idp: IdentityProvider,
    /// The source of `idp`.
    pub source: Source,
    /// When the metadata expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Which attributes supply the claims.
    pub mapping: AttributeMapping,
    /// Whether requests are signed.
    pub sign_requests: bool,
    /// Whether requests ask for a fresh authentication (ForceAuthn).
    pub force_authn: bool,
    /// Whether a sign-out continues at the identity provider, which ends its session too.
    #[serde(default)]
    pub sign_out_at_provider: bool,
    /// The requested authentication context classes, compared exactly; empty for any.
    #[serde(default)]
    pub authn_contexts: Vec<String>,
    /// Our keys for this provider.
    pub keys: OurKeys,
    /// The state of metadata refreshes.
    #[serde(default)]
    pub refresh: Refresh,
    /// The last certificate expiry warning sent, in days before expiry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<i64>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// Days before certificate expiry at which warnings are sent.
const WARN_DAYS: [i64; 3] = [30, 7, 1];
const DAY: i64 = 86_400_000;

impl Provider {
    /// Returns the certificates of both sides.
    pub fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        self.idp.certificates.iter().chain(self.keys.all().map(|key| &key.certificate))
    }

    /// Returns when the last signing certificate expires. No sign-in is possible after that.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.idp.certificates.iter().map(Certificate::not_after).max()
    }

    /// Returns when the provider needs attention next: a metadata refresh or an expiry warning.
    pub fn due_at(&self) -> Option<Timestamp> {
        let next_warning = self.next_warning().map(|(at, _)| at);
        self.refresh.next_at.into_iter().chain(next_warning).min()
    }

    /// Returns the time of the next expiry warning and its days before expiry.
    pub fn next_warning(&self) -> Option<(Timestamp, i64)> {
        let days = WARN_DAYS.into_iter().find(|days| self.warned.is_none_or(|told| *days < told))?;
        Some((self.expires_at()?.plus_millis(-days * DAY), days))
    }

    /// Returns the expiry warning that is due, in days before expiry, and marks it as sent.
    pub fn take_warning(&mut self, now: Timestamp) -> Option<i64> {
        let ends = self.expires_at()?;
        let due =
            |days: &i64| ends.plus_millis(-days * DAY) <= now && self.warned.is_none_or(|told| *days < told);
        let days = WARN_DAYS.into_iter().filter(due).min()?;
        self.warned = Some(days);
        Some(days)
    }
}
