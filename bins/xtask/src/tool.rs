//! Tools from the Rust package index, pinned and built once into `target/tools`.

use std::path::PathBuf;

use xtask::sh::{self, Result, cargo};

/// Returns the program of a tool, which is named like its package.
pub(crate) fn program(package: &str, version: &str) -> Result<PathBuf> {
    let root = sh::root().join(format!("target/tools/{package}-{version}"));
    let program = root.join("bin").join(package);
    if !program.is_file() {
        let mut install = cargo();
        install.args(["install", "--quiet", "--locked", "--version", version, "--root"]).arg(&root);
        // Not the target directory of the workspace: its settings would rebuild the workspace.
        install.arg("--target-dir").arg(sh::root().join("target/tools/build")).arg(package);
        sh::run(&mut install)?;
    }
    Ok(program)
}
