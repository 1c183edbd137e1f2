//! Trust anchors for the attestation of authenticator models: the FIDO Alliance's metadata (MDS) and certificate
//! files,
//! reloaded when they change.
//!
//! Unusable files are reported in the log and by `gatehouse doctor`. They never keep the server from starting: then
//! no
//! attestation can be verified, and policies that require one refuse.

use std::{
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use attestation::{
    Roots,
    mds::{self, Metadata, Signer},
};
use credentials::Aaguid;
use kernel::Timestamp;
use ring::digest::{Context, SHA256};

use crate::config::AuthenticatorMetadataFiles;

/// Milliseconds before unusable files are tried again.
const REFUSED: i64 = 10 * 60_000;

/// The trust anchors in use.
pub(crate) struct WatchedTrustAnchors {
    files: AuthenticatorMetadataFiles,
    current: RwLock<Arc<Roots>>,
    seen: Mutex<LastRead>,
}

#[derive(Default)]
struct LastRead {
    digest: Vec<u8>,
    /// The problem in the last log line.
    problem: Option<String>,
    /// Number of the metadata in use, and the date of its next update.
    edition: Option<(u64, String)>,
    /// Whether the overdue update was logged.
    said_overdue: bool,
    /// Digest of the unusable files, and when to try them again: a certificate may not be valid yet.
    refused: Option<(Vec<u8>, Timestamp)>,
}

/// The loaded files.
pub(crate) struct Loaded {
    pub(crate) roots: Roots,
    pub(crate) metadata: Option<Metadata>,
}

impl WatchedTrustAnchors {
    /// Loads the files.
    pub(crate) fn new(files: &AuthenticatorMetadataFiles, now: Timestamp) -> Self {
        let makers = Self { files: files.clone(), current: RwLock::default(), seen: Mutex::default() };
        makers.refresh(now);
        makers
    }

    /// Reloads the files if they have changed, and keeps the previous anchors if the new ones are unusable. Returns
    /// the number of authenticator models whose attestation can be verified.
    pub(crate) fn refresh(&self, now: Timestamp) -> usize {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let used = seen.edition.as_ref().map(|(number, _)| *number);
        let loaded = FileContents::gather(&self.files).and_then(|found| {
            let digest = found.digest();
            if digest == seen.digest {
                return Ok(None);
            }
            if let Some((refused, until)) = &seen.refused
                && *refused == digest
                && now < *until
            {
                return Err(seen.problem.clone().unwrap_or_default());
            }
            seen.refused = Some((digest.clone(), now.plus_millis(REFUSED)));
            let loaded = found.load(now)?;
            let number = loaded.metadata.as_ref().map(|metadata| metadata.number);
            match (number, used) {
                (Some(number), Some(used)) if number < used => Err(format!(
                    "attestation_metadata: number {number} is older than number {used}, which is in use; restart to load it"
                )),
                _ => Ok(Some((digest, loaded))),
            }
        });
        match loaded {
            Ok(None) => seen.problem = None,
            Ok(Some((digest, loaded))) => {
                if !self.files.is_empty() {
                    let metadata = loaded.metadata.as_ref();
                    tracing::info!(
                        models = loaded.roots.provable_models(),
                        of_any = loaded.roots.of_any(),
                        number = metadata.map(|metadata| metadata.number),
                        unread = metadata.map(|metadata| metadata.unread),
                        "loaded trust anchors of authenticator models"
                    );
                }
                let edition = loaded.metadata.map(|metadata| (metadata.number, metadata.next_update));
                *seen = LastRead { digest, problem: None, edition, said_overdue: false, refused: None };
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded.roots);
            }
            Err(problem) => {
                if seen.problem.as_ref() != Some(&problem) {
                    tracing::error!(problem, "trust anchors of authenticator models are invalid");
                    seen.problem = Some(problem);
                }
            }
        }
        let overdue = seen.edition.as_ref().is_some_and(|(_, next)| mds::is_over(next, now));
        if overdue && !seen.said_overdue {
            tracing::warn!("the attestation metadata is outdated; download the current file");
        }
        seen.said_overdue = overdue;
        self.count()
    }

    /// Returns the number of authenticator models whose attestation can be verified.
    pub(crate) fn count(&self) -> usize {
        self.current().provable_models()
    }

    /// Returns whether any attestation can be verified.
    pub(crate) fn can_prove_any(&self) -> bool {
        !self.current().is_empty()
    }

    /// Returns whether the attestation of this model can be verified.
    pub(crate) fn can_prove(&self, aaguid: Aaguid) -> bool {
        self.current().of(attestation::Aaguid(aaguid.0)).next().is_some()
    }

    fn current(&self) -> Arc<Roots> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl credentials::TrustAnchors for WatchedTrustAnchors {
    fn roots(&self, aaguid: Aaguid) -> Vec<Vec<u8>> {
        self.current().of(attestation::Aaguid(aaguid.0)).map(<[u8]>::to_vec).collect()
    }
}

/// Loads the configured files. An error names the setting and the file.
pub(crate) fn load(files: &AuthenticatorMetadataFiles, now: Timestamp) -> Result<Loaded, String> {
    FileContents::gather(files)?.load(now)
}

/// The contents of the files.
#[derive(Default)]
struct FileContents {
    metadata: Option<(String, Vec<u8>)>,
    metadata_root: Option<(String, Vec<u8>)>,
    signer: Option<String>,
    /// File names without `.pem` and their contents, in order.
    roots: Vec<(String, Vec<u8>)>,
}

impl FileContents {
    fn gather(files: &AuthenticatorMetadataFiles) -> Result<Self, String> {
        let read = |setting: &str, path: &Path| {
            let place = format!("{setting}: {}", path.display());
            std::fs::read(path)
                .map(|content| (place.clone(), content))
                .map_err(|error| format!("{place}: {error}"))
        };
        let mut found = Self {
            metadata: files.metadata.as_deref().map(|path| read("attestation_metadata", path)).transpose()?,
            metadata_root: files
                .metadata_root
                .as_deref()
                .map(|path| read("attestation_metadata_root", path))
                .transpose()?,
            signer: files.signer.clone(),
            roots: Vec::new(),
        };
        let Some(folder) = &files.roots else { return Ok(found) };
        let bad = |error: io::Error| format!("attestation_roots: {}: {error}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(bad)? {
            let path = entry.map_err(bad)?.path();
            if path.extension().is_some_and(|ending| ending == "pem") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                found.roots.push((name, read("attestation_roots", &path)?.1));
            }
        }
        found.roots.sort();
        Ok(found)
    }

    fn digest(&self) -> Vec<u8> {
        let mut context = Context::new(&SHA256);
        for (name, content) in self.metadata.iter().chain(&self.metadata_root).chain(&self.roots) {
            for part in [name.as_bytes(), content] {
                context.update(&(part.len() as u64).to_le_bytes());
                context.update(part);
            }
        }
        context.finish().as_ref().to_vec()
    }

    fn load(&self, now: Timestamp) -> Result<Loaded, String> {
        let mut loaded = Loaded { roots: Roots::default(), metadata: None };
        if let Some((place, document)) = &self.metadata {
            let (root_place, root) = match &self.metadata_root {
                None => (place, mds::FIDO_ROOT),
                Some((place, pem)) => (place, pem.as_slice()),
            };
            let name = self.signer.as_deref().unwrap_or(mds::FIDO_NAME);
            let signer = Signer::new(root, Some(name)).map_err(|error| format!("{root_place}: {error}"))?;
            let metadata = mds::read(document, &signer, now).map_err(|error| format!("{place}: {error}"))?;
            loaded.roots.add_metadata(&metadata);
            loaded.metadata = Some(metadata);
        }
        for (name, pem) in &self.roots {
            let added = loaded.roots.add_file(name, pem);
            added.map_err(|error| format!("attestation_roots: {name}.pem: {error}"))?;
        }
        Ok(loaded)
    }
}

