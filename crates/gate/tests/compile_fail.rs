//! Attempts to bypass access checks must not compile.
//!
//! The compiler checks each file of `tests/ui` against the libraries built for this test, so nothing is built twice.
//! A line that must fail ends in `//~` and the error's code; a file without such a line must compile.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The crates that the files use besides the standard library.
const LIBRARIES: [&str; 8] =
    ["gate", "audit", "kernel", "scim_core", "actix_web", "store", "directory", "credentials"];

/// Finds the libraries built for this test. With other features their types would differ, so if the tests are built
/// with other arguments, `CARGO_TEST_ARGUMENTS` must contain them.
#[expect(clippy::disallowed_methods, reason = "not a setting of the server")]
fn libraries() -> BTreeMap<String, PathBuf> {
    let arguments = std::env::var("CARGO_TEST_ARGUMENTS").unwrap_or_else(|_| "--package gate".to_owned());
    let mut cargo = Command::new(env!("CARGO"));
    // Cargo's variables for this test would trigger rebuilds of crates that read them with `env!`.
    for (name, _) in std::env::vars().filter(|(name, _)| is_of_package(name)) {
        cargo.env_remove(name);
    }
    let built = cargo
        .args(["test", "--no-run", "--offline", "--locked", "--message-format", "json"])
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let messages = String::from_utf8(built.stdout).unwrap();
    let messages = messages.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let is_library = |message: &Value| {
        message["reason"] == "compiler-artifact"
            && message["profile"]["test"] == false
            && message["target"]["kind"] == serde_json::json!(["lib"])
    };
    let name = |message: &Value| message["target"]["name"].as_str().unwrap().replace('-', "_");
    let rlib = |message: &Value| {
        let files = message["filenames"].as_array().unwrap().iter().filter_map(Value::as_str);
        files.map(PathBuf::from).find(|file| file.extension().is_some_and(|extension| extension == "rlib"))
    };
    messages.filter(is_library).filter_map(|message| Some((name(&message), rlib(&message)?))).collect()
}

fn is_of_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"]
        .iter()
        .any(|prefix| variable.starts_with(prefix))
}

/// Compiles a file and returns the line and code of each error.
fn errors(file: &Path, libraries: &BTreeMap<String, PathBuf>, out: &Path) -> Vec<(usize, String)> {
    let mut compiler = Command::new("rustc");
    compiler.args([
        "--edition",
        "2024",
        "--crate-type",
        "bin",
        "--emit",
        "metadata",
        "--error-format",
        "json",
    ]);
    compiler.args(["--cap-lints", "allow"]).arg("--out-dir").arg(out).arg(file);
    for name in LIBRARIES {
        let library = libraries.get(name).unwrap_or_else(|| panic!("{name} was not built"));
        compiler.arg("--extern").arg(format!("{name}={}", library.display()));
        compiler.arg("-L").arg(format!("dependency={}", library.parent().unwrap().display()));
    }
    let output = compiler.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let messages = stderr.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let error = |message: Value| {
        let code = message["code"]["code"].as_str()?.to_owned();
        let spans = message["spans"].as_array()?;
        let span = spans.iter().find(|span| span["is_primary"] == true)?;
        Some((usize::try_from(span["line_start"].as_u64()?).ok()?, code))
    };
    messages.filter(|message| message["level"] == "error").filter_map(error).collect()
}

/// Returns the errors that a file expects.
fn expected(file: &Path) -> Vec<(usize, String)> {
    let text = std::fs::read_to_string(file).unwrap();
    let error = |(index, line): (usize, &str)| Some((index + 1, line.split_once("//~ ")?.1.to_owned()));
    text.lines().enumerate().filter_map(error).collect()
}

#[test]
fn access_checks_cannot_be_bypassed() {
    let libraries = libraries();
    let out = tempfile::tempdir().unwrap();
    let cases = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui")).unwrap();
    let mut compiled = 0;
    for case in cases {
        let file = case.unwrap().path();
        let expected = expected(&file);
        compiled += usize::from(expected.is_empty());
        assert_eq!(errors(&file, &libraries, out.path()), expected, "{}", file.display());
    }
    assert_eq!(compiled, 1, "one file is correct and compiles");
}
