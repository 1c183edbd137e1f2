//! Packages and images of the server, and checks of the files in `bins/gatehouse/ship`.

mod deb;
mod image;
mod manifests;

use std::{path::PathBuf, process::Command as Process};

use clap::Subcommand;
use xtask::sh::{self, Result};

use crate::supply::reproducible_build;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build the Debian package into target/debian, install it into an empty Debian and use it
    Deb,
    /// Collect the files of the container image into target/ship/rootfs, and run the server from them alone
    Image,
    /// Check the systemd unit and the Kubernetes manifests
    Manifests,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Deb => deb::run(),
        Command::Image => image::run(),
        Command::Manifests => manifests::run(),
    }
}

/// Builds the server as it is shipped, reproducibly, and returns the program.
fn release() -> Result<PathBuf> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    reproducible_build(&root)?;
    Ok(root.join("target/release/gatehouse"))
}

/// Returns the directory of the shipped files.
fn shipped() -> Result<PathBuf> {
    sh::root().join("bins/gatehouse/ship").canonicalize().map_err(|error| error.to_string())
}

/// Runs a program to completion, and fails with its name.
fn call(program: &str, arguments: &[&str]) -> Result<()> {
    sh::run(Process::new(program).args(arguments))
}
