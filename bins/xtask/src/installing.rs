//! Lets one process at a time install packages and tools.

use std::fs::File;

use crate::sh::{self, Result};

/// Waits until no other process installs anything. Other processes wait until the returned file is dropped.
pub fn lock() -> Result<File> {
    let folder = sh::root().join("target/tools");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let path = folder.join("lock");
    let locked = File::create(&path).and_then(|file| file.lock().map(|()| file));
    locked.map_err(|error| format!("{}: {error}", path.display()))
}
