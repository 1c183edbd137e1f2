//! Tests webhook receivers with a real server: those in the documentation, and third-party ones.

use std::{path::Path, process::Command};

use xtask::{
    python,
    server::{CHEAP, Server, gatehouse, member, person, serve},
    sh::{self, Result},
};

use crate::node;

const TENANT: &str = "webhooks";
const EMAIL: &str = "ada@webhooks.example";
const PASSWORD: &str = "a password for receivers";

/// Runs only on SQLite, because delivery and signatures do not depend on the database.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("webhooks.db").display());
    let run = |words: &[&str]| gatehouse(&program, &database, words);
    run(&["migrate"])?;
    run(&["tenant", "create", "--slug", TENANT, "--name", "Webhooks"])?;
    person(&program, &database, CHEAP, TENANT, EMAIL, PASSWORD)?;
    let whose = ["--tenant", TENANT, "--email", EMAIL];
    run(&[&["user", "role"], &whose[..], &["--role", "ADMIN"]].concat())?;
    let minted =
        run(&[&["token", "pat"], &whose[..], &["--name", "tool", "--scopes", "admin:tenant"]].concat())?;

    let mut command = serve(&program, &database, folder);
    command.env("GATEHOUSE_PASSWORD_COST", CHEAP);
    // The receivers run on this machine, which tenants may not use as a target otherwise.
    command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8").env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    let server = Server::start(&mut command)?;

    let mut node = Command::new("node");
    node.current_dir(node::environment(&sh::peers().join("webhooks"))?).arg("check.mjs");
    node.arg(format!("http://{}", server.address)).arg(&root);
    node.env("PROGRAM", &program).env("GATEHOUSE_DATABASE_URL", &database);
    node.env("PYTHON", python::environment("webhooks/python")?);
    node.env("TENANT", TENANT).env("TOKEN", member(&minted, "token")?);
    sh::run(node.env("EMAIL", EMAIL).env("PASSWORD", PASSWORD))
}