impl AuthenticatorMetadataFiles {
    /// Returns whether no file is configured.
    pub(crate) fn is_empty(&self) -> bool {
        self.metadata.is_none() && self.roots.is_none()
    }
}

#[cfg(test)]
mod tests {
    use attestation::conformance::Authority;
    use serde_json::json;

    use super::*;

    #[test]
    fn changed_files_are_reloaded_and_unusable_ones_are_ignored() {
        let now: Timestamp = "2026-11-22T12:00:00.000Z".parse().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        let files = AuthenticatorMetadataFiles {
            metadata: Some(place("blob.jwt")),
            metadata_root: Some(place("root.pem")),
            signer: Some("mds.example".into()),
            roots: Some(folder.path().to_owned()),
        };
        let makers = WatchedTrustAnchors::new(&files, now);
        assert_eq!(makers.count(), 0, "nothing is there yet, and the server starts");
        assert!(load(&files, now).is_err_and(|problem| problem.starts_with("attestation_metadata: ")));

        let authority = Authority::new("mds.example").unwrap();
        let root: String = authority.root().lines().filter(|line| !line.starts_with("--")).collect();
        let write = |number: u64, models: u8, next: &str| {
            let entry = |model: u8| {
                let aaguid = attestation::Aaguid([model; 16]);
                let statement = json!({ "attestationRootCertificates": [root] });
                json!({ "aaguid": aaguid, "metadataStatement": statement, "statusReports": [] })
            };
            let entries: Vec<_> = (0..models).map(entry).collect();
            let payload = json!({ "no": number, "nextUpdate": next, "entries": entries });
            std::fs::write(place("blob.jwt"), authority.sign(&payload).unwrap()).unwrap();
        };
        write(5, 2, "2027-01-01");
        assert_eq!(makers.refresh(now), 0, "its root is not there");
        std::fs::write(place("root.pem"), authority.root()).unwrap();
        assert_eq!((makers.refresh(now), makers.refresh(now)), (2, 2));
        write(6, 3, "2026-01-01");
        assert_eq!(makers.refresh(now), 3, "what is overdue is used");
        std::fs::write(place("odd.pem"), "not PEM").unwrap();
        assert_eq!(makers.refresh(now), 3);
        assert!(load(&files, now).is_err_and(|problem| problem.starts_with("attestation_roots: odd.pem: ")));
        std::fs::remove_file(place("odd.pem")).unwrap();
        std::fs::write(place("blob.jwt"), "a.b.c").unwrap();
        assert_eq!(makers.refresh(now), 3, "the document known goes on");
        write(5, 1, "2027-01-01");
        assert_eq!(
            makers.refresh(now),
            3,
            "an older edition may lack models that were reported as compromised"
        );
        write(7, 1, "2027-01-01");
        assert_eq!(makers.refresh(now), 1);
        let other = AuthenticatorMetadataFiles { signer: None, ..files.clone() };
        assert!(load(&other, now).is_err_and(|problem| problem.contains("the signer is not trusted")));
        let of = credentials::TrustAnchors::roots(&makers, Aaguid([0; 16]));
        assert_eq!(of.len(), 2, "its own, and the one in the folder that is for all");
    }
}
