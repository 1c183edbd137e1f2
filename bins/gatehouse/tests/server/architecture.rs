//! Who may depend on whom, and what is deliberately absent.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

/// Crates with the rules of an area. They know none of ours but `kernel`.
const DOMAIN: [&str; 11] = [
    "directory",
    "tokens",
    "audit",
    "scim-core",
    "sessions",
    "credentials",
    "stepup",
    "netpolicy",
    "attestation",
    "webhooks",
    "saml-sp",
];
/// The crates on top of them, lowest first. Each may use the domain crates and those before it.
const ABOVE: [&str; 4] = ["sign-in", "store", "gate", "gatehouse"];

/// Our crates, and which of ours each may use. A crate that is not here fails the test: decide first.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut allowed = BTreeMap::from([("kernel", Vec::new()), ("xtask", Vec::new())]);
    allowed.extend(["bench", "chaos"].map(|name| (name, vec!["xtask"])));
    allowed.extend(DOMAIN.map(|name| (name, vec!["kernel"])));
    let mut below = [&["kernel"], &DOMAIN[..]].concat();
    for name in ABOVE {
        allowed.insert(name, below.clone());
        below.push(name);
    }
    allowed
}

/// What a domain crate's whole tree has none of.
const NEITHER_WEB_NOR_DATABASE: [&str; 6] =
    ["actix-web", "diesel", "diesel-async", "libsqlite3-sys", "tokio-postgres", "hyper"];

struct Metadata {
    /// By name: the direct dependencies, those of tests and builds aside.
    dependencies: BTreeMap<String, BTreeSet<String>>,
    ours: BTreeSet<String>,
}

fn metadata() -> Metadata {
    // Of this platform alone: the packages of others need not be here.
    let compiler = Command::new("rustc").arg("-vV").output().unwrap();
    let compiler = String::from_utf8(compiler.stdout).unwrap();
    let host = compiler.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let names: BTreeMap<String, String> = list(&metadata["packages"])
        .iter()
        .map(|package| (text(&package["id"]), text(&package["name"])))
        .collect();
    let dependencies = list(&metadata["resolve"]["nodes"]).into_iter().map(|node| {
        let normal =
            |dependency: &&Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let needs = list(&node["deps"])
            .iter()
            .filter(normal)
            .map(|dependency| names[&text(&dependency["pkg"])].clone())
            .collect();
        (names[&text(&node["id"])].clone(), needs)
    });
    let ours = list(&metadata["workspace_members"]).iter().map(|id| names[&text(id)].clone()).collect();
    Metadata { dependencies: dependencies.collect(), ours }
}

impl Metadata {
    fn tree(&self, root: &str) -> BTreeSet<String> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![root.to_owned()]);
        while let Some(name) = open.pop() {
            for dependency in &self.dependencies[&name] {
                if seen.insert(dependency.clone()) {
                    open.push(dependency.clone());
                }
            }
        }
        seen
    }
}

#[test]
fn dependencies_point_one_way() {
    let metadata = metadata();
    let allowed = allowed();
    let listed: BTreeSet<String> = allowed.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(metadata.ours, listed, "every crate has its place in this table");
    for (name, allowed) in allowed {
        let allowed: BTreeSet<String> = allowed.iter().map(|name| (*name).to_owned()).collect();
        let used: BTreeSet<String> =
            metadata.dependencies[name].intersection(&metadata.ours).cloned().collect();
        let beyond: Vec<_> = used.difference(&allowed).collect();
        assert!(beyond.is_empty(), "{name} must not use {beyond:?}");
    }
}

#[test]
fn domain_crates_know_neither_web_nor_database() {
    let metadata = metadata();
    for name in ["kernel", "directory", "tokens", "audit", "scim-core", "sessions", "credentials", "stepup"] {
        let tree = metadata.tree(name);
        for absent in NEITHER_WEB_NOR_DATABASE {
            assert!(!tree.contains(absent), "{name} reaches {absent}");
        }
    }
    // It is what sends: HTTP is its trade, and nothing else of these.
    let tree = metadata.tree("webhooks");
    for absent in &NEITHER_WEB_NOR_DATABASE[..5] {
        assert!(!tree.contains(*absent), "webhooks reaches {absent}");
    }
    // The names above are real: the test would notice them.
    let whole = metadata.tree("gatehouse");
    assert!(NEITHER_WEB_NOR_DATABASE[..5].iter().all(|name| whole.contains(*name)));
}

#[test]
fn who_verifies_webhooks_needs_nothing_of_a_server() {
    let listed = Command::new(env!("CARGO"))
        .args(["tree", "--package", "webhooks", "--no-default-features", "--edges", "normal", "--depth", "1"])
        .args(["--prefix", "none", "--format", "{p}", "--locked", "--offline"])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names: BTreeSet<_> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, BTreeSet::from(["webhooks", "data-encoding", "ring", "thiserror"]));
}

#[test]
fn only_store_knows_diesel() {
    let metadata = metadata();
    for name in &metadata.ours {
        let knows = metadata.dependencies[name].iter().any(|dependency| dependency.starts_with("diesel"));
        assert_eq!(knows, name == "store", "{name}");
    }
}

#[test]
fn unsafe_code_stands_in_two_files() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut folders = vec![root.join("crates"), root.join("bins")];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path).unwrap();
                // The crates deny it, so a file with it says so in its head.
                if text.lines().any(|line| line.starts_with("#![expect(") && line.contains("unsafe_code")) {
                    found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
    }
    let known = ["crates/saml-sp/src/signature/native.rs", "crates/store/src/sqlite/interrupt.rs"];
    assert_eq!(found, known.map(str::to_owned).into());
}

#[test]
fn no_dependency_brings_libpq_and_saml_alone_brings_openssl() {
    let metadata = metadata();
    let whole = metadata.tree("gatehouse");
    for absent in ["pq-sys", "native-tls", "aws-lc-sys"] {
        assert!(!whole.contains(absent), "{absent}");
    }
    // libxmlsec1 stands on it.
    let brings: Vec<_> =
        metadata.ours.iter().filter(|name| metadata.tree(name).contains("openssl-sys")).collect();
    assert_eq!(brings, ["gate", "gatehouse", "saml-sp", "store"]);
}
