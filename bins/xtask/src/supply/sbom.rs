//! The bill of materials.

use std::{fs, path::Path, process::Command};

use serde_json::{Value, json};
use xtask::{
    sh::{self, Result},
    system,
};

use super::metadata::{packages, text};
use crate::tool;

/// The C libraries that the server links, as pkg-config knows them, with their SPDX licenses.
const LINKED: [(&str, &str, &str); 3] = [
    ("xmlsec1", "libxmlsec1", "MIT"),
    ("libxml-2.0", "libxml2", "MIT"),
    ("openssl", "openssl", "Apache-2.0"),
];

pub(super) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let mut list = Command::new(tool::program("cargo-cyclonedx", "0.5.9")?);
    list.current_dir(&root).args(["cyclonedx", "--manifest-path", "bins/gatehouse/Cargo.toml"]);
    list.args(["--format", "json", "--spec-version", "1.5", "--describe", "binaries", "--no-build-deps"]);
    list.args(["--features", "otlp", "--quiet"]);
    // The time of the commit instead of the time of this run, so that the same commit has the same bill.
    list.env("SOURCE_DATE_EPOCH", sh::output(Command::new("git").args(["log", "-1", "--format=%ct"]))?);
    sh::run(&mut list)?;

    let written = root.join("bins/gatehouse/gatehouse_bin.cdx.json");
    let text = fs::read_to_string(&written).map_err(|error| format!("{}: {error}", written.display()))?;
    // The tool writes one bill for each program of the workspace, into the sources.
    for program in ["gatehouse", "bench", "chaos", "xtask"] {
        let _absent = fs::remove_file(root.join(format!("bins/{program}/{program}_bin.cdx.json")));
    }
    let bill = complete(&text, &root)?;
    let folder = root.join("target/sbom");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let path = folder.join("gatehouse.cdx.json");
    fs::write(&path, bill.to_string()).map_err(|error| error.to_string())?;
    let count = bill.get("components").and_then(Value::as_array).map_or(0, Vec::len);
    println!("{}: {count} components", path.display());
    Ok(())
}

/// Removes the paths of this machine, and adds the C libraries.
fn complete(text: &str, root: &Path) -> Result<Value> {
    let text = text.replace(&format!("path+file://{}", root.display()), "path+file://.");
    let mut bill: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let components = bill.get_mut("components").and_then(Value::as_array_mut);
    let components = components.ok_or("the bill of materials has no components")?;
    for (module, name, license) in LINKED {
        let version = sh::output(Command::new("pkg-config").args(["--modversion", module]))?;
        components.push(library(name, &version, license));
    }
    components.push(library("sqlite", &sqlite_version()?, "blessing"));
    Ok(bill)
}

fn library(name: &str, version: &str, license: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": format!("pkg:generic/{name}@{version}"),
        "name": name,
        "version": version,
        "scope": "required",
        "licenses": [{ "license": { "id": license } }],
        "purl": format!("pkg:generic/{name}@{version}"),
    })
}

/// Returns the version of the SQLite that is compiled into the server.
fn sqlite_version() -> Result<String> {
    let packages = packages(&[])?;
    let package = packages.iter().find(|package| text(package, "name") == "libsqlite3-sys");
    let manifest = text(package.ok_or("libsqlite3-sys is not a dependency")?, "manifest_path");
    let header = Path::new(&manifest).with_file_name("sqlite3").join("sqlite3.h");
    let header = fs::read_to_string(&header).map_err(|error| format!("{}: {error}", header.display()))?;
    let version = header.lines().find_map(|line| line.strip_prefix("#define SQLITE_VERSION "));
    Ok(version.ok_or("sqlite3.h names no version")?.trim().trim_matches('"').to_owned())
}
