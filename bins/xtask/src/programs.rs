//! Programs of the workspace that have a package of their own: `bench` and `chaos`.

use std::{env, ffi::OsStr, os::unix::process::CommandExt, process::Command};

use xtask::sh::{Result, cargo};

/// Builds one if it is not, and runs it with these words in the folder where we were started.
pub(crate) fn command(package: &str, words: &[impl AsRef<OsStr>]) -> Result<Command> {
    let folder = env::current_dir().map_err(|error| error.to_string())?;
    let mut command = cargo();
    command.args(["run", "--quiet", "--package", package, "--"]).args(words);
    command.current_dir(folder);
    Ok(command)
}

/// The same in place of this process: Ctrl-C and the exit status are its own.
pub(crate) fn exec(package: &str, words: &[impl AsRef<OsStr>]) -> Result<()> {
    Err(format!("{package} does not start: {}", command(package, words)?.exec()))
}
