//! Certificates in files.

use std::{fmt::Display, path::Path};

use rustls::{
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

/// A certificate with its key and expiry.
#[derive(Debug)]
pub struct LoadedCertificate {
    /// The certificate, those of its issuers, and the private key.
    pub key: CertifiedKey,
    /// When the certificate expires, in seconds since 1970.
    pub ends: i64,
}

/// Loads a certificate with those of its issuers, and its private key, which must match. Both files are in PEM.
/// An error begins with the setting of the file at fault, one of `names`, and its path.
pub fn load_certificate(
    chain: &Path,
    key: &Path,
    names: [&str; 2],
    provider: &CryptoProvider,
) -> Result<LoadedCertificate, String> {
    let [chain_name, key_name] = names;
    let named = |problem: &dyn Display| format!("{chain_name}: {}: {problem}", chain.display());
    let certificates = CertificateDer::pem_file_iter(chain).map_err(|error| named(&error))?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| named(&error))?;
    let first = certificates.first().ok_or_else(|| named(&"the file contains no certificate"))?;
    let (_, parsed) = x509_parser::parse_x509_certificate(first).map_err(|error| named(&error))?;
    let ends = parsed.validity().not_after.timestamp();
    let named = |problem: &dyn Display| format!("{key_name}: {}: {problem}", key.display());
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| named(&error))?;
    let key = CertifiedKey::from_der(certificates, private, provider).map_err(|error| named(&error))?;
    Ok(LoadedCertificate { key, ends })
}
