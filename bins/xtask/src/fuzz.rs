//! libFuzzer on stable Rust: the coverage that it wants is a pass of LLVM, asked for by flags that are not
//! tied to a nightly compiler.

use xtask::sh::{self, Result, cargo};

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions";

/// What can be fed; the crates' `fuzz/Cargo.toml` list the same.
pub(crate) const TARGETS: [&str; 9] =
    ["filter", "path", "patch", "token", "cidr", "proxies", "mds", "response", "metadata"];

/// Feeds a target for some seconds. What it finds is left in the folder it names; new input goes to
/// `target/fuzz`, not into the corpus that is checked in.
pub(crate) fn run(target: &str, seconds: u32) -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let package = match target {
        "token" => "stepup",
        "cidr" | "proxies" => "netpolicy",
        "mds" => "attestation",
        "response" | "metadata" => "saml-sp",
        _ => "scim-core",
    };
    let folder = root.join("crates").join(package).join("fuzz");
    let found = root.join("target/fuzz").join(target);
    std::fs::create_dir_all(&found).map_err(|error| error.to_string())?;
    let mut command = cargo();
    command
        .current_dir(&folder)
        .env("RUSTFLAGS", COVERAGE)
        .env("CARGO_TARGET_DIR", root.join("target/fuzz/build"))
        // With a target of its own, programs that run while building are built without the flags.
        .args(["run", "--release", "--target", &host()?, "--bin", target, "--"])
        .arg(&found)
        .arg(folder.join("corpus").join(target))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=5", "-max_len=65536"]);
    sh::run(&mut command)
}

/// The name that the compiler has for this machine.
fn host() -> Result<String> {
    let said = sh::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc does not name its host: {said}"))
}
