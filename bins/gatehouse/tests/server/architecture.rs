//! Dependencies between crates, and dependencies that are deliberately absent.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

use crate::support::files_below;

/// Domain crates: the rules of an area. Of our crates they may use only `kernel`.
const DOMAIN: [&str; 12] = [
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
    "oidc-rp",
];
/// The crates above them, lowest first. Each may use the domain crates and those before it.
const ABOVE: [&str; 6] = ["sign-in", "log-streams", "signals", "store", "gate", "gatehouse"];

/// Lists our crates, and which of ours each may use. A new crate fails the test until it is listed here.
fn allowed() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut allowed = BTreeMap::from([("kernel", Vec::new()), ("xtask", Vec::new())]);
    allowed.extend([
        ("bench", vec!["xtask"]),
        // Of the product, chaos uses the generator of random numbers for tests only.
        ("chaos", vec!["kernel", "test-providers", "xtask"]),
        ("test-providers", vec!["kernel", "oidc-rp", "saml-sp"]),
    ]);
    allowed.extend(DOMAIN.map(|name| (name, vec!["kernel"])));
    let mut below = [&["kernel"], &DOMAIN[..]].concat();
    for name in ABOVE {
        allowed.insert(name, below.clone());
        below.push(name);
    }
    allowed
}

/// Packages that no domain crate may depend on, even indirectly.
const NEITHER_WEB_NOR_DATABASE: [&str; 6] =
    ["actix-web", "diesel", "diesel-async", "libsqlite3-sys", "tokio-postgres", "hyper"];

struct Metadata {
    /// Direct dependencies by crate name, without those of tests and builds.
    dependencies: BTreeMap<String, BTreeSet<String>>,
    ours: BTreeSet<String>,
}

fn metadata() -> Metadata {
    // Only for this platform: packages of other platforms may not be downloaded.
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
        .map(|package| (text(&package["id"]), library(&text(&package["name"])).to_owned()))
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

/// Returns the name that code uses: our packages are published with a prefix, because some of their names are taken.
fn library(package: &str) -> &str {
    package.strip_prefix("gatehouse-").unwrap_or(package)
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
fn domain_crates_depend_on_neither_web_nor_database() {
    let metadata = metadata();
    for name in ["kernel", "directory", "tokens", "audit", "scim-core", "sessions", "credentials", "stepup"] {
        let tree = metadata.tree(name);
        for absent in NEITHER_WEB_NOR_DATABASE {
            assert!(!tree.contains(absent), "{name} reaches {absent}");
        }
    }
    // This crate sends webhooks, so it may use HTTP, and none of the others.
    let tree = metadata.tree("webhooks");
    for absent in &NEITHER_WEB_NOR_DATABASE[..5] {
        assert!(!tree.contains(*absent), "webhooks reaches {absent}");
    }
    // The names above are real: the binary depends on them.
    let whole = metadata.tree("gatehouse");
    assert!(NEITHER_WEB_NOR_DATABASE[..5].iter().all(|name| whole.contains(*name)));
}

#[test]
fn webhook_verifier_has_no_server_dependencies() {
    let listed = Command::new(env!("CARGO"))
        .args(["tree", "--package", "gatehouse-webhooks", "--no-default-features", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}", "--locked", "--offline"])
        .output()
        .unwrap();
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let listed = String::from_utf8(listed.stdout).unwrap();
    let names: BTreeSet<_> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
    let (direct, of_ring) = (
        ["gatehouse-webhooks", "data-encoding", "http", "ring"],
        ["cfg-if", "getrandom", "libc", "untrusted"],
    );
    let of_http = ["bytes", "itoa"];
    assert_eq!(names, direct.into_iter().chain(of_ring).chain(of_http).collect());
}

#[test]
fn only_store_depends_on_diesel() {
    let metadata = metadata();
    for name in &metadata.ours {
        let knows = metadata.dependencies[name].iter().any(|dependency| dependency.starts_with("diesel"));
        assert_eq!(knows, name == "store", "{name}");
    }
}

#[test]
fn unsafe_code_is_in_two_files() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut found = BTreeSet::new();
    for path in ["crates", "bins"].iter().flat_map(|folder| files_below(&root.join(folder), "rs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        // The crates deny unsafe code, so a file with it declares that at its top.
        if text.lines().any(|line| line.starts_with("#![expect(") && line.contains("unsafe_code")) {
            found.insert(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned());
        }
    }
    let known = ["crates/saml-sp/src/signature/native.rs", "crates/store/src/sqlite/interrupt.rs"];
    assert_eq!(found, known.map(str::to_owned).into());
}

#[test]
fn nothing_depends_on_libpq_and_only_saml_on_openssl() {
    let metadata = metadata();
    let whole = metadata.tree("gatehouse");
    for absent in ["pq-sys", "native-tls", "aws-lc-sys"] {
        assert!(!whole.contains(absent), "{absent}");
    }
    // libxmlsec1 requires it. `sign-in` signs users in with SAML responses, and fault tests run an identity provider.
    let brings: Vec<_> =
        metadata.ours.iter().filter(|name| metadata.tree(name).contains("openssl-sys")).collect();
    assert_eq!(brings, ["chaos", "gate", "gatehouse", "saml-sp", "sign-in", "store", "test-providers"]);
}
