//! Trust anchors from files, reloaded when they change.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use kernel::Timestamp;
use ring::digest::{Context, SHA256};

use crate::{
    Aaguid, Roots,
    error::TrustFileError,
    mds::{self, Metadata, Signer},
};

/// Milliseconds before unusable files are tried again.
const REFUSED: i64 = 10 * 60_000;

/// The files that prove authenticator models.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustFiles {
    /// The FIDO Alliance's metadata.
    pub metadata: Option<PathBuf>,
    /// PEM file with the root certificate of its signer; `None`: that of the FIDO Alliance.
    pub metadata_root: Option<PathBuf>,
    /// Name in the certificate of its signer; `None`: that of the FIDO Alliance.
    pub signer: Option<String>,
    /// Directory of PEM files with further root certificates.
    pub roots: Option<PathBuf>,
}

/// Trust anchors that were loaded from files.
#[derive(Debug, Clone, Default)]
pub struct LoadedTrustAnchors {
    /// The certificates.
    pub roots: Roots,
    /// The FIDO Alliance's metadata, if there is a file of it.
    pub metadata: Option<Metadata>,
}

/// Receives events of [`WatchedTrustAnchors`] for the log.
pub trait TrustAnchorObserver: Send + Sync {
    /// New trust anchors are in use.
    fn loaded(&self, _anchors: &LoadedTrustAnchors) {}
    /// The files are unusable, for a reason that was not reported last time. The previous anchors stay in use.
    fn refused(&self, _error: &TrustFileError) {}
    /// A newer edition of the metadata has been due since its announced date.
    fn outdated(&self) {}
}

/// The trust anchors in use. Unusable files never replace usable ones: without any, no attestation can be verified,
/// and policies that require one refuse.
pub struct WatchedTrustAnchors {
    files: TrustFiles,
    observer: Box<dyn TrustAnchorObserver>,
    current: RwLock<Arc<Roots>>,
    /// Pictures of models, as PNG.
    pictures: RwLock<BTreeMap<Aaguid, Arc<[u8]>>>,
    seen: Mutex<LastRead>,
}

#[derive(Default)]
struct LastRead {
    digest: Vec<u8>,
    /// The last problem that was reported.
    problem: Option<TrustFileError>,
    /// Number of the metadata in use, and the date of its next update.
    edition: Option<(u64, String)>,
    /// Whether the overdue update was reported.
    said_overdue: bool,
    /// The unusable files.
    refused: Option<RefusedFiles>,
}

/// Files that were unusable.
struct RefusedFiles {
    digest: Vec<u8>,
    error: TrustFileError,
    /// When to try them again: a certificate may not be valid yet.
    until: Timestamp,
}

impl WatchedTrustAnchors {
    /// Loads the files.
    pub fn new(files: TrustFiles, observer: Box<dyn TrustAnchorObserver>, now: Timestamp) -> Self {
        let anchors = Self {
            files,
            observer,
            current: RwLock::default(),
            pictures: RwLock::default(),
            seen: Mutex::default(),
        };
        anchors.refresh(now);
        anchors
    }

    /// Reloads the files if they have changed, and keeps the previous anchors if the new ones are unusable. Returns
    /// the number of authenticator models whose attestation can be verified.
    pub fn refresh(&self, now: Timestamp) -> usize {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match FileContents::read(&self.files).and_then(|found| seen.load_changed(&found, now)) {
            Ok(None) => seen.problem = None,
            Ok(Some((digest, loaded))) => {
                if !self.files.is_empty() {
                    self.observer.loaded(&loaded);
                }
                let models = loaded.metadata.iter().flat_map(|metadata| &metadata.makes);
                let pictures =
                    models.filter_map(|(aaguid, model)| Some((*aaguid, model.picture.as_deref()?.into())));
                *self.pictures.write().unwrap_or_else(PoisonError::into_inner) = pictures.collect();
                let edition = loaded.metadata.map(|metadata| (metadata.number, metadata.next_update));
                *seen = LastRead { digest, edition, ..LastRead::default() };
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(loaded.roots);
            }
            Err(error) => {
                if seen.problem.as_ref() != Some(&error) {
                    self.observer.refused(&error);
                    seen.problem = Some(error);
                }
            }
        }
        let is_overdue = seen.edition.as_ref().is_some_and(|(_, next)| mds::is_over(next, now));
        if is_overdue && !seen.said_overdue {
            self.observer.outdated();
        }
        seen.said_overdue = is_overdue;
        self.count()
    }

    /// Returns the number of authenticator models whose attestation can be verified.
    pub fn count(&self) -> usize {
        self.current().provable_models()
    }

    /// Returns whether any attestation can be verified.
    pub fn can_prove_any(&self) -> bool {
        !self.current().is_empty()
    }

