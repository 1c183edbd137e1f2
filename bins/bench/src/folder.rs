//! A folder for the files of a measurement.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use xtask::sh::Result;

/// An empty folder. Dropping it removes it, also after a failure, so that the next area starts empty.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(area: &str) -> Result<Self> {
        let path = std::env::temp_dir().join(format!("gatehouse-bench-{area}-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _gone = std::fs::remove_dir_all(&self.0);
    }
}
