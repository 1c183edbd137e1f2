//! Two builds of one commit.

use std::{fs, path::Path, process::Command};

use data_encoding::HEXLOWER;
use ring::digest;
use xtask::sh::{self, Result, cargo};

/// Builds the committed sources in two directories with different names, and compares the programs. If they differ, the
/// builds stay, and the libraries that differ are named.
pub(super) fn run() -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let work = root.join("target/reproduce");
    let _absent = fs::remove_dir_all(&work);
    let head = sh::output(Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&root))?;
    let folders = [work.join("first"), work.join("the-second-build")];
    let mut programs = Vec::new();
    for folder in &folders {
        sh::run(Command::new("git").args(["clone", "--quiet", "--local"]).arg(&root).arg(folder))?;
        // Commits may be made while the first build runs.
        let checkout = ["checkout", "--quiet", "--detach", head.trim()];
        sh::run(Command::new("git").current_dir(folder).args(checkout))?;
        build(folder)?;
        let program = folder.join("target/release/gatehouse");
        let bytes = read(&program)?;
        let hash = HEXLOWER.encode(digest::digest(&digest::SHA256, &bytes).as_ref());
        println!("{hash}  {}", program.display());
        programs.push(bytes);
    }
    if programs.first() == programs.last() {
        // Two release builds need ten gigabytes.
        return fs::remove_dir_all(&work).map_err(|error| error.to_string());
    }
    let [first, second] = folders.map(|folder| folder.join("target/release/deps"));
    for library in fs::read_dir(first).map_err(|error| error.to_string())?.flatten() {
        let name = library.file_name();
        let is_library = Path::new(&name).extension().is_some_and(|extension| extension == "rlib");
        if is_library && fs::read(second.join(&name)).ok() != Some(read(&library.path())?) {
            println!("differs: {}", name.display());
        }
    }
    Err("the two builds differ".to_owned())
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Builds as `docs/security/supply-chain.md` says for a reproducible build: paths of the sources and of the package cache are
/// replaced, and the time of the commit stands for that of the build, so that they do not enter the program.
pub(crate) fn build(folder: &Path) -> Result<()> {
    let home = std::env::var_os("CARGO_HOME").map_or_else(
        || Path::new(&std::env::var_os("HOME").unwrap_or_default()).join(".cargo"),
        std::path::PathBuf::from,
    );
    let flags = format!(
        "--remap-path-prefix={}=/gatehouse --remap-path-prefix={}=/cargo",
        folder.display(),
        home.display()
    );
    let time = sh::output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(folder))?;
    let mut build = cargo();
    build.env("SOURCE_DATE_EPOCH", time.trim());
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
