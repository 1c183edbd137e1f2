//! Runs libFuzzer on stable Rust. The coverage instrumentation is an LLVM pass, enabled by flags that do not require
//! a nightly compiler.

use xtask::sh::{self, Result, cargo};

const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 -Cdebug-assertions";

/// The fuzz targets, as listed in the `fuzz/Cargo.toml` of the crates.
pub(crate) const TARGETS: [&str; 20] = [
    "filter",
    "path",
    "patch",
    "token",
    "cidr",
    "proxies",
    "mds",
    "response",
    "metadata",
    "logout",
    "id_token",
    "claims",
    "cosigned",
    "policy",
    "add_checkpoint",
    "export",
    "stream",
    "cookie",
    "set",
    "set_claims",
];

/// Fuzzes a target, or `all` targets one after the other.
pub(crate) fn chosen(target: &str, seconds: u32, keep: bool) -> Result<()> {
    if target != "all" {
        return run(target, seconds, keep);
    }
    let failed: Vec<_> = TARGETS.into_iter().filter(|target| run(target, seconds, keep).is_err()).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failing input was found for {}", failed.join(", "))) }
}

/// Fuzzes a target for some seconds. libFuzzer prints where it writes failing input. New input goes to `target/fuzz` and stays
/// there for the next run. `keep` merges what reaches more code into the corpus that is committed.
fn run(target: &str, seconds: u32, keep: bool) -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let package = match target {
        "token" => "stepup",
        "cidr" | "proxies" => "netpolicy",
        "mds" => "attestation",
        "response" | "metadata" | "logout" => "saml-sp",
        "id_token" | "claims" => "oidc-rp",
        "cosigned" | "policy" | "add_checkpoint" | "export" | "stream" => "audit",
        "cookie" => "sessions",
        "set" | "set_claims" => "signals",
        _ => "scim-core",
    };
    let folder = root.join("crates").join(package).join("fuzz");
    let found = root.join("target/fuzz").join(target);
    std::fs::create_dir_all(&found).map_err(|error| error.to_string())?;
    let corpus = folder.join("corpus").join(target);
    let fuzzer = || -> Result<std::process::Command> {
        let mut command = cargo();
        command
            .current_dir(&folder)
            .env("RUSTFLAGS", COVERAGE)
            .env("CARGO_TARGET_DIR", root.join("target/fuzz/build"))
            // An explicit `--target` keeps build scripts and procedural macros free of these flags.
            .args(["run", "--release", "--target", &host()?, "--bin", target, "--"]);
        Ok(command)
    };
    let mut fuzz = fuzzer()?;
    fuzz.arg(&found).arg(&corpus).arg(format!("-max_total_time={seconds}"));
    sh::run(fuzz.args(["-timeout=5", "-max_len=65536"]))?;
    if keep {
        sh::run(fuzzer()?.arg("-merge=1").arg(&corpus).arg(&found))?;
    }
    Ok(())
}

/// Returns the compiler's target triple for this machine.
fn host() -> Result<String> {
    let output = sh::output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = output.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| format!("rustc does not name its host: {output}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_target_of_the_crates_is_listed() {
        let mut found = BTreeSet::new();
        for package in std::fs::read_dir(sh::root().join("crates")).unwrap().flatten() {
            let Ok(files) = std::fs::read_dir(package.path().join("fuzz/fuzz_targets")) else { continue };
            found.extend(
                files.flatten().map(|file| file.path().file_stem().unwrap().to_str().unwrap().to_owned()),
            );
        }
        assert_eq!(found, TARGETS.map(str::to_owned).into());
    }
}
