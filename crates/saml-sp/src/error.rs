//! Why a connection or a domain stays as it is, and why metadata is not read.

use crate::EmailDomain;
use crate::MAX_CERTIFICATES;
use crate::MAX_METADATA;
use crate::MAX_NAME;
use crate::MAX_PROVIDERS;
use kernel::{StoreError, Timestamp};

/// Why a provider cannot be made or changed so.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// The field at this path cannot be so.
    #[error("{field}: {problem}")]
    Field {
        /// Its JSON path.
        field: String,
        /// What to write.
        problem: String,
    },
    /// The tenant has as many as it may.
    #[error("a tenant has {MAX_PROVIDERS} identity providers at most; remove one first")]
    TooMany,
    /// The tenant has none of this id.
    #[error("there is no identity provider of this id")]
    NotFound,
    /// Another provider of the tenant speaks for the domain.
    #[error("{0} belongs to another identity provider of this tenant; remove it there first")]
    DomainTaken(EmailDomain),
    /// A next key is there already.
    #[error("a rotation is under way: complete it first")]
    RotationUnderWay,
    /// There is no next key.
    #[error("no rotation is under way")]
    NoRotation,
    /// A key of ours.
    #[error(transparent)]
    Key(#[from] crate::keys::KeyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a domain cannot be owned or given up.
#[derive(Debug, thiserror::Error)]
pub enum DomainError {
    /// Another tenant has proved it.
    #[error("{0} belongs to another tenant here, which has proved it; it has to be given up there first")]
    Taken(EmailDomain),
    /// The tenant has not proved it.
    #[error("{0} is no domain that this tenant has proved")]
    NotFound(EmailDomain),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why metadata cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// Longer than 512 KiB.
    #[error("metadata of more than {} KiB is not read; hand in that of one identity provider", MAX_METADATA / 1024)]
    TooLarge,
    /// Not XML within bounds.
    #[error("not metadata that can be read: {0}")]
    Xml(String),
    /// Not of one identity provider.
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
    /// That service's address.
    #[error("the address of its SingleSignOnService {0}")]
    Address(&'static str),
    /// No usable certificate.
    #[error("it has no signing certificate that can be used (RSA of at least 2048 bits, or ECDSA)")]
    NoCertificate,
    /// Too many certificates.
    #[error("it has more than {MAX_CERTIFICATES} signing certificates")]
    ManyCertificates,
    /// Its end is no time.
    #[error("its validUntil, {0}, is no time with a zone")]
    Until(String),
    /// It is over.
    #[error("it was valid until {0}")]
    Expired(Timestamp),
}

/// Why bytes are not a certificate that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CertificateError {
    /// Not a certificate.
    #[error("not an X.509 certificate: write it as PEM, or as base64 of its DER form")]
    Malformed,
    /// A key that is too weak or of another kind.
    #[error("its key is not RSA of 2048 to 8192 bits or ECDSA on P-256, P-384 or P-521")]
    Key,
}
