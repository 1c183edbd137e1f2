//! Creates and replaces files atomically, one writer at a time.

use std::{
    fs,
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

/// New content of a file, in a file beside it until it replaces it. Its existence is the lock against other writers.
pub struct FileDraft {
    target: PathBuf,
    path: PathBuf,
    file: fs::File,
}

/// The reason why no draft could be created.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct DraftError {
    /// The draft, or the file if it does not exist.
    pub path: PathBuf,
    error: io::Error,
}

impl DraftError {
    /// Returns whether another writer has the draft, or was interrupted and left it.
    pub fn is_locked(&self) -> bool {
        self.error.kind() == ErrorKind::AlreadyExists
    }
}

impl FileDraft {
    /// Creates an empty draft of an existing file.
    pub fn begin(path: &Path) -> Result<Self, DraftError> {
        // Replace the target of a symbolic link, not the link.
        let target = path.canonicalize();
        let target = target.map_err(|error| DraftError { path: path.to_owned(), error })?;
        let mut path = target.clone().into_os_string();
        path.push(".new");
        let path = PathBuf::from(path);
        match fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => Ok(Self { target, path, file }),
            Err(error) => Err(DraftError { path, error }),
        }
    }

    /// Writes and syncs the content with the file's owner and permissions.
    pub fn write(&mut self, text: &str) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        let (before, after) = (fs::metadata(&self.target)?, self.file.metadata()?);
        if (after.uid(), after.gid()) != (before.uid(), before.gid()) {
            chown(&self.path, Some(before.uid()), Some(before.gid()))?;
        }
        self.file.set_permissions(fs::Permissions::from_mode(before.mode() & 0o777))?;
        self.file.sync_all()
    }

    /// Replaces the file.
    pub fn put(self) -> io::Result<()> {
        fs::rename(&self.path, &self.target)?;
        self.target.parent().map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
    }
}

impl Drop for FileDraft {
    fn drop(&mut self) {
        let _in_its_place = fs::remove_file(&self.path);
    }
}

/// Creates a directory with its parents, accessible only to its owner.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Creates a file that only its owner can read, unless it exists. Nobody reads a partial file, and of two concurrent
/// calls one wins.
pub fn create_once(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension(format!("{}.tmp", std::process::id()));
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => fs::remove_file(&draft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_created_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.toml");
        for text in ["first", "second"] {
            create_once(&path, text).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), "first");
        }
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn draft_replaces_the_target_of_a_link_and_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        let mut draft = FileDraft::begin(&link).unwrap();
        draft.write("new").unwrap();
        assert!(FileDraft::begin(&file).is_err_and(|error| error.is_locked()));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        draft.put().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    }

    #[test]
    fn abandoned_draft_releases_the_lock_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        assert!(FileDraft::begin(&file).is_err_and(|error| !error.is_locked() && error.path == file));
        fs::write(&file, "old").unwrap();
        FileDraft::begin(&file).unwrap().write("new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
