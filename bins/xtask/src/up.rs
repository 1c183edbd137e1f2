//! `cargo xtask up`: builds and starts a server with sample data.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use xtask::{
    server::member,
    sh::{self, Result, cargo},
    system,
};

const ADDRESS: &str = "127.0.0.1:8080";
/// Base URL. Not an IP address, because passkeys need a host name.
const BASE: &str = "http://localhost:8080";
/// File with the SCIM token of the demo tenant, in the data directory.
const TOKEN: &str = "demo-scim-token";
/// Administrator of the demo tenant.
const ADMINISTRATOR: &str = "admin@demo.example";

pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    println!("Building the server (the first build takes several minutes, on two cores about 20) …");
    sh::run(cargo().args(["build", "--locked", "--release", "--package", "gatehouse"]))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let place = Place { program: root.join("target/release/gatehouse"), data: root.join("data"), root };

    println!("Migrating the database {} …", place.data.join("gatehouse.db").display());
    sh::output(&mut place.gatehouse(&["migrate"]))?;
    let token = place.data.join(TOKEN);
    if !token.exists() {
        println!("Creating the tenant demo with a SCIM token …");
        place.create_tenant(&token)?;
    }
    let sign_in = match place.link()? {
        Some(link) => format!(
            "Sign in         {link}\n                as {ADMINISTRATOR}; the link works once, for three days"
        ),
        None => format!("Sign in         {BASE} as {ADMINISTRATOR}"),
    };
    println!(
        "\nAPI reference   {BASE}/developers\
         \nData            {}\
         \nSCIM token      {}\
         \nPress Ctrl-C to stop.\
         \n\nList the users of the tenant demo:\n\n  curl -H \"Authorization: Bearer $(cat {})\" http://{ADDRESS}/api/scim/v2/Users\n\n{sign_in}\n",
        place.data.display(),
        token.display(),
        token.display(),
    );
    // This process becomes the server, which then handles Ctrl-C and sets the exit code.
    let mut serve = place.gatehouse(&["serve"]);
    serve.env("GATEHOUSE_BIND", ADDRESS).env("GATEHOUSE_LOG_FORMAT", "pretty");
    Err(format!("cannot start the server: {}", serve.exec()))
}

struct Place {
    root: PathBuf,
    program: PathBuf,
    data: PathBuf,
}

impl Place {
    fn gatehouse(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(&self.root)
            .env("GATEHOUSE_DATA_DIR", &self.data)
            .env("GATEHOUSE_BASE_URL", BASE);
        command
    }

    /// Creates the demo tenant and its SCIM token. The token is printed once, so it is stored in a file.
    fn create_tenant(&self, token: &Path) -> Result<()> {
        let tenant = self.gatehouse(&["tenant", "create", "--slug", "demo", "--name", "Demo"]).output();
        let tenant = tenant.map_err(|error| error.to_string())?;
        // An interrupted run may have created the tenant already.
        if !tenant.status.success() && !String::from_utf8_lossy(&tenant.stderr).contains("taken") {
            return Err(String::from_utf8_lossy(&tenant.stderr).into_owned());
        }
        let minted =
            sh::output(&mut self.gatehouse(&["token", "scim", "--tenant", "demo", "--name", "Demo"]))?;
        let raw = minted.lines().last().unwrap_or_default();
        keep(token, raw)
    }

    /// Returns a link that signs the administrator in, unless it was used in an earlier run. Creates the administrator if
    /// missing.
    fn link(&self) -> Result<Option<String>> {
        let selected = ["--tenant", "demo", "--email", ADMINISTRATOR];
        let run =
            |words: &[&str]| sh::output(&mut self.gatehouse(&[words, &selected[..], &["--json"]].concat()));
        // Its error is expected on the first start, so it is not shown.
        let shown = self.gatehouse(&[&["user", "show"], &selected[..], &["--json"]].concat()).output();
        let shown = shown.map_err(|error| error.to_string())?;
        if !shown.status.success() {
            println!("Creating the administrator {ADMINISTRATOR} …");
            run(&["user", "create", "--role", "ADMIN"])?;
        } else if String::from_utf8_lossy(&shown.stdout).contains("\"hasPassword\":true") {
            return Ok(None);
        }
        member(&run(&["user", "reset"])?, "link").map(Some)
    }
}

/// Writes a file that only its owner may read.
fn keep(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{}: {error}", path.display()))
}
