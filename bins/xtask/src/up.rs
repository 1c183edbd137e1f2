//! `cargo xtask up`: from a clone to a server that answers.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use crate::{
    sh::{self, Result, cargo},
    system,
};

const ADDRESS: &str = "127.0.0.1:8080";
/// Where the demo tenant's token is kept, in the data folder.
const TOKEN: &str = "demo-scim-token";

pub(crate) fn run() -> Result<()> {
    system::install(&system::BUILD)?;
    println!("building the server; the first time takes some minutes");
    sh::run(cargo().args(["build", "--locked", "--release", "--package", "gatehouse"]))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let place = Place { program: root.join("target/release/gatehouse"), data: root.join("data"), root };

    sh::run(&mut place.gatehouse(&["migrate"]))?;
    let token = place.data.join(TOKEN);
    if !token.exists() {
        place.make_demo(&token)?;
    }
    println!(
        "\nGatehouse serves on http://{ADDRESS} until Ctrl-C\n\
         \n  reference   http://{ADDRESS}/developers\
         \n  data        {}\
         \n  SCIM token  {} (of the demo tenant)\
         \n\nTry it:\n\n  curl -H \"Authorization: Bearer $(cat {})\" http://{ADDRESS}/api/scim/v2/Users\n",
        place.data.display(),
        token.display(),
        token.display(),
    );
    // This process becomes the server: Ctrl-C and the exit status are its own.
    let mut serve = place.gatehouse(&["serve"]);
    serve.env("GATEHOUSE_BIND", ADDRESS).env("GATEHOUSE_LOG_FORMAT", "pretty");
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
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(token);
        file.and_then(|mut file| file.write_all(raw.as_bytes()))
            .map_err(|error| format!("{}: {error}", token.display()))
    }
}
