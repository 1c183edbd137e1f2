//! Runs other programs.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
};

/// The error is a sentence for the user.
pub type Result<T> = std::result::Result<T, String>;

/// Returns the root directory of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the path of a program of the workspace that the tests have built, or of the folder `examples`.
pub fn built(name: &str) -> PathBuf {
    root().join("target/debug").join(name)
}

/// Returns the directory of programs that run next to the server: third-party tools and their scripts.
pub fn peers() -> PathBuf {
    root().join("bins/gatehouse/tests/peers")
}

/// See [`check_lints`].
static CHECKS_LINTS: AtomicBool = AtomicBool::new(false);

/// Makes every later [`cargo`] compile the workspace with the compiler of clippy, which fails on warnings of both. `cargo clippy`
/// would type-check everything once more.
pub fn check_lints() {
    CHECKS_LINTS.store(true, Ordering::Relaxed);
}

/// Returns the `cargo` that runs this program.
pub fn cargo() -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root());
    // Remove variables that `cargo run` sets. Build scripts that watch them would rerun and rebuild all dependents.
    let ours = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(ours)) {
        command.env_remove(name);
    }
    if CHECKS_LINTS.load(Ordering::Relaxed) {
        command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
        // The arguments of the driver, each followed by this word, as `cargo clippy -- -Dwarnings` sets them.
        command.env("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__");
    }
    command
}

/// Returns whether a process with this id runs.
pub fn is_running(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

/// Runs a command to completion. The error names the command.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("{}: {error}", show(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{} failed: {status}", show(command))) }
}

/// Runs a command to completion and returns its output without trailing whitespace.
pub fn output(command: &mut Command) -> Result<String> {
    let done =
        command.stderr(Stdio::inherit()).output().map_err(|error| format!("{}: {error}", show(command)))?;
    if !done.status.success() {
        return Err(format!("{} failed: {}", show(command), done.status));
    }
    Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned())
}

/// Whether a program with this name is on the path.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn show(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let program = command.get_program().to_string_lossy().into_owned();
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}
