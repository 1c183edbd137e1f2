//! The certificate with which Gatehouse authenticates to PostgreSQL.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use rustls::{SignatureScheme, client::ResolvesClientCert, crypto::CryptoProvider, sign::CertifiedKey};

use crate::load_certificate;

/// A certificate and its key. The files are read again for each new connection and each time that metrics are read, so a
/// renewed certificate is used without a restart.
#[derive(Debug)]
pub(super) struct ClientCertificate {
    /// The certificate and those of its issuers, in PEM.
    chain: PathBuf,
    /// The private key, in PEM.
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: Mutex<Current>,
}

#[derive(Debug, Clone)]
struct Current {
    key: Arc<CertifiedKey>,
    /// When the certificate expires, in seconds since 1970.
    ends: i64,
    /// Why the files could not be loaded at the last attempt.
    problem: Option<String>,
}

impl ClientCertificate {
    /// Loads the certificate. The error names the parameter and the file.
    pub(super) fn new(chain: PathBuf, key: PathBuf, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let current = Mutex::new(load(&chain, &key, &provider)?);
        Ok(Self { chain, key, provider, current })
    }

    /// Returns when the certificate for the next connection expires, in seconds since 1970.
    pub(super) fn ends(&self) -> i64 {
        self.loaded().ends
    }

    /// Returns the certificate in the files, or the previous one while they cannot be used. Logs each problem once.
    fn loaded(&self) -> Current {
        let loaded = load(&self.chain, &self.key, &self.provider);
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        match loaded {
            Ok(loaded) => *current = loaded,
            Err(problem) if current.problem.as_ref() != Some(&problem) => {
                tracing::error!(
                    problem,
                    "cannot load the client certificate for the database; the previous one stays in use"
                );
                current.problem = Some(problem);
            }
            Err(_) => {}
        }
        current.clone()
    }
}

fn load(chain: &Path, key: &Path, provider: &CryptoProvider) -> Result<Current, String> {
    let loaded = load_certificate(chain, key, ["sslcert", "sslkey"], provider)?;
    Ok(Current { key: Arc::new(loaded.key), ends: loaded.ends, problem: None })
}

impl ResolvesClientCert for ClientCertificate {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(self.loaded().key)
    }

    fn has_certs(&self) -> bool {
        true
    }
}
