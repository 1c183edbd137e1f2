//! Unsafe code under Valgrind.

use std::process::Command;

use serde_json::Value;
use xtask::{
    sh::{self, Result, cargo},
    system,
};

/// The tests that reach unsafe code: `crates/saml-sp/src/signature/native.rs` calls libxmlsec1, and
/// `crates/store/src/sqlite/interrupt.rs` interrupts SQLite. Each is a package and a filter of its tests.
const TESTS: [(&str, &str); 2] = [("gatehouse-saml-sp", "signature"), ("store", "sqlite")];

/// Runs the unit tests that call C libraries. Reads and writes outside of an allocation, and of freed memory, fail.
pub(super) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    system::install(&system::VALGRIND)?;
    for (package, filter) in TESTS {
        for program in programs(package)? {
            println!("== {package} {filter}");
            let mut valgrind = Command::new("valgrind");
            valgrind.args(["--quiet", "--error-exitcode=9", "--undef-value-errors=no", "--leak-check=no"]);
            sh::run(valgrind.arg(program).args([filter, "--test-threads=1"]))?;
        }
    }
    Ok(())
}

/// Builds the unit tests of a package and returns their programs.
fn programs(package: &str) -> Result<Vec<String>> {
    let mut build = cargo();
    build.args(["test", "--locked", "--no-run", "--lib", "--message-format", "json", "--package", package]);
    let messages = sh::output(&mut build)?;
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |message: Value| {
        let is_test = message.pointer("/profile/test") == Some(&Value::Bool(true));
        message.get("executable").and_then(Value::as_str).filter(|_| is_test).map(str::to_owned)
    };
    Ok(messages.filter_map(program).collect())
}
