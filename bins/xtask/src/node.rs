//! Tools from npm, pinned with hashes and installed once into `target/tools`.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::Command,
};

use xtask::{
    installing,
    sh::{self, Result},
    system,
};

/// Returns a directory with copies of the files in `tool` and the packages in its lock file.
pub(crate) fn environment(tool: &Path) -> Result<PathBuf> {
    system::install(&system::NODE)?;
    let _lock = installing::lock()?;
    let mut hasher = DefaultHasher::new();
    let files: Vec<_> = std::fs::read_dir(tool)
        .map_err(|error| format!("{}: {error}", tool.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    for file in &files {
        std::fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?.hash(&mut hasher);
    }
    let name = tool.file_name().unwrap_or_default().to_string_lossy();
    let folder = sh::root().join(format!("target/tools/{name}-{:016x}", hasher.finish()));
    let done = folder.join("complete");
    if !done.is_file() {
        let _half = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        for file in &files {
            let name = file.file_name().unwrap_or_default();
            std::fs::copy(file, folder.join(name)).map_err(|error| error.to_string())?;
        }
        let mut npm = Command::new("npm");
        npm.args(["ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=5"]);
        sh::run(npm.current_dir(&folder))?;
        std::fs::write(&done, "").map_err(|error| error.to_string())?;
    }
    Ok(folder)
}
