//! The certificates that may prove what an authenticator says it is.

use std::collections::{BTreeMap, BTreeSet};

use rustls_pki_types::{CertificateDer, pem::PemObject};

use crate::{Aaguid, mds::Metadata};

/// Certificates, in DER, by the makes that they prove.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    by_make: BTreeMap<Aaguid, Vec<Vec<u8>>>,
    of_all: Vec<Vec<u8>>,
    broken: BTreeSet<Aaguid>,
}

/// A file holds no certificates.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// None at all.
    #[error("there is no certificate in it")]
    Empty,
    /// The file is neither a certificate nor a list of them in PEM.
    #[error("it is not PEM: {0}")]
    Pem(String),
    /// What is in it is no certificate.
    #[error("what is in it is no certificate")]
    Certificate,
}

impl Roots {
    /// Takes over what the FIDO Alliance says. What it says is broken is not proved by anybody.
    pub fn add_metadata(&mut self, metadata: &Metadata) {
        for (aaguid, make) in &metadata.makes {
            if make.broken.is_some() {
                self.broken.insert(*aaguid);
            } else if !make.roots.is_empty() {
                self.by_make.entry(*aaguid).or_default().extend(make.roots.iter().cloned());
            }
        }
    }

    /// Takes over the certificates of a file in PEM: `name` is that of the file without its ending. One that is called
    /// by a make proves that make alone; any other proves whatever an authenticator that it leads to says it is.
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

    /// The certificates one of which has to have signed the attestation of this make, or to be it.
    pub fn of(&self, aaguid: Aaguid) -> impl Iterator<Item = &[u8]> {
        let of_make = self.by_make.get(&aaguid).into_iter().flatten();
        let broken = self.broken.contains(&aaguid);
        of_make.chain(&self.of_all).map(Vec::as_slice).filter(move |_| !broken)
    }

    /// Whether nothing can be proved.
    pub fn is_empty(&self) -> bool {
        self.by_make.is_empty() && self.of_all.is_empty()
    }

    /// How many makes can be proved by certificates of their own.
    pub fn provable_models(&self) -> usize {
        self.by_make.keys().filter(|make| !self.broken.contains(make)).count()
    }

    /// How many certificates prove any make that is not broken.
    pub fn of_any(&self) -> usize {
        self.of_all.len()
    }
}
