//! The certificate with which Gatehouse authenticates to PostgreSQL.

use std::{
    fmt::Display,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use rustls::{
    SignatureScheme,
    client::ResolvesClientCert,
    crypto::CryptoProvider,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

/// A certificate and its key. The files are read again for each new connection and each time that metrics are read, so a
/// renewed certificate is used without a restart.
#[derive(Debug)]
pub(super) struct ClientCertificate {
    /// The certificate and those of its issuers, in PEM.
    chain: PathBuf,
    /// The private key, in PEM.
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: RwLock<Loaded>,
    /// The last logged problem.
    problem: Mutex<Option<String>>,
}

#[derive(Debug, Clone)]
struct Loaded {
    key: Arc<CertifiedKey>,
    /// When the certificate expires, in seconds since 1970.
    ends: i64,
}

impl ClientCertificate {
    /// Loads the certificate. The error names the parameter and the file.
    pub(super) fn new(chain: PathBuf, key: PathBuf, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let current = RwLock::new(load(&chain, &key, &provider)?);
        Ok(Self { chain, key, provider, current, problem: Mutex::default() })
    }

    /// Returns when the certificate for the next connection expires, in seconds since 1970.
    pub(super) fn ends(&self) -> i64 {
        self.loaded().ends
    }

    /// Returns the certificate in the files, or the previous one while they cannot be used. Logs each problem once.
    fn loaded(&self) -> Loaded {
        let (loaded, problem) = match load(&self.chain, &self.key, &self.provider) {
            Ok(loaded) => {
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded.clone();
                (loaded, None)
            }
            Err(problem) => {
                (self.current.read().unwrap_or_else(PoisonError::into_inner).clone(), Some(problem))
            }
        };
        let mut known = self.problem.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(problem) = problem.as_ref().filter(|problem| known.as_ref() != Some(problem)) {
            tracing::error!(
                problem,
                "cannot load the client certificate for the database; the previous one stays in use"
            );
        }
        *known = problem;
        loaded
    }
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.loaded().key)
    }

    fn has_certs(&self) -> bool {
        true
    }
}

fn load(chain: &PathBuf, key: &PathBuf, provider: &CryptoProvider) -> Result<Loaded, String> {
    let named = |problem: &dyn Display| format!("sslcert: {}: {problem}", chain.display());
    let certificates = CertificateDer::pem_file_iter(chain).map_err(|error| named(&error))?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(|error| named(&error))?;
    let first = certificates.first().ok_or_else(|| named(&"the file contains no certificate"))?;
    let (_, parsed) = x509_parser::parse_x509_certificate(first).map_err(|error| named(&error))?;
    let ends = parsed.validity().not_after.timestamp();
    let named = |problem: &dyn Display| format!("sslkey: {}: {problem}", key.display());
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| named(&error))?;
    let certified = CertifiedKey::from_der(certificates, private, provider).map_err(|error| named(&error))?;
    Ok(Loaded { key: Arc::new(certified), ends })
}
