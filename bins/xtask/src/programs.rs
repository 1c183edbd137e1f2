//! Programs of the workspace in packages of their own: `bench` and `chaos`.

use std::{env, ffi::OsStr, os::unix::process::CommandExt, process::Command};

use xtask::sh::{Result, cargo};

/// Prepares a command that builds and runs a package with these arguments, in the current directory.
pub(crate) fn command(package: &str, words: &[impl AsRef<OsStr>]) -> Result<Command> {
    let folder = env::current_dir().map_err(|error| error.to_string())?;
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", package, "--"]).args(words);
    command.current_dir(folder);
    Ok(command)
}

/// Replaces this process by the program, which then handles Ctrl-C and sets the exit status.
pub(crate) fn exec(package: &str, words: &[impl AsRef<OsStr>]) -> Result<()> {
    Err(format!("{package} does not start: {}", command(package, words)?.exec()))
}
