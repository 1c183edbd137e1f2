//! Runs libFuzzer on stable Rust. The coverage instrumentation is an LLVM pass, enabled by flags that do not require
//! a nightly compiler.

use xtask::sh::{self, Result, cargo};

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions";

/// The fuzz targets, as listed in the `fuzz/Cargo.toml` of the crates.
pub(crate) const TARGETS: [&str; 16] = [
    "filter",
    "path",
    "patch",
    "token",
    "cidr",
    "proxies",
    "mds",
    "response",
    "metadata",
    "id_token",
    "claims",
    "cosigned",
    "policy",
    "add_checkpoint",
    "set",
    "set_claims",
];

/// Fuzzes a target for some seconds. libFuzzer prints where it writes failing input. New input goes to `target/fuzz`,
/// not to the committed corpus.
pub(crate) fn run(target: &str, seconds: u32) -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let package = match target {
        "token" => "stepup",
        "cidr" | "proxies" => "netpolicy",
        "mds" => "attestation",
        "response" | "metadata" | "logout" => "saml-sp",
        "id_token" | "claims" => "oidc-rp",
        "cosigned" | "policy" | "add_checkpoint" => "audit",
        "set" | "set_claims" => "signals",
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
        // An explicit `--target` keeps build scripts and procedural macros free of these flags.
        .args(["run", "--release", "--target", &host()?, "--bin", target, "--"])
        .arg(&found)
        .arg(folder.join("corpus").join(target))
        .arg(format!("-max_total_time={seconds}"))
        .args(["-timeout=5", "-max_len=65536"]);
    sh::run(&mut command)
}

/// Returns the compiler's target triple for this machine.
fn host() -> Result<String> {
    let output = sh::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc does not name its host: {output}"))
}
