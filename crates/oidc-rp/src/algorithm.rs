//! Signature algorithms (RFC 7518, RFC 8037).

use ring::{
    digest,
    signature::{self, RsaParameters, VerificationAlgorithm},
};
use serde::{Deserialize, Serialize};

/// An asymmetric signature algorithm of ID tokens. `none` and HMAC are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    RS256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    RS384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    RS512,
    /// RSASSA-PSS with SHA-256.
    PS256,
    /// RSASSA-PSS with SHA-384.
    PS384,
    /// RSASSA-PSS with SHA-512.
    PS512,
    /// ECDSA on P-256 with SHA-256.
    ES256,
    /// ECDSA on P-384 with SHA-384.
    ES384,
    /// Ed25519.
    EdDSA,
}

/// The kind of key that an algorithm needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyKind {
    Rsa,
    P256,
    P384,
    Ed25519,
}

/// Verification of a signature in ring.
pub(crate) enum Verifier {
    Rsa(&'static RsaParameters),
    Point(&'static dyn VerificationAlgorithm),
}

impl Algorithm {
    /// All algorithms, in order of preference.
    pub const ALL: [Self; 9] = [
        Self::RS256,
        Self::RS384,
        Self::RS512,
        Self::PS256,
        Self::PS384,
        Self::PS512,
        Self::ES256,
        Self::ES384,
        Self::EdDSA,
    ];

    /// Returns the algorithm with this name in JOSE headers; `None` if it is unknown, symmetric or `none`.
    pub fn from_name(name: &str) -> Option<Self> {
        // The newer name of RFC 9864.
        if name == "Ed25519" {
            return Some(Self::EdDSA);
        }
        Self::ALL.into_iter().find(|algorithm| algorithm.as_str() == name)
    }

    /// Returns the name in JOSE headers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RS256 => "RS256",
            Self::RS384 => "RS384",
            Self::RS512 => "RS512",
            Self::PS256 => "PS256",
            Self::PS384 => "PS384",
            Self::PS512 => "PS512",
            Self::ES256 => "ES256",
            Self::ES384 => "ES384",
            Self::EdDSA => "EdDSA",
        }
    }

    pub(crate) fn key_kind(self) -> KeyKind {
        match self {
            Self::RS256 | Self::RS384 | Self::RS512 | Self::PS256 | Self::PS384 | Self::PS512 => KeyKind::Rsa,
            Self::ES256 => KeyKind::P256,
            Self::ES384 => KeyKind::P384,
            Self::EdDSA => KeyKind::Ed25519,
        }
    }

    pub(crate) fn verifier(self) -> Verifier {
        match self {
            Self::RS256 => Verifier::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256),
            Self::RS384 => Verifier::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384),
            Self::RS512 => Verifier::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512),
            Self::PS256 => Verifier::Rsa(&signature::RSA_PSS_2048_8192_SHA256),
            Self::PS384 => Verifier::Rsa(&signature::RSA_PSS_2048_8192_SHA384),
            Self::PS512 => Verifier::Rsa(&signature::RSA_PSS_2048_8192_SHA512),
            Self::ES256 => Verifier::Point(&signature::ECDSA_P256_SHA256_FIXED),
            Self::ES384 => Verifier::Point(&signature::ECDSA_P384_SHA384_FIXED),
            Self::EdDSA => Verifier::Point(&signature::ED25519),
        }
    }

    /// Returns the left half of the digest of a value: `at_hash` and `c_hash` (OpenID Connect Core, section 3.1.3.6).
    pub(crate) fn half_hash(self, value: &str) -> Vec<u8> {
        let algorithm = match self {
            Self::RS256 | Self::PS256 | Self::ES256 => &digest::SHA256,
            Self::RS384 | Self::PS384 | Self::ES384 => &digest::SHA384,
            // The digest of Ed25519 itself is SHA-512.
            Self::RS512 | Self::PS512 | Self::EdDSA => &digest::SHA512,
        };
        let hash = digest::digest(algorithm, value.as_bytes());
        let half = hash.as_ref().len() / 2;
        hash.as_ref().get(..half).unwrap_or_default().to_vec()
    }
}
