//! A file system that is small enough to be filled.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use xtask::sh::{self, Result};

/// The name of the file systems in the list of mounts, with which the folders of runs begin too.
const NAME: &str = "gatehouse-chaos";

/// An in-memory file system of a fixed size, unmounted on drop.
pub(crate) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a file system of this many MiB at a folder, which is created.
    pub(crate) fn new(folder: &Path, mebibytes: u32) -> Result<Self> {
        unmount_leftovers();
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m,mode=755"), NAME]);
        sh::run(mount.arg(folder)).map_err(|problem| format!("{problem}; a small file system takes root"))?;
        Ok(Self(folder.to_owned()))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

fn unmount(folder: &Path) {
    let _gone = Command::new("umount").arg("-l").arg(folder).status();
}

/// Unmounts file systems of runs that were killed. The folder of a run has the id of its process in its name.
fn unmount_leftovers() {
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    for folder in mounts.lines().filter_map(|mount| mount.strip_prefix(NAME)?.split_whitespace().next()) {
        let process = folder.split_once(NAME).and_then(|(_, rest)| rest.split('-').nth(1));
        if process.is_some_and(|process| !sh::is_running(process)) {
            unmount(Path::new(folder));
        }
    }
}

/// A file that fills its file system. Removed on drop.
pub(crate) struct Filler(PathBuf);

impl Filler {
    /// Writes to a folder until its file system is full to the last byte.
    pub(crate) fn new(folder: &Path) -> Result<Self> {
        let filler = Self(folder.join("filler"));
        let mut file = fs::File::create(&filler.0).map_err(|error| error.to_string())?;
        for size in [64 * 1024, 4096, 1] {
            let block = vec![0; size];
            while file.write_all(&block).is_ok() {}
        }
        Ok(filler)
    }
}

impl Drop for Filler {
    fn drop(&mut self) {
        let _removed = fs::remove_file(&self.0);
    }
}
