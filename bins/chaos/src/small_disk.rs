//! A file system that is small enough to be filled.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use xtask::sh::{self, Result};

/// An in-memory file system of a fixed size, unmounted on drop.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a file system of this many MiB at a folder, which is created.
    pub(crate) fn new(folder: &Path, mebibytes: u32) -> Result<Self> {
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=755"), "gatehouse-chaos"]);
        sh::run(mount.arg(folder)).map_err(|problem| format!("{problem}; a small file system takes root"))?;
        Ok(Self(folder.to_owned()))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _gone = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A file that takes up all space. Removed on drop.
pub(crate) struct Filled(PathBuf);

impl Filled {
    /// Writes to a folder until its file system is full to the last byte.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let filled = Self(folder.join("filler"));
        let mut file = fs::File::create(&filled.0).map_err(|error| error.to_string())?;
        for size in [64 * 1024, 4096, 1] {
            let block = vec![0; size];
            while file.write_all(&block).is_ok() {}
        }
        Ok(filled)
    }
}

impl Drop for Filled {
    fn drop(&mut self) {
        let _removed = fs::remove_file(&self.0);
    }
}
