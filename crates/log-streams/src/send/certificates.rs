//! Certificates of syslog connections.

use std::sync::Arc;

use kernel::Secret;
use rustls::{
    ClientConfig, RootCertStore,
    client::Resumption,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    version,
};

use super::SendError;
use crate::Destination;

/// The text has no certificate in PEM, or a malformed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no certificates in PEM")]
pub struct ParseCertificatesError;

/// Reads certificates in PEM.
pub(crate) fn read_certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, ParseCertificatesError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    let found = found.map_err(|_| ParseCertificatesError)?;
    let mut roots = RootCertStore::empty();
    let are_readable = found.iter().all(|certificate| roots.add(certificate.clone()).is_ok());
    if found.is_empty() || !are_readable { Err(ParseCertificatesError) } else { Ok(found) }
}

/// Returns whether this private key in PEM belongs to the first certificate.
pub(crate) fn is_client_key(chain: Vec<CertificateDer<'static>>, pem: &str) -> bool {
    let Ok(key) = PrivateKeyDer::from_pem_slice(pem.as_bytes()) else { return false };
    rustls::sign::CertifiedKey::from_der(chain, key, &ring::default_provider()).is_ok()
}

/// Returns the TLS settings of a syslog destination.
pub(super) fn tls(
    destination: &Destination,
    key: Option<&Secret<String>>,
    system_roots: &Arc<RootCertStore>,
) -> Result<Arc<ClientConfig>, SendError> {
    let unusable = |_| SendError::settings();
    let roots = match &destination.ca_certificates {
        None => Arc::clone(system_roots),
        Some(pem) => {
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(read_certificates(pem).map_err(|_| SendError::settings())?);
            Arc::new(roots)
        }
    };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .map_err(unusable)?
        .with_root_certificates(roots);
    let mut config = match (&destination.client_certificate, key) {
        (Some(chain), Some(key)) => {
            let chain = read_certificates(chain).map_err(|_| SendError::settings())?;
            let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes());
            config.with_client_auth_cert(chain, key.map_err(|_| SendError::settings())?).map_err(unusable)?
        }
        _ => config.with_no_client_auth(),
    };
    // A connection lasts for one batch.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}
