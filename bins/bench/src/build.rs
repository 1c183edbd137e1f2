//! Release builds of the programs that benchmarks measure.

use std::path::PathBuf;

use xtask::sh::{self, Result, cargo};

/// Names another build of the server, to compare it with this one.
const PROGRAM: &str = "BENCH_PROGRAM";

/// Builds the server, unless `BENCH_PROGRAM` names another build. Returns its path.
pub(crate) fn gatehouse() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os(PROGRAM) {
        return Ok(program.into());
    }
    build("gatehouse", &[])?;
    Ok(release().join("gatehouse"))
}

/// Builds an example and returns its path.
pub(crate) fn example(package: &str, name: &str) -> Result<PathBuf> {
    build(package, &["--example", name])?;
    Ok(release().join("examples").join(name))
}

fn build(package: &str, target: &[&str]) -> Result<()> {
    sh::run(cargo().args(["build", "--locked", "--release", "--package", package]).args(target))
}

fn release() -> PathBuf {
    sh::root().join("target/release")
}
