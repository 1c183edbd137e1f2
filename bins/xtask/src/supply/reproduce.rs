//! Two builds of one commit.

use std::{fs, path::Path, process::Command};

use data_encoding::HEXLOWER;
use ring::digest;
use xtask::sh::{self, Result, cargo};

/// Builds the committed sources in two directories with different names, and compares the programs.
pub(super) fn run() -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let work = root.join("target/reproduce");
    let head = sh::output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&root))?;
    let mut hashes = Vec::new();
    for name in ["first", "the-second-build"] {
        let folder = work.join(name);
        let _absent = fs::remove_dir_all(&folder);
        sh::run(Command::new("git").args(["clone", "--quiet", "--local"]).arg(&root).arg(&folder))?;
        // Commits may be made while the first build runs.
        let checkout = ["checkout", "--quiet", "--detach", head.trim()];
        sh::run(Command::new("git").current_dir(&folder).args(checkout))?;
        build(&folder)?;
        let program = folder.join("target/release/gatehouse");
        let bytes = fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?;
        let hash = HEXLOWER.encode(digest::digest(&digest::SHA256, &bytes).as_ref());
        println!("{hash}  {}", program.display());
        hashes.push(hash);
        // Two release builds need ten gigabytes.
        fs::remove_dir_all(&folder).map_err(|error| error.to_string())?;
    }
    if hashes.first() == hashes.last() { Ok(()) } else { Err("the two builds differ".to_owned()) }
}

/// Builds as `docs/start/install.md` says for a reproducible build: paths of the sources and of the package cache are
/// replaced, so that they do not enter the program.
fn build(folder: &Path) -> Result<()> {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        std::path::PathBuf::from,
    );
    let flags = format!(
        "--remap-path-prefix={}=/gatehouse --remap-path-prefix={}=/cargo",
        folder.display(),
        home.display()
    );
    let mut build = cargo();
    build.current_dir(folder).env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", folder.join("target"));
    build.env(
        "CFLAGS",
        format!(
            "-ffile-prefix-map={}=/gatehouse -ffile-prefix-map={}=/cargo",
            folder.display(),
            home.display()
        ),
    );
    sh::run(build.args(["build", "--locked", "--release", "--package", "gatehouse"]))
}
