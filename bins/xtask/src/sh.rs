//! Running other programs.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// A sentence for the one who ran us.
pub type Result<T> = std::result::Result<T, String>;

/// The folder of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of programs that run beside the server: made by others, or using what others made.
pub fn peers() -> PathBuf {
    root().join("bins/gatehouse/tests/peers")
}

/// The `cargo` that runs us.
pub fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root());
    // What `cargo run` says about us would be another environment to build scripts that watch theirs: they, and all
    // that is built on them, would be built once more.
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    command
}

/// Runs to the end and says which command failed.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("{}: {error}", show(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", show(command))) }
}

/// Runs to the end and gives what it printed, without the last line feed.
pub fn output(command: &mut Command) -> Result<String> {
    let done =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("{}: {error}", show(command)))?;
    if !done.status.success() {
        return Err(format!("{} failed: {}", show(command), done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
}

/// Whether a program of this name is on the path.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn show(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let program = command.get_program().to_string_lossy().into_owned();
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}
