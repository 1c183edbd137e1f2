//! `cargo xtask up`: from a clone to a server that answers.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use xtask::{
    sh::{self, Result, cargo},
    system,
};

const ADDRESS: &str = "127.0.0.1:8080";
/// What browsers are to open: passkeys belong to the name of a host.
const BASE: &str = "http://localhost:8080";
/// Where the demo tenant's token is kept, in the data folder.
const TOKEN: &str = "demo-scim-token";
/// Its administrator, and where the password is kept.
const PERSON: &str = "admin@demo.example";
const PASSWORD: &str = "demo-password";

pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    println!("building the server; the first time takes some minutes");
    sh::run(cargo().args(["build", "--locked", "--release", "--package", "gatehouse"]))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let place = Place { program: root.join("target/release/gatehouse"), data: root.join("data"), root };

    sh::run(&mut place.gatehouse(&["migrate"]))?;
    let (token, password) = (place.data.join(TOKEN), place.data.join(PASSWORD));
    if !token.exists() {
        place.make_demo(&token)?;
    }
    if !password.exists() {
        place.make_person(&password)?;
    }
    println!(
        "\nGatehouse serves on {BASE} until Ctrl-C\n\
         \n  sign in     {BASE} as {PERSON}, with the password in {}\
         \n  reference   {BASE}/developers\
         \n  data        {}\
         \n  SCIM token  {} (of the demo tenant)\
         \n\nTry it:\n\n  curl -H \"Authorization: Bearer $(cat {})\" http://{ADDRESS}/api/scim/v2/Users\n",
        password.display(),
        place.data.display(),
        token.display(),
        token.display(),
    );
    // This process becomes the server: Ctrl-C and the exit status are its own.
    let mut serve = place.gatehouse(&["serve"]);
    serve
        .env("GATEHOUSE_BIND", ADDRESS)
        .env("GATEHOUSE_BASE_URL", BASE)
        .env("GATEHOUSE_LOG_FORMAT", "pretty");
    Err(format!("the server does not start: {}", serve.exec()))
}

struct Place {
    root: PathBuf,
    program: PathBuf,
    data: PathBuf,
}

impl Place {
    fn gatehouse(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(&self.root).env("GATEHOUSE_DATA_DIR", &self.data);
        command
    }

    /// A demo tenant and its SCIM token, which is shown once and therefore kept here.
    fn make_demo(&self, token: &Path) -> Result<()> {
        let tenant = self.gatehouse(&["tenant", "create", "--slug", "demo", "--name", "Demo"]).output();
        let tenant = tenant.map_err(|error| error.to_string())?;
        // A start that was cut short may have made the tenant already.
        if !tenant.status.success() && !String::from_utf8_lossy(&tenant.stderr).contains("taken") {
            return Err(String::from_utf8_lossy(&tenant.stderr).into_owned());
        }
        let minted =
            sh::output(&mut self.gatehouse(&["token", "scim", "--tenant", "demo", "--name", "Demo"]))?;
        let raw = minted.lines().last().unwrap_or_default();
        keep(token, raw)
    }

    /// Its administrator, with a password that nobody else has.
    fn make_person(&self, kept: &Path) -> Result<()> {
        let mut bytes = [0; 16];
        let random = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut bytes));
        random.map_err(|error| error.to_string())?;
        let password = format!("{:032x}", u128::from_ne_bytes(bytes));
        keep(kept, &password)?;
        let words =
            ["user", "create", "--tenant", "demo", "--email", PERSON, "--role", "ADMIN", "--password-stdin"];
        let mut create = self.gatehouse(&words);
        let mut process = create.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let process = process.as_mut().map_err(|error| error.to_string())?;
        let input = process.stdin.take().ok_or("no standard input")?;
        writeln!(&input, "{password}").map_err(|error| error.to_string())?;
        drop(input);
        let status = process.wait().map_err(|error| error.to_string())?;
        if status.success() { Ok(()) } else { Err(format!("user create: {status}")) }
    }
}

/// Writes what only its owner may read.
fn keep(path: &Path, text: &str) -> Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| format!("{}: {error}", path.display()))
}
