//! Tools from the Python package index, pinned with hashes and installed once into `target/tools`.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
    process::Command,
};

use crate::{
    installing,
    sh::{self, Result},
    system,
};

/// Returns the `python` of an environment with the packages in `{name}.txt`.
pub fn environment(name: &str) -> Result<PathBuf> {
    system::install(&system::PYTHON)?;
    let _lock = installing::lock()?;
    let list = sh::peers().join(format!("{name}.txt"));
    let text = std::fs::read_to_string(&list).map_err(|error| format!("{}: {error}", list.display()))?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let folder = sh::root().join(format!("target/tools/{name}-{:016x}", hasher.finish()));
    let (python, done) = (folder.join("bin/python"), folder.join("complete"));
    if !done.is_file() {
        let _half = std::fs::remove_dir_all(&folder);
        sh::run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "install", "--retries", "5"]);
        // The list is complete. Without `--no-deps`, pip looks at the newest release behind an extra
        // such as `pydantic[email]` and refuses it, because the list has no hash for it.
        // Some packages name a newer Python than Debian's although they run on it, as their tests here show.
        pip.arg("--ignore-requires-python");
        sh::run(pip.args(["--no-deps", "--require-hashes", "-r"]).arg(&list))?;
        sh::run(Command::new(&python).args(["-m", "pip", "--disable-pip-version-check", "check"]))?;
        std::fs::write(&done, "").map_err(|error| error.to_string())?;
    }
    Ok(python)
}