    /// Returns whether the attestation of this model can be verified.
    pub fn can_prove(&self, aaguid: Aaguid) -> bool {
        self.current().of(aaguid).next().is_some()
    }

    /// Returns the trusted certificates of this model in DER.
    pub fn roots(&self, aaguid: Aaguid) -> Vec<Vec<u8>> {
        self.current().of(aaguid).map(<[u8]>::to_vec).collect()
    }

    /// Returns the picture of this model in the metadata, as PNG.
    pub fn picture(&self, aaguid: Aaguid) -> Option<Arc<[u8]>> {
        self.pictures.read().unwrap_or_else(PoisonError::into_inner).get(&aaguid).cloned()
    }

    fn current(&self) -> Arc<Roots> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl LastRead {
    /// Loads files that have changed; `None` if they are those in use. An older edition of the metadata is refused:
    /// it may lack models that were reported as compromised.
    fn load_changed(
        &mut self,
        found: &FileContents,
        now: Timestamp,
    ) -> Result<Option<(Vec<u8>, LoadedTrustAnchors)>, TrustFileError> {
        let digest = found.digest();
        if digest == self.digest {
            return Ok(None);
        }
        match &self.refused {
            Some(refused) if refused.digest == digest && now < refused.until => {
                return Err(refused.error.clone());
            }
            _ => {}
        }
        let used = self.edition.as_ref().map(|(number, _)| *number);
        let loaded = found.load(now).and_then(|loaded| {
            match (loaded.metadata.as_ref().map(|metadata| metadata.number), used) {
                (Some(number), Some(used)) if number < used => Err(TrustFileError::new(
                    "attestation_metadata",
                    format!(
                        "number {number} is older than number {used}, which is in use; restart to load it"
                    ),
                )),
                _ => Ok(loaded),
            }
        });
        match loaded {
            Ok(loaded) => Ok(Some((digest, loaded))),
            Err(error) => {
                let until = now.plus_millis(REFUSED);
                self.refused = Some(RefusedFiles { digest, error: error.clone(), until });
                Err(error)
            }
        }
    }
}

impl TrustFiles {
    /// Returns whether no file is configured.
    pub fn is_empty(&self) -> bool {
        self.metadata.is_none() && self.roots.is_none()
    }

    /// Loads the files.
    pub fn load(&self, now: Timestamp) -> Result<LoadedTrustAnchors, TrustFileError> {
        FileContents::read(self)?.load(now)
    }
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

fn read_file(setting: &str, path: &Path) -> Result<(String, Vec<u8>), TrustFileError> {
    let place = format!("{setting}: {}", path.display());
    match std::fs::read(path) {
        Ok(content) => Ok((place, content)),
        Err(error) => Err(TrustFileError::new(place, error)),
    }
}

impl FileContents {
    fn read(files: &TrustFiles) -> Result<Self, TrustFileError> {
        let read = |setting, path: &Option<PathBuf>| {
            path.as_deref().map(|path| read_file(setting, path)).transpose()
        };
        let mut found = Self {
            metadata: read("attestation_metadata", &files.metadata)?,
            metadata_root: read("attestation_metadata_root", &files.metadata_root)?,
            signer: files.signer.clone(),
            roots: Vec::new(),
        };
        let Some(folder) = &files.roots else { return Ok(found) };
        let bad =
            |error: io::Error| TrustFileError::new(format!("attestation_roots: {}", folder.display()), error);
        for entry in std::fs::read_dir(folder).map_err(bad)? {
            let path = entry.map_err(bad)?.path();
            if path.extension().is_some_and(|ending| ending == "pem") {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                found.roots.push((name, read_file("attestation_roots", &path)?.1));
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

    fn load(&self, now: Timestamp) -> Result<LoadedTrustAnchors, TrustFileError> {
        let mut loaded = LoadedTrustAnchors::default();
        if let Some((place, document)) = &self.metadata {
            let (root_place, root) = match &self.metadata_root {
                None => (place, mds::FIDO_ROOT),
                Some((place, pem)) => (place, pem.as_slice()),
            };
            let name = self.signer.as_deref().unwrap_or(mds::FIDO_NAME);
            let signer = Signer::new(root, Some(name));
            let signer = signer.map_err(|error| TrustFileError::new(root_place, error))?;
            let metadata = mds::read(document, &signer, now);
            let metadata = metadata.map_err(|error| TrustFileError::new(place, error))?;
            loaded.roots.add_metadata(&metadata);
            loaded.metadata = Some(metadata);
        }
        for (name, pem) in &self.roots {
            let added = loaded.roots.add_file(name, pem);
            added.map_err(|error| TrustFileError::new(format!("attestation_roots: {name}.pem"), error))?;
        }
        Ok(loaded)
    }
}
