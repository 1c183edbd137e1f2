//! The packages of the library crates.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Map, Value};
use xtask::{
    sh::{self, Result, cargo},
    system,
};

use super::metadata::{self, text};

/// A library crate that others may use by itself.
pub(super) struct Library {
    pub(super) package: String,
    version: String,
    /// The oldest Rust that it supports.
    rust: String,
    features: Vec<String>,
}

/// Packages the crates together, because some depend on others, and then checks each package outside of the workspace.
pub(super) fn run(name: Option<&str>) -> Result<()> {
    system::install(&system::BUILD)?;
    let libraries = libraries()?;
    let mut package = cargo();
    package.args(["package", "--locked", "--allow-dirty", "--no-verify", "--quiet"]);
    for library in &libraries {
        package.args(["--package", &library.package]);
    }
    sh::run(&mut package)?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let work = root.join("target/packages");
    let _absent = fs::remove_dir_all(&work);
    for library in &libraries {
        let folder = format!("{}-{}", library.package, library.version);
        let archive = root.join("target/package").join(format!("{folder}.crate"));
        fs::create_dir_all(&work).map_err(|error| error.to_string())?;
        sh::run(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&work))?;
    }
    write_workspace(&work, &libraries)?;
    let chosen = |library: &&Library| name.is_none_or(|name| library.package == format!("gatehouse-{name}"));
    for library in libraries.iter().filter(chosen) {
        println!("== {} with Rust {}", library.package, library.rust);
        check(&work, library)?;
    }
    Ok(())
}

/// Returns the libraries with a prefix, which are made for others.
pub(super) fn libraries() -> Result<Vec<Library>> {
    let library = |package: &Value| Library {
        package: text(package, "name"),
        version: text(package, "version"),
        rust: text(package, "rust_version"),
        features: package
            .get("features")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
            .cloned()
            .collect(),
    };
    Ok(metadata::packages(&["--no-deps"])?
        .iter()
        .map(library)
        .filter(|library| library.package.starts_with("gatehouse-"))
        .collect())
}

/// Writes a workspace in which the unpacked packages use each other, as they would from a registry.
fn write_workspace(work: &Path, libraries: &[Library]) -> Result<()> {
    let folder = |library: &Library| format!("{}-{}", library.package, library.version);
    let members: Vec<_> = libraries.iter().map(|library| format!("\"{}\"", folder(library))).collect();
    let patches = libraries
        .iter()
        .map(|library| format!("{} = {{ path = \"{}\" }}\n", library.package, folder(library)));
    let patches: String = patches.collect();
    let text = format!(
        "[workspace]\nresolver = \"3\"\nmembers = [{}]\n\n[patch.crates-io]\n{patches}",
        members.join(", ")
    );
    fs::write(work.join("Cargo.toml"), text).map_err(|error| error.to_string())
}

/// Features whose dependencies need a newer Rust than the crates.
const NEWER: [&str; 2] = ["openapi", "gatehouse-events"];

/// Checks one package alone, so that no other crate lends it a feature: without features, and with all that the oldest
/// Rust supports.
fn check(work: &Path, library: &Library) -> Result<()> {
    let compiler = compiler(&library.rust)?;
    let features: Vec<_> =
        library.features.iter().filter(|name| !NEWER.contains(&name.as_str())).cloned().collect();
    for features in [String::new(), features.join(",")] {
        let mut check = cargo();
        check.current_dir(work).env("CARGO_TARGET_DIR", work.join("target"));
        // It would be the one of another version.
        check.env_remove("RUSTC_WORKSPACE_WRAPPER");
        if let Some(rustc) = &compiler {
            let libraries =
                rustc.with_file_name("../lib").join(format!("{}-linux-gnu", std::env::consts::ARCH));
            check.env("RUSTC", rustc).env("LD_LIBRARY_PATH", libraries);
        }
        check.args(["check", "--quiet", "--lib", "--no-default-features", "--features", &features]);
        sh::run(check.args(["--package", &library.package]))?;
    }
    Ok(())
}

/// Returns the `rustc` of a version, or nothing for the version of this workspace. It comes from Debian, because Debian keeps
/// one older version and nobody has to install a second toolchain.
fn compiler(version: &str) -> Result<Option<PathBuf>> {
    if sh::output(Command::new("rustc").arg("--version"))?.starts_with(&format!("rustc {version}.")) {
        return Ok(None);
    }
    let listed = sh::output(Command::new("apt-cache").args(["madison", "rustc", "rustc-web"]))?;
    let lines = listed.lines().map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let found = lines.into_iter().find_map(|parts| match parts[..] {
        [name, found, ..] if found.starts_with(&format!("{version}.")) => {
            Some((name.to_owned(), found.to_owned()))
        }
        _ => None,
    });
    let (name, found) = found.ok_or_else(|| format!("Debian has no package of Rust {version}"))?;
    system::install(&system::LLVM)?;
    let library = name.replace("rustc", "libstd-rust");
    let packages = [name.as_str(), &format!("{library}-dev"), &format!("{library}-{version}")];
    Ok(Some(system::unpacked(&packages, &found)?.join("usr/bin/rustc")))
}
