//! Errors of changing providers and domains and of reading metadata and certificates.

use crate::EmailDomain;
use crate::MAX_CERTIFICATES;
use crate::MAX_METADATA;
use crate::MAX_NAME;
use crate::MAX_PROVIDERS;
use kernel::{StoreError, Timestamp};

/// The reason a provider cannot be created or changed.
#[derive(Debug, thiserror::Error)]
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
    #[error("a tenant has {MAX_PROVIDERS} identity providers at most; remove one first")]
    TooMany,
    /// The tenant has no provider with this id.
    #[error("there is no identity provider of this id")]
    NotFound,
    /// Another provider of the tenant has the domain.
    #[error("{0} belongs to another identity provider of this tenant; remove it there first")]
    DomainTaken(EmailDomain),
    /// A key rotation is already in progress.
    #[error("a rotation is under way: complete it first")]
    RotationUnderWay,
    /// No key rotation is in progress.
    #[error("no rotation is under way")]
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
pub enum DomainError {
    /// Another tenant has verified it.
    #[error("{0} belongs to another tenant here, which has proved it; it has to be given up there first")]
    Taken(EmailDomain),
    /// The tenant has not verified it.
    #[error("{0} is no domain that this tenant has proved")]
    NotFound(EmailDomain),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The reason metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// Longer than 512 KiB.
    #[error("metadata of more than {} KiB is not read; hand in that of one identity provider", MAX_METADATA / 1024)]
    TooLarge,
    /// Not XML, or beyond the parser's limits.
    #[error("not metadata that can be read: {0}")]
    Xml(String),
    /// No descriptor of an identity provider.
    #[error("there is no EntityDescriptor with an IDPSSODescriptor for SAML 2.0 in it")]
    NoProvider,
    /// The metadata describes several identity providers.
    #[error("there are several identity providers in it; hand in that of one")]
    ManyProviders,
    /// Its entity id is missing or too long.
    #[error("the entityID is missing or longer than {MAX_NAME} characters")]
    EntityId,
    /// No usable single sign-on service.
    #[error("it has no SingleSignOnService with the HTTP-POST binding, which is the one that is used here")]
    NoPostBinding,
    /// The service's URL is invalid.
    #[error("the address of its SingleSignOnService {0}")]
    Address(&'static str),
    /// No usable certificate.
    #[error("it has no signing certificate that can be used (RSA of at least 2048 bits, or ECDSA)")]
    NoCertificate,
    /// Too many certificates.
    #[error("it has more than {MAX_CERTIFICATES} signing certificates")]
    ManyCertificates,
    /// `validUntil` is not a timestamp.
    #[error("its validUntil, {0}, is no time with a zone")]
    Until(String),
    /// The metadata has expired.
    #[error("it was valid until {0}")]
    Expired(Timestamp),
}

/// The reason a certificate is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not an X.509 certificate.
    #[error("not an X.509 certificate: write it as PEM, or as base64 of its DER form")]
    Malformed,
    /// The key is too weak or of an unsupported kind.
    #[error("its key is not RSA of 2048 to 8192 bits or ECDSA on P-256, P-384 or P-521")]
    Key,
}
