//! Licenses, sources, bans and duplicates.

use std::process::Command;

use xtask::sh::{self, Result};

use crate::tool;

pub(super) fn run(advisories: bool) -> Result<()> {
    let mut deny = Command::new(tool::program("cargo-deny", "0.20.2")?);
    deny.current_dir(sh::root()).args(["--all-features", "check", "--hide-inclusion-graph"]);
    deny.args(["licenses", "bans", "sources"]);
    if advisories {
        deny.arg("advisories");
    }
    sh::run(&mut deny)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn read(name: &str) -> toml::Table {
        std::fs::read_to_string(sh::root().join(name)).unwrap().parse().unwrap()
    }

    /// Runs without the tool, so that each test run notices a new duplicate.
    #[test]
    fn exceptions_name_packages_that_exist_twice_and_a_reason() {
        let (lock, rules) = (read("Cargo.lock"), read("deny.toml"));
        let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for package in lock["package"].as_array().unwrap() {
            let text = |name: &str| package[name].as_str().unwrap();
            versions.entry(text("name")).or_default().push(text("version"));
        }
        for skipped in rules["bans"]["skip"].as_array().unwrap() {
            let (name, version) = skipped["crate"].as_str().unwrap().split_once('@').unwrap();
            let found = &versions[name];
            assert!(found.len() > 1, "{name} exists once; remove its exception");
            let plain = |found: &&str| found.split('+').next() == Some(version);
            assert!(found.iter().any(plain), "{name} {version} is gone");
            assert!(!skipped["reason"].as_str().unwrap().is_empty(), "{name}");
        }
    }

    #[test]
    fn packages_come_from_the_registry() {
        let lock = read("Cargo.lock");
        for package in lock["package"].as_array().unwrap() {
            if let Some(source) = package.get("source").and_then(toml::Value::as_str) {
                assert!(source.starts_with("registry+"), "{} comes from {source}", package["name"]);
                assert!(package.get("checksum").is_some(), "{}", package["name"]);
            }
        }
    }
}
