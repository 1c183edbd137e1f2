//! Debian packages: what is missing is installed, and said.

use std::{path::PathBuf, process::Command};

use crate::sh::{self, Result};

/// A package, and how to see that it is there.
pub(crate) struct Package {
    name: &'static str,
    there: fn() -> bool,
}

/// What the build needs: a C compiler for SQLite and ring.
pub(crate) const BUILD: [Package; 1] = [Package { name: "gcc libc6-dev", there: || sh::has("cc") }];

/// What the tests need beside it.
pub(crate) const TEST: [Package; 5] = [
    Package { name: "postgresql", there: || postgres_bin().is_ok() },
    Package { name: "procps", there: || sh::has("kill") },
    Package { name: "sqlite3", there: || sh::has("sqlite3") },
    Package { name: "openssl", there: || sh::has("openssl") },
    Package { name: "curl", there: || sh::has("curl") },
];

/// What tools from the Python package index need.
pub(crate) const PYTHON: [Package; 1] = [Package { name: "python3-venv", there: has_venv }];

/// What looks at the pages.
pub(crate) const BROWSER: [Package; 1] = [Package { name: "chromium", there: || sh::has("chromium") }];

/// What tools from npm need.
pub(crate) const NODE: [Package; 2] = [
    Package { name: "nodejs", there: || sh::has("node") },
    Package { name: "npm", there: || sh::has("npm") },
];

fn has_venv() -> bool {
    let mut python = Command::new("python3");
    let asked = python.args(["-c", "import venv, ensurepip"]).stderr(std::process::Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Installs what is missing.
pub(crate) fn install(packages: &[Package]) -> Result<()> {
    let missing: Vec<_> = packages.iter().filter(|package| !(package.there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().flat_map(|package| package.name.split(' ')).collect();
    let line = format!("apt-get install -y --no-install-recommends {}", names.join(" "));
    let root = sh::output(Command::new("id").arg("-u"))? == "0";
    if !root || !sh::has("apt-get") {
        return Err(format!("missing: {}. As root on Debian: {line}", names.join(", ")));
    }
    println!("installing {}", names.join(", "));
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command
            .args(["-q", "-o", "Acquire::Retries=3"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive");
        sh::run(&mut command)
    };
    apt(&["update"])?;
    apt(&[&["install", "-y", "--no-install-recommends"][..], &names[..]].concat())?;
    match missing.iter().find(|package| !(package.there)()) {
        Some(package) => Err(format!("{} was installed and still cannot be found", package.name)),
        None => Ok(()),
    }
}

/// The folder with `initdb` and `postgres`, of the newest version installed.
pub(crate) fn postgres_bin() -> Result<PathBuf> {
    let missing = || String::from("no PostgreSQL server: apt-get install postgresql");
    let versions = std::fs::read_dir("/usr/lib/postgresql").map_err(|_| missing())?;
    let mut folders: Vec<_> = versions
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("postgres").is_file() && bin.join("initdb").is_file())
        .collect();
    folders.sort_by_key(|bin| {
        let version = bin
            .parent()
            .and_then(|folder| folder.file_name())
            .map(|name| name.to_string_lossy().into_owned());
        version.and_then(|version| version.parse::<u32>().ok())
    });
    folders.pop().ok_or_else(missing)
}
