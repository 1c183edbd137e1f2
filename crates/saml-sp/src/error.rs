//! Errors of changing providers and domains and of reading metadata and certificates.

use crate::EmailDomain;
use crate::MAX_CERTIFICATES;
use crate::MAX_METADATA;
use crate::MAX_NAME;
use crate::MAX_PROVIDERS;
use kernel::{StoreError, Timestamp};

/// The reason a provider cannot be created or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// A field has an invalid value.
    #[error("{field}: {problem}")]
    Field {
        /// The field's JSON path.
        field: String,
        /// The correction to make.
        problem: String,
    },
    /// The tenant has the maximum number of providers.
    #[error("This tenant already has {MAX_PROVIDERS} SSO connections, the maximum. Remove one first.")]
    TooMany,
    /// The tenant has no provider with this id.
    #[error("There is no SSO connection with this ID.")]
    NotFound,
    /// Another provider of the tenant has the domain.
    #[error("{0} belongs to another SSO connection of this tenant. Remove it there first.")]
    DomainTaken(EmailDomain),
    /// A key rotation is already in progress.
    #[error("A key rotation is already in progress. Complete it first.")]
    RotationUnderWay,
    /// No key rotation is in progress.
    #[error("No key rotation is in progress.")]
    NoRotation,
    /// One of our keys cannot be generated, sealed or opened.
    #[error(transparent)]
    Key(#[from] crate::keys::KeyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason a domain cannot be verified or released.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DomainError {
    /// Another tenant has verified it.
    #[error("Another tenant has verified {0}. That tenant has to release the domain first.")]
    Taken(EmailDomain),
    /// The tenant has not verified it.
    #[error("This tenant has not verified {0}.")]
    NotFound(EmailDomain),
    /// No DNS server answered.
    #[error(
        "{} could not be resolved, because no DNS server answered. Try again in a few minutes",
        .0.record_name()
    )]
    DnsUnavailable(EmailDomain),
    /// The DNS record is missing.
    #[error(
        "there is no TXT record {} with the value that the list of domains shows{}. A new record can take minutes, up \
         to hours, to become visible",
        .domain.record_name(),
        if *.has_other { "; its value is different" } else { "" }
    )]
    RecordMissing {
        /// The domain to verify.
        domain: EmailDomain,
        /// Whether there are records with other values.
        has_other: bool,
    },
    /// The tenant, which had verified the domain, released it meanwhile, so its record was not checked.
    #[error("the other tenant has just released the domain; try again")]
    JustReleased,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetadataError {
    /// Longer than 512 KiB.
    #[error("the metadata is larger than {} KiB; send the metadata of one identity provider", MAX_METADATA / 1024)]
    TooLarge,
    /// Not XML, or beyond the parser's limits.
    #[error("not valid metadata: {0}")]
    Xml(String),
    /// No descriptor of an identity provider.
    #[error("the metadata has no EntityDescriptor with an IDPSSODescriptor for SAML 2.0")]
    NoProvider,
    /// The metadata describes several identity providers.
    #[error("the metadata describes several identity providers; send the metadata of one")]
    ManyProviders,
    /// Its entity id is missing or too long.
    #[error("the entityID is missing or longer than {MAX_NAME} characters")]
    EntityId,
    /// No usable single sign-on service.
    #[error("the metadata has no SingleSignOnService with the HTTP-POST or HTTP-Redirect binding")]
    NoSsoService,
    /// The service's URL is invalid.
    #[error("the Location of SingleSignOnService {0}")]
    Address(&'static str),
    /// No usable certificate.
    #[error("the metadata has no usable signing certificate (RSA of at least 2048 bits, or ECDSA)")]
    NoCertificate,
    /// Too many certificates.
    #[error("the metadata has more than {MAX_CERTIFICATES} signing certificates")]
    ManyCertificates,
    /// `validUntil` is not a timestamp.
    #[error("validUntil is {0}, which is not a time with a time zone")]
    Until(String),
    /// The metadata has expired.
    #[error("the metadata was valid until {0}; get newer metadata")]
    Expired(Timestamp),
}

/// The reason a certificate is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// Not an X.509 certificate.
    #[error("write an X.509 certificate as PEM, or its DER form as base64")]
    Malformed,
    /// The key is too weak or of an unsupported kind.
    #[error("the key has to be RSA of 2048 to 8192 bits or ECDSA on P-256, P-384 or P-521")]
    Key,
}
