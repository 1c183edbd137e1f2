//! Our own keys, which sign requests and decrypt assertions. During a rotation there is a next key as well.

use kernel::{Secret, Timestamp};
use openssl::{
    asn1::Asn1Time,
    bn::{BigNum, MsbOption},
    hash::MessageDigest,
    pkey::PKey,
    rsa::Rsa,
    x509::{X509, X509Name},
};
use serde::{Deserialize, Serialize};

use crate::{certificate::Certificate, id::ProviderId};

/// Key size in bits.
const BITS: u32 = 2048;
/// Validity of our certificates in days.
const DAYS: i64 = 3650;

/// A private key and its certificate.
pub struct KeyPair {
    /// Private key, PKCS#8 in DER.
    pub private: Secret<Vec<u8>>,
    /// Self-signed certificate of the key.
    pub certificate: Certificate,
}

/// A key cannot be generated, sealed, opened or used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key of this SSO connection cannot be {0}")]
pub struct KeyError(pub &'static str);

impl KeyPair {
    /// Generates a 2,048-bit RSA key and a certificate valid for ten years. Takes hundreds of milliseconds of CPU.
    pub fn generate(common_name: &str, now: Timestamp) -> Result<Self, KeyError> {
        Self::generate_key(common_name, now).map_err(|_| KeyError("generated"))
    }

    fn generate_key(common_name: &str, now: Timestamp) -> Result<Self, openssl::error::ErrorStack> {
        let key = PKey::from_rsa(Rsa::generate(BITS)?)?;
        let mut name = X509Name::builder()?;
        // X.520 limits common names to 64 characters.
        name.append_entry_by_nid(
            openssl::nid::Nid::COMMONNAME,
            &common_name.chars().take(64).collect::<String>(),
        )?;
        let name = name.build();
        let mut serial = BigNum::new()?;
        serial.rand(127, MsbOption::MAYBE_ZERO, false)?;
        let mut builder = X509::builder()?;
        builder.set_version(2)?;
        let serial = serial.to_asn1_integer()?;
        builder.set_serial_number(&serial)?;
        builder.set_subject_name(&name)?;
        builder.set_issuer_name(&name)?;
        builder.set_pubkey(&key)?;
        let seconds = now.unix_millis().div_euclid(1000);
        let (first, last) = (Asn1Time::from_unix(seconds)?, Asn1Time::from_unix(seconds + DAYS * 86_400)?);
        builder.set_not_before(&first)?;
        builder.set_not_after(&last)?;
        builder.sign(&key, MessageDigest::sha256())?;
        let der = builder.build().to_der()?;
        let certificate = Certificate::from_der(&der).map_err(|_| openssl::error::ErrorStack::get())?;
        Ok(Self { private: Secret::new(key.private_key_to_pkcs8()?), certificate })
    }
}

/// Encrypts private keys for storage; implemented by the host. Sealed keys are bound to the provider.
pub trait SealKey: Send + Sync {
    /// Encrypts a private key to text that only [`SealKey::open`] can decrypt.
    fn seal(&self, provider: &ProviderId, private: &Secret<Vec<u8>>) -> Result<String, KeyError>;
    /// Decrypts a sealed private key of this provider.
    fn open(&self, provider: &ProviderId, sealed: &str) -> Result<Secret<Vec<u8>>, KeyError>;
}

/// One of our keys as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedKey {
    /// The public certificate.
    pub certificate: Certificate,
    /// The private key, sealed.
    pub sealed: String,
    /// Creation time.
    pub since: Timestamp,
}

impl SealedKey {
    /// Generates a key for a provider.
    pub fn generate(
        seal: &dyn SealKey,
        provider: &ProviderId,
        entity_id: &str,
        now: Timestamp,
    ) -> Result<Self, KeyError> {
        let host = url::Url::parse(entity_id).ok().and_then(|url| url.host_str().map(str::to_owned));
        let pair = KeyPair::generate(&format!("Gatehouse {}", host.unwrap_or_default()), now)?;
        let sealed = seal.seal(provider, &pair.private)?;
        Ok(Self { certificate: pair.certificate, sealed, since: now })
    }

    /// Decrypts the key pair.
    pub fn open(&self, seal: &dyn SealKey, provider: &ProviderId) -> Result<KeyPair, KeyError> {
        Ok(KeyPair { private: seal.open(provider, &self.sealed)?, certificate: self.certificate.clone() })
    }
}

/// The keys of one provider. Both decrypt and appear in the metadata; the active one signs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OurKeys {
    /// The key that signs and decrypts.
    pub active: SealedKey,
    /// The key that signs once the rotation is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<SealedKey>,
}

impl OurKeys {
    /// Returns all keys, the active one first.
    pub fn all(&self) -> impl Iterator<Item = &SealedKey> {
        std::iter::once(&self.active).chain(&self.next)
    }
}
