//! Checks of the supply chain: dependencies, bill of materials, reproducible builds, unsafe code and packages.

mod deny;
mod memory;
mod metadata;
mod packages;
mod reproduce;
mod sbom;
mod semver;

use clap::Subcommand;
use xtask::sh::Result;

pub(crate) use reproduce::build as reproducible_build;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check licenses, sources, bans and duplicates of all dependencies against deny.toml
    Deny {
        /// Also check for known vulnerabilities. Downloads the RustSec advisory database
        #[arg(long)]
        advisories: bool,
    },
    /// Write the bill of materials (CycloneDX 1.5) to target/sbom/gatehouse.cdx.json
    Sbom,
    /// Build the release twice in different directories, and compare the programs
    Reproduce,
    /// Run the tests of unsafe code under Valgrind
    Memory,
    /// Compare the public API of each library crate with the last tag, by the rules of semantic versioning
    Semver,
    /// Package each library crate, and build the package alone with the oldest Rust it supports
    Packages {
        /// Check one crate only, such as `stepup`
        name: Option<String>,
    },
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Deny { advisories } => deny::run(*advisories),
        Command::Sbom => sbom::run(),
        Command::Reproduce => reproduce::run(),
        Command::Memory => memory::run(),
        Command::Semver => semver::run(),
        Command::Packages { name } => packages::run(name.as_deref()),
    }
}
