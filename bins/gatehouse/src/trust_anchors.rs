//! The trust anchors of authenticator models on this server: reports them in the log, and lends them to enrolments.

use std::ops::Deref;

use attestation::{LoadedTrustAnchors, TrustAnchorObserver, TrustFileError, TrustFiles, WatchedTrustAnchors};
use credentials::Aaguid;
use kernel::Timestamp;

/// The trust anchors in use.
pub(crate) struct TrustAnchors(WatchedTrustAnchors);

impl TrustAnchors {
    /// Loads the files. Unusable ones never keep the server from starting.
    pub(crate) fn new(files: &TrustFiles, now: Timestamp) -> Self {
        Self(WatchedTrustAnchors::new(files.clone(), Box::new(TrustAnchorLog), now))
    }
}

impl Deref for TrustAnchors {
    type Target = WatchedTrustAnchors;

    fn deref(&self) -> &WatchedTrustAnchors {
        &self.0
    }
}

impl credentials::TrustAnchors for TrustAnchors {
    fn roots(&self, aaguid: Aaguid) -> Vec<Vec<u8>> {
        self.0.roots(attestation::Aaguid(aaguid.0))
    }
}

/// Writes log lines.
struct TrustAnchorLog;

impl TrustAnchorObserver for TrustAnchorLog {
    fn loaded(&self, LoadedTrustAnchors { roots, metadata }: &LoadedTrustAnchors) {
        tracing::info!(
            models = roots.provable_models(),
            of_any = roots.of_any(),
            number = metadata.as_ref().map(|metadata| metadata.number),
            unread = metadata.as_ref().map(|metadata| metadata.unread),
            "loaded trust anchors of authenticator models"
        );
    }

    fn refused(&self, problem: &TrustFileError) {
        tracing::error!(problem = problem.to_string(), "trust anchors of authenticator models are invalid");
    }

    fn outdated(&self) {
        tracing::warn!("the attestation metadata is outdated; download the current file");
    }
}
