//! Installs missing Debian packages.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    installing,
    sh::{self, Result},
};

/// A package, and a check whether it is installed.
pub struct Package {
    name: &'static str,
    there: fn() -> bool,
}

/// Packages for the build: a C compiler for SQLite and ring, and libxmlsec1 with the tools that read its headers.
pub const BUILD: [Package; 4] = [
    Package { name: "gcc libc6-dev", there: || sh::has("cc") },
    Package { name: "clang libclang-dev", there: has_clang },
    Package { name: "pkg-config", there: || sh::has("pkg-config") },
    Package { name: "libxmlsec1-dev", there: has_xmlsec },
];

/// Additional packages for the tests.
pub const TEST: [Package; 7] = [
    Package { name: "postgresql", there: || postgres_bin().is_ok() },
    Package { name: "procps", there: || sh::has("kill") },
    Package { name: "sqlite3", there: || sh::has("sqlite3") },
    Package { name: "openssl", there: || sh::has("openssl") },
    Package { name: "curl", there: || sh::has("curl") },
    Package { name: "xmlsec1", there: || sh::has("xmlsec1") },
    Package { name: "strace", there: || sh::has("strace") },
];

/// A syslog server that supports TLS, and the tool that creates its certificates.
pub const SYSLOG: [Package; 3] = [
    Package { name: "rsyslog", there: || sh::has("rsyslogd") },
    Package { name: "rsyslog-openssl", there: has_rsyslog_tls },
    Package { name: "openssl", there: || sh::has("openssl") },
];

/// The library that Debian's Rust 1.85 loads.
pub const LLVM: [Package; 1] = [Package { name: "libllvm19", there: has_llvm }];

/// The memory checker.
pub const VALGRIND: [Package; 1] = [Package { name: "valgrind", there: || sh::has("valgrind") }];

/// Checks units of systemd.
pub const SYSTEMD: [Package; 1] = [Package { name: "systemd", there: || sh::has("systemd-analyze") }];

/// A monitoring server, and the checker of its rules.
pub const PROMETHEUS: [Package; 1] = [Package { name: "prometheus", there: has_prometheus }];

/// The command line of SQLite.
pub const SQLITE: [Package; 1] = [Package { name: "sqlite3", there: || sh::has("sqlite3") }];

/// A clock for each process.
pub const FAKETIME: [Package; 1] = [Package { name: "faketime", there: || sh::has("faketime") }];

/// A load balancer.
pub const BALANCER: [Package; 1] = [Package { name: "haproxy", there: || sh::has("haproxy") }];

/// Packages for building the Citus extension.
pub const CITUS: [Package; 5] = [
    Package { name: "make", there: || sh::has("make") },
    Package { name: "postgresql-server-dev-all", there: has_server_headers },
    Package { name: "libkrb5-dev", there: || Path::new("/usr/include/gssapi/gssapi.h").is_file() },
    Package { name: "liblz4-dev", there: || Path::new("/usr/include/lz4.h").is_file() },
    Package { name: "libzstd-dev", there: || Path::new("/usr/include/zstd.h").is_file() },
];

/// Packages for tools from the Python package index.
pub const PYTHON: [Package; 1] = [Package { name: "python3-venv", there: has_venv }];

/// Packages for the browser tests.
pub const BROWSER: [Package; 1] = [Package { name: "chromium", there: || sh::has("chromium") }];

/// Packages for tools from npm.
pub const NODE: [Package; 2] = [
    Package { name: "nodejs", there: || sh::has("node") },
    Package { name: "npm", there: || sh::has("npm") },
];

/// Packages for an identity provider in PHP.
pub const SAML: [Package; 1] = [Package { name: "php-cli php-xml", there: has_php }];

/// Looks for the headers of the server version that `postgres_bin` chooses.
fn has_server_headers() -> bool {
    let bin = postgres_bin().unwrap_or_default();
    let headers = sh::output(Command::new(bin.join("pg_config")).arg("--includedir-server"));
    headers.is_ok_and(|folder| Path::new(&folder).join("postgres.h").is_file())
}

fn has_venv() -> bool {
    says_yes("python3", &["-c", "import venv, ensurepip"])
}

/// Looks for the TLS driver, which distributions put into the folder of their architecture.
fn has_rsyslog_tls() -> bool {
    let folders = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    folders.chain(["/usr/lib".into()]).any(|folder| folder.join("rsyslog/lmnsd_ossl.so").is_file())
}

