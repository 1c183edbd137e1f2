//! The files of a witness.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use audit::log::{Checkpoint, witness::AddCheckpoint};
use data_encoding::HEXLOWER;
use ring::digest::{SHA256, digest};

use crate::cli::report::Result;

/// Files of a log from which no further evidence is stored.
const MAX_FILES: usize = 100;
/// File name of the newest cosigned checkpoint, as C2SP tlog-witness has it.
const CHECKPOINT: &str = "checkpoint";

/// The directory of a log: its newest cosigned checkpoint, and evidence of changes.
pub(super) struct WitnessStore {
    dir: PathBuf,
    /// Locked until the run ends, so that no other run cosigns in between.
    _lock: File,
}

impl WitnessStore {
    pub(super) fn open(dir: &Path, origin: &str) -> Result<Self> {
        let parent = File::open(dir).and_then(|parent| parent.sync_all().map(|()| parent));
        let parent = parent.map_err(|error| format!("--dir: {}: {error}", dir.display()))?;
        let dir = dir.join(HEXLOWER.encode(digest(&SHA256, origin.as_bytes()).as_ref()));
        let problem = |error: std::io::Error| format!("--dir: {}: {error}", dir.display());
        match fs::create_dir(&dir) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => created.and_then(|()| parent.sync_all()).map_err(problem)?,
        }
        let lock = File::create(dir.join("lock")).map_err(problem)?;
        lock.try_lock().map_err(|_| format!("--dir: another run uses {}", dir.display()))?;
        Ok(Self { _lock: lock, dir })
    }

    /// Returns the newest cosigned checkpoint.
    pub(super) fn newest(&self) -> Result<Option<Checkpoint>> {
        let path = self.dir.join(CHECKPOINT);
        match fs::read_to_string(&path) {
            Ok(note) => {
                let checkpoint =
                    Checkpoint::read(&note).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Some(checkpoint))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("{}: {error}", path.display()).into()),
        }
    }

    /// Replaces the newest cosigned checkpoint. Returns its file.
    pub(super) fn put(&self, note: &str) -> Result<PathBuf> {
        let path = self.dir.join(CHECKPOINT);
        replace_durably(&path, note)?;
        Ok(path)
    }

    /// Stores a checkpoint that was refused with its proof, and the newest cosigned one that it contradicts. Returns the
    /// file, or the directory if it has enough of them.
    pub(super) fn keep_evidence(&self, evidence: &AddCheckpoint) -> Result<PathBuf> {
        let hash = HEXLOWER.encode(digest(&SHA256, evidence.note.as_bytes()).as_ref());
        let path = self.dir.join(format!("evidence-{}.txt", hash.get(..16).unwrap_or_default()));
        let files = fs::read_dir(&self.dir)?.count();
        if path.exists() || files > MAX_FILES {
            return Ok(if path.exists() { path } else { self.dir.clone() });
        }
        let known = fs::read_to_string(self.dir.join(CHECKPOINT)).unwrap_or_default();
        replace_durably(&path, &format!("{evidence}\n{known}"))?;
        Ok(path)
    }
}

/// Replaces a file, so that a crash leaves the previous or the new one.
pub(super) fn replace_durably(path: &Path, text: &str) -> Result<()> {
    let next = path.with_extension("new");
    write_durably(&next, text)?;
    fs::rename(&next, path).map_err(|error| format!("{}: {error}", path.display()))?;
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(File::open(dir)?.sync_all()?)
}

fn write_durably(path: &Path, text: &str) -> Result<()> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    Ok(written.map_err(|error| format!("{}: {error}", path.display()))?)
}
