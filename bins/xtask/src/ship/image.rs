//! The files of the container image.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
};

use xtask::{
    sh::{self, Result},
    system,
};

use super::{call, release, shipped};

/// The largest image that is shipped, compressed, in bytes.
const MAX_BYTES: u64 = 60_000_000;

/// Ends the server when it goes out of scope.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ended = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Runs the script that the container file runs, and then the server from its result: without any other file, as a user
/// without rights, on a file system of which only the data directory is writable.
pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    let program = release()?;
    let work = sh::root().canonicalize().map_err(|error| error.to_string())?.join("target/ship");
    let root = work.join("rootfs");
    let _absent = fs::remove_dir_all(&root);
    sh::run(Command::new(shipped()?.join("container/rootfs.sh")).arg(&program).arg(&root))?;

    let archive = work.join("rootfs.tar.gz");
    let text = |path: &Path| path.display().to_string();
    call("tar", &["-C", &text(&root), "--sort=name", "-czf", &text(&archive), "."])?;
    let bytes = fs::metadata(&archive).map_err(|error| error.to_string())?.len();
    println!("the image has {} MB compressed", bytes / 1_000_000);
    if bytes > MAX_BYTES {
        return Err(format!("the image has {bytes} bytes compressed, more than {MAX_BYTES}"));
    }
    serve(&root)
}

/// Starts the server in the image's files with a read-only root, as `podman run --read-only` does, and asks whether it is ready.
fn serve(root: &Path) -> Result<()> {
    // A mount namespace of its own: the bind mount is gone when the server ends.
    let script = r#"
        set -e
        mount --bind "$0" "$0"
        mount -o remount,ro,bind "$0"
        mount -t tmpfs -o uid=10001,gid=10001,mode=700 tmpfs "$0/var/lib/gatehouse"
        exec chroot --userspec=10001:10001 "$0" /usr/bin/gatehouse serve
    "#;
    let mut server = Command::new("unshare");
    server.args(["--mount", "sh", "-c", script]).arg(root).stdout(Stdio::piped()).process_group(0);
    server.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    server.env("GATEHOUSE_BIND", "127.0.0.1:0").env("GATEHOUSE_DATA_DIR", "/var/lib/gatehouse");
    server.env("GATEHOUSE_BASE_URL", "http://localhost:8080");
    let mut running = Running(server.spawn().map_err(|error| error.to_string())?);
    let output = running.0.stdout.take().ok_or("the server has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
    let address =
        line.trim().strip_prefix("listening on ").ok_or(format!("the server did not start: {line:?}"))?;
    let ready = sh::output(Command::new("curl").args([
        "-sS",
        "--fail",
        "--noproxy",
        "*",
        &format!("{address}/readyz"),
    ]))?;
    println!("{ready}");
    Ok(())
}