fn has_prometheus() -> bool {
    sh::has("prometheus") && sh::has("promtool")
}

fn has_llvm() -> bool {
    let folder = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    Path::new(&folder).join("libLLVM.so.19.1").exists()
}

fn has_php() -> bool {
    says_yes("php", &["-r", "exit(extension_loaded('dom') ? 0 : 1);"])
}

fn has_xmlsec() -> bool {
    says_yes("pkg-config", &["--exists", "xmlsec1", "xmlsec1-openssl", "libxml-2.0", "openssl"])
}

/// Looks for the compiler and its library, which bindgen searches in these directories.
fn has_clang() -> bool {
    let folders = ["/usr/lib", "/usr/lib64", "/usr/local/lib"];
    let is_configured = std::env::var_os("LIBCLANG_PATH").is_some() || !cfg!(target_os = "linux");
    sh::has("clang") && (is_configured || folders.iter().any(|folder| holds_libclang(Path::new(folder), 2)))
}

fn holds_libclang(folder: &Path, depth: u8) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let library = ["libclang.so", "libclang-1", "libclang-2"].iter().any(|start| name.starts_with(start));
        (library && name.contains(".so")) || (depth > 0 && holds_libclang(&entry.path(), depth - 1))
    })
}

fn says_yes(program: &str, words: &[&str]) -> bool {
    let asked = Command::new(program).args(words).stderr(Stdio::null()).status();
    asked.is_ok_and(|status| status.success())
}

/// Installs the missing packages.
pub fn install(packages: &[Package]) -> Result<()> {
    let _lock = installing::lock()?;
    let missing: Vec<_> = packages.iter().filter(|package| !(package.there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = missing.iter().flat_map(|package| package.name.split(' ')).collect();
    let line = format!("apt-get install -y --no-install-recommends {}", names.join(" "));
    if !is_root()? || !sh::has("apt-get") {
        return Err(format!("missing: {}. As root on Debian: {line}", names.join(", ")));
    }
    println!("installing {}", names.join(", "));
    apt(Path::new("/"), &["update"])?;
    apt(Path::new("/"), &[&["install", "-y", "--no-install-recommends"][..], &names[..]].concat())?;
    match missing.iter().find(|package| !(package.there)()) {
        Some(package) => Err(format!("{} was installed and still cannot be found", package.name)),
        None => Ok(()),
    }
}

/// Downloads packages of one version and extracts their files into one folder, without installing them or their dependencies.
/// A PHP application then does not install a web server.
pub fn unpacked(names: &[&str], version: &str) -> Result<PathBuf> {
    let _lock = installing::lock()?;
    let name = names.first().copied().unwrap_or_default();
    let folder = sh::root().join("target/tools").join(format!("{name}-{}", version.trim_end_matches(".*")));
    let done = folder.join("complete");
    if !done.is_file() {
        if !sh::has("apt-get") || !sh::has("dpkg-deb") {
            return Err(format!("{name} is a package of Debian, and this is another system"));
        }
        println!("fetching {name}");
        let _half = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        if is_root()? {
            apt(&folder, &["update"])?;
        }
        // apt's default user may not write to this directory, so download as root.
        let here = ["-o", "APT::Sandbox::User=root", "download"];
        let wanted: Vec<_> = names.iter().map(|name| format!("{name}={version}")).collect();
        let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
        apt(&folder, &[&here[..], &wanted].concat())?;
        let files = std::fs::read_dir(&folder).map_err(|error| error.to_string())?;
        let archives: Vec<_> = files.flatten().map(|file| file.file_name()).collect();
        for archive in archives {
            sh::run(Command::new("dpkg-deb").current_dir(&folder).arg("--extract").arg(archive).arg("."))?;
        }
        std::fs::write(&done, "").map_err(|error| error.to_string())?;
    }
    folder.canonicalize().map_err(|error| error.to_string())
}

fn is_root() -> Result<bool> {
    Ok(sh::output(Command::new("id").arg("-u"))? == "0")
}

fn apt(folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = Command::new("apt-get");
    command.current_dir(folder).env("DEBIAN_FRONTEND", "noninteractive");
    command.args(["-q", "-o", "Acquire::Retries=3"]).args(arguments);
    sh::run(&mut command)
}

/// Returns the directory with `initdb` and `postgres` of the newest installed version.
pub fn postgres_bin() -> Result<PathBuf> {
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
