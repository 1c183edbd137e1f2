//! What Cargo says about packages.

use serde_json::Value;
use xtask::sh::{self, Result, cargo};

/// Returns the packages in the answer of `cargo metadata` with these options.
pub(super) fn packages(options: &[&str]) -> Result<Vec<Value>> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1", "--locked"]).args(options);
    let answer: Value =
        serde_json::from_str(&sh::output(&mut command)?).map_err(|error| error.to_string())?;
    let packages = answer.get("packages").and_then(Value::as_array);
    Ok(packages.ok_or("cargo metadata names no packages")?.clone())
}

/// Returns a member of a package that is text; empty if it is missing.
pub(super) fn text(package: &Value, name: &str) -> String {
    package.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}
