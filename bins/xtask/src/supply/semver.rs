//! Changes of the libraries' public API.

use std::process::Command;

use xtask::{
    sh::{self, Result},
    system,
};

use super::packages::libraries;
use crate::tool;

/// Compares each library with the last tag. A change that needs a higher version than the manifest names fails.
pub(super) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    let tag = Command::new("git").current_dir(sh::root()).args(["describe", "--tags", "--abbrev=0"]).output();
    let tag = tag.map_err(|error| error.to_string())?;
    if !tag.status.success() {
        return Err("there is no tag yet to compare with".to_owned());
    }
    let tag = String::from_utf8_lossy(&tag.stdout).trim().to_owned();
    let mut check = Command::new(tool::program("cargo-semver-checks", "0.51.0")?);
    check.current_dir(sh::root()).args(["semver-checks", "--baseline-rev", &tag]);
    for library in libraries()? {
        check.args(["--package", &library.package]);
    }
    sh::run(&mut check)
}
