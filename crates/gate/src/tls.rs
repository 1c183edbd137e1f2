//! TLS by rustls, with a certificate that is reloaded when its files change.

use std::{
    io,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use rustls::{
    ServerConfig,
    crypto::{self, CryptoProvider},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use store::LoadedCertificate;

use super::meter;
use crate::file_watch::FileWatch;

/// The files of the server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate chain, in PEM.
    pub cert: PathBuf,
    /// The private key, in PEM.
    pub key: PathBuf,
}

/// The certificate in use.
#[derive(Debug)]
pub(crate) struct Certificate {
    files: TlsFiles,
    current: RwLock<Arc<CertifiedKey>>,
    watch: Mutex<WatchedCertificate>,
}

#[derive(Debug)]
struct WatchedCertificate {
    files: FileWatch,
    /// The last logged problem.
    problem: Option<String>,
}

impl Certificate {
    /// Loads the certificate. An unusable one prevents the server's start.
    pub(crate) fn new(files: &TlsFiles) -> io::Result<Arc<Self>> {
        let watch = FileWatch::new(vec![files.cert.clone(), files.key.clone()]);
        let loaded = load(files).map_err(io::Error::other)?;
        meter::certificate_ends(loaded.ends);
        Ok(Arc::new(Self {
            files: files.clone(),
            current: RwLock::new(Arc::new(loaded.key)),
            watch: Mutex::new(WatchedCertificate { files: watch, problem: None }),
        }))
    }

    /// Returns the TLS configuration.
    pub(crate) fn config(self: &Arc<Self>) -> io::Result<ServerConfig> {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<Self>::clone(self);
        let mut config = builder.with_no_client_auth().with_cert_resolver(resolver);
        config.ignore_client_order = true;
        Ok(config)
    }

    /// Reloads the certificate if its files have changed. An unusable one is logged, and the current one stays in
    /// use.
    pub(crate) fn refresh(&self) {
        let mut watch = self.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if !watch.files.changed() {
            return;
        }
        match load(&self.files) {
            Ok(loaded) => {
                meter::certificate_ends(loaded.ends);
                watch.problem = None;
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded.key);
                tracing::info!(ends = loaded.ends, "TLS certificate reloaded");
            }
            Err(problem) => {
                watch.files.forget();
                if watch.problem.as_ref() != Some(&problem) {
                    tracing::error!(
                        problem,
                        "cannot load the changed TLS certificate; the previous one stays in use"
                    );
                    watch.problem = Some(problem);
                }
            }
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(crypto::ring::default_provider())
}

/// Loads a certificate and its key, which must match. The error names the file.
pub fn load(files: &TlsFiles) -> Result<LoadedCertificate, String> {
    store::load_certificate(&files.cert, &files.key, ["tls_cert", "tls_key"], &provider())
}
