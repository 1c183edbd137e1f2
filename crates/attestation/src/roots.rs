//! The certificates that can prove an authenticator model.

use std::collections::{BTreeMap, BTreeSet};

use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::{Aaguid, mds::Metadata};

/// Certificates in DER, by the models that they prove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    by_make: BTreeMap<Aaguid, Vec<Vec<u8>>>,
    of_all: Vec<Vec<u8>>,
    broken: BTreeSet<Aaguid>,
}

/// The reason why a certificate file was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file contains no certificate.
    #[error("it contains no certificate")]
    Empty,
    /// The file is not valid PEM.
    #[error("it is not valid PEM: {0}")]
    Pem(String),
    /// A PEM block does not contain a certificate.
    #[error("a PEM block does not contain a valid certificate")]
    Certificate,
}

impl Roots {
    /// Adds the certificates of the FIDO Alliance's metadata. Nothing proves a model that it reports as broken.
    pub fn add_metadata(&mut self, metadata: &Metadata) {
        for (aaguid, make) in &metadata.makes {
            if make.broken.is_some() {
                self.broken.insert(*aaguid);
            } else if !make.roots.is_empty() {
                self.by_make.entry(*aaguid).or_default().extend(make.roots.iter().cloned());
            }
        }
    }

    /// Adds the certificates of a PEM file. If `name`, the file name without extension, is an AAGUID, they prove only
    /// that model. Otherwise they prove any model.
    pub fn add_file(&mut self, name: &str, pem: &[u8]) -> Result<(), FileError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let found = found.map_err(|error| FileError::Pem(error.to_string()))?;
        if found.is_empty() {
            return Err(FileError::Empty);
        }
        if found.iter().any(|der| x509_parser::parse_x509_certificate(der).is_err()) {
            return Err(FileError::Certificate);
        }
        let kept = match name.parse() {
            Ok(aaguid) => self.by_make.entry(aaguid).or_default(),
            Err(_) => &mut self.of_all,
        };
        kept.extend(found.iter().map(|der| der.to_vec()));
        Ok(())
    }

    /// Returns the trusted certificates of this model. One of them has to have signed the attestation certificate, or
    /// to be it.
    pub fn of(&self, aaguid: Aaguid) -> impl Iterator<Item = &[u8]> {
        let of_make = self.by_make.get(&aaguid).into_iter().flatten();
        let broken = self.broken.contains(&aaguid);
        of_make.chain(&self.of_all).map(Vec::as_slice).filter(move |_| !broken)
    }

    /// Whether there are no certificates.
    pub fn is_empty(&self) -> bool {
        self.by_make.is_empty() && self.of_all.is_empty()
    }

    /// Returns the number of models with their own certificates.
    pub fn provable_models(&self) -> usize {
        self.by_make.keys().filter(|make| !self.broken.contains(make)).count()
    }

    /// Returns the number of certificates that prove any model that is not broken.
    pub fn of_any(&self) -> usize {
        self.of_all.len()
    }
}
