//! Identity providers of a tenant, and how they change.

use kernel::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    certificate::{Certificate, Certificates},
    domain::EmailDomain,
    id::ProviderId,
    keys::OurKeys,
};

/// Providers of a tenant at most.
pub const MAX_PROVIDERS: usize = 20;
/// Domains of a provider at most.
pub const MAX_DOMAINS: usize = 100;
/// Characters of a name at most.
pub const MAX_NAME: usize = 100;
/// Signing certificates of a provider at most.
pub const MAX_CERTIFICATES: usize = 10;
/// Authentication contexts that are asked for at most.
pub const MAX_CONTEXTS: usize = 10;

/// Who signs assertions, and where people are sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityProvider {
    /// The issuer of its assertions, exactly.
    pub entity_id: String,
    /// Its single sign-on service with the HTTP-POST binding.
    pub sso_url: String,
    /// Its signing certificates, pinned. Each is tried.
    pub certificates: Certificates,
}

/// Where it is known from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Source {
    /// Metadata that was handed in.
    MetadataXml,
    /// Metadata at this address, looked at again and again.
    MetadataUrl(String),
    /// Entered as fields, without metadata.
    Fields,
}

/// Where claims are found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttributeMapping {
    /// Attribute with the email address. Default: the NameID if its format is emailAddress, else commonly used attribute names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// How the metadata is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Refresh {
    /// When it was last read.
    pub read_at: Option<Timestamp>,
    /// When it was last looked at in vain, if that is later; and why.
    pub failed: Option<(Timestamp, String)>,
    /// When it is looked at next.
    pub next_at: Option<Timestamp>,
    /// Whether it asks for signed requests.
    #[serde(default)]
    pub wants_signed_requests: bool,
}

/// An identity provider of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    /// `sso_…`
    pub id: ProviderId,
    /// What people call it.
    pub name: String,
    /// Addresses of these domains it may speak for; never empty.
    pub email_domains: Vec<EmailDomain>,
    /// The other side.
    pub idp: IdentityProvider,
    /// Where that is known from.
    pub source: Source,
    /// When that metadata says it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<Timestamp>,
    /// Where claims are found.
    pub mapping: AttributeMapping,
    /// Whether requests are signed.
    pub sign_requests: bool,
    /// Whether people have to prove anew who they are.
    pub force_authn: bool,
    /// Which ways of signing in are asked for, exactly; any without.
    #[serde(default)]
    pub authn_contexts: Vec<String>,
    /// Our side's keys.
    pub keys: OurKeys,
    /// How metadata at an address is doing.
    #[serde(default)]
    pub refresh: Refresh,
    /// Days before the end of a certificate that were told already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warned: Option<i64>,
    /// Creation time.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// Days before the end of a certificate at which it is told.
const WARN_DAYS: [i64; 3] = [30, 7, 1];
const DAY: i64 = 86_400_000;

impl Provider {
    /// Certificates of both sides.
    pub fn certificates(&self) -> impl Iterator<Item = &Certificate> {
        self.idp.certificates.iter().chain(self.keys.all().map(|key| &key.certificate))
    }

    /// When the last certificate that verifies ends: from then on nobody signs in.
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.idp.certificates.iter().map(Certificate::not_after).max()
    }

    /// When somebody has to look after it: metadata to be read again, or a certificate's end to be told.
    pub fn due_at(&self) -> Option<Timestamp> {
        let next_warning = self.next_warning().map(|(at, _)| at);
        self.refresh.next_at.into_iter().chain(next_warning).min()
    }

    /// The next moment at which the end of its certificates is told, and how many days before that is.
    pub fn next_warning(&self) -> Option<(Timestamp, i64)> {
        let days = WARN_DAYS.into_iter().find(|days| self.warned.is_none_or(|told| *days < told))?;
        Some((self.expires_at()?.plus_millis(-days * DAY), days))
    }

    /// The warning that is due now, in days before the end, if any: noted as told.
    pub fn take_warning(&mut self, now: Timestamp) -> Option<i64> {
        let ends = self.expires_at()?;
        let due =
            |days: &i64| ends.plus_millis(-days * DAY) <= now && self.warned.is_none_or(|told| *days < told);
        let days = WARN_DAYS.into_iter().filter(due).min()?;
        self.warned = Some(days);
        Some(days)
    }
}
