//! X.509 certificates as containers of pinned keys, with an expiry that administrators are warned about.

use crate::{error::CertificateError, request::sha256};
use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use kernel::Timestamp;
use openssl::{
    asn1::{Asn1Time, Asn1TimeRef},
    ec::EcGroupRef,
    nid::Nid,
    pkey::{Id, PKeyRef, Public},
    x509::X509,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Maximum size of a certificate in DER form, in bytes.
const MAX_DER: usize = 16 * 1024;

/// The kind of a certificate's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// RSA of at least 2,048 bits.
    Rsa,
    /// ECDSA on P-256, P-384 or P-521.
    Ec,
}

/// An X.509 certificate with a supported key: RSA of 2,048 to 8,192 bits, or ECDSA on P-256, P-384 or P-521.
///
/// Its signature, names and extensions are not evaluated: it is trusted because it is pinned.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    der: Vec<u8>,
    subject: String,
    not_before: Timestamp,
    not_after: Timestamp,
    kind: KeyKind,
}

impl Certificate {
    /// Parses a certificate in DER form.
    pub fn from_der(der: &[u8]) -> Result<Self, CertificateError> {
        if der.len() > MAX_DER {
            return Err(CertificateError::Malformed);
        }
        let read = X509::from_der(der).map_err(|_| CertificateError::Malformed)?;
        // No bytes may follow the certificate.
        if read.to_der().ok().as_deref() != Some(der) {
            return Err(CertificateError::Malformed);
        }
        let time = |time: &Asn1TimeRef| unix_millis(time).map(Timestamp::from_unix_millis);
        let (Some(not_before), Some(not_after)) = (time(read.not_before()), time(read.not_after())) else {
            return Err(CertificateError::Malformed);
        };
        let key = read.public_key().map_err(|_| CertificateError::Key)?;
        let kind = kind_of(&key).ok_or(CertificateError::Key)?;
        let entries = read.subject_name().entries().filter_map(|entry| {
            let name = entry.object().nid().short_name().ok()?;
            Some(format!("{name}={}", entry.data().to_string().ok()?))
        });
        let subject = entries.collect::<Vec<_>>().join(", ");
        Ok(Self {
            der: der.to_vec(),
            subject: subject.chars().take(300).collect(),
            not_before,
            not_after,
            kind,
        })
    }

    /// Parses PEM, or the base64 of the DER form as found in metadata.
    pub fn from_text(text: &str) -> Result<Self, CertificateError> {
        let body = match text.split_once("-----BEGIN CERTIFICATE-----") {
            None => text,
            Some((_, rest)) => {
                rest.split_once("-----END CERTIFICATE-----").ok_or(CertificateError::Malformed)?.0
            }
        };
        let packed: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        if packed.len() > MAX_DER * 4 / 3 + 4 {
            return Err(CertificateError::Malformed);
        }
        Self::from_der(&BASE64.decode(packed.as_bytes()).map_err(|_| CertificateError::Malformed)?)
    }

    /// Returns the DER form.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the base64 of the DER form, as used in metadata.
    pub fn base64(&self) -> String {
        BASE64.encode(&self.der)
    }

    /// Returns the certificate as PEM.
    pub fn pem(&self) -> String {
        let body = self.base64();
        let lines = body.as_bytes().chunks(64).map(String::from_utf8_lossy);
        let lines: Vec<_> = lines.collect();
        format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", lines.join("\n"))
    }

    /// Returns the SHA-256 of the DER form.
    pub fn sha256(&self) -> [u8; 32] {
        sha256(&self.der)
    }

    /// Returns the SHA-256 of the DER form in lower-case hexadecimal.
    pub fn fingerprint(&self) -> String {
        HEXLOWER.encode(&self.sha256())
    }

    /// Returns modulus and exponent of an RSA key, as big-endian numbers; `None` for other keys.
    pub fn rsa_numbers(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        let key = X509::from_der(&self.der).ok()?.public_key().ok()?.rsa().ok()?;
        Some((key.n().to_vec(), key.e().to_vec()))
    }

    /// Returns the subject name, for display only.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the start of the validity period.
    pub fn not_before(&self) -> Timestamp {
        self.not_before
    }

    /// Returns the end of the validity period.
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Returns whether the certificate is valid at this time, allowing one minute of clock skew.
    pub fn is_valid_at(&self, now: Timestamp) -> bool {
        self.not_before <= now.plus_millis(crate::response::SKEW_MILLIS)
            && now <= self.not_after.plus_millis(crate::response::SKEW_MILLIS)
    }

    pub(crate) fn kind(&self) -> KeyKind {
        self.kind
    }
}

fn kind_of(key: &PKeyRef<Public>) -> Option<KeyKind> {
    match key.id() {
        Id::RSA => (2048..=8192).contains(&key.bits()).then_some(KeyKind::Rsa),
        Id::EC => {
            let curve = key.ec_key().ok().and_then(|key| EcGroupRef::curve_name(key.group()));
            let known = [Nid::X9_62_PRIME256V1, Nid::SECP384R1, Nid::SECP521R1];
            curve.is_some_and(|curve| known.contains(&curve)).then_some(KeyKind::Ec)
        }
        _ => None,
    }
}

/// Converts an ASN.1 time to milliseconds since 1970.
fn unix_millis(time: &Asn1TimeRef) -> Option<i64> {
    let since = Asn1Time::from_unix(0).ok()?.diff(time).ok()?;
    Some((i64::from(since.days) * 86_400 + i64::from(since.secs)) * 1000)
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Certificate({}, until {})", self.subject, self.not_after)
    }
}

/// Serialized as the base64 of the DER form.
impl Serialize for Certificate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.base64())
    }
}

impl<'de> Deserialize<'de> for Certificate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_text(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Signing certificates of an identity provider, in the given order, without duplicates.
pub type Certificates = Vec<Certificate>;
