//! Tests sign-ins through third-party OpenID providers on a real server.

use std::{path::Path, process::Command};

use xtask::{
    python,
    server::{CHEAP, MASTER_KEY, Server, gatehouse, serve},
    sh::{self, Result},
};

use crate::node;

/// The names of this machine.
pub(crate) const LOCAL: [&str; 2] = ["localhost", "127.0.0.1"];

/// Runs only on SQLite, because OpenID Connect does not depend on the database.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let check = node::environment(&sh::peers().join("oidc"))?;
    let python = python::environment("oidc/python")?;
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("oidc.db").display());
    certificate(folder, &LOCAL)?;
    let authority = folder.join("ca.pem");
    // The providers run on this machine.
    let trust = |command: &mut Command| {
        command.env("GATEHOUSE_WEBHOOKS_CA_FILE", &authority);
        command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8");
        command.env("GATEHOUSE_PASSWORD_COST", CHEAP);
    };
    gatehouse(&program, &database, &["migrate"])?;
    let mut serve = serve(&program, &database, folder);
    trust(&mut serve);
    let server = Server::start(&mut serve)?;

    let mut node = Command::new("node");
    // The base URL of a server on a loopback address uses `localhost`.
    let base = format!("http://{}", server.address).replace("127.0.0.1", "localhost");
    node.current_dir(check).arg("check.mjs").arg(&base).arg(folder).env("GATEHOUSE_BASE_URL", &base);
    node.env("PROGRAM", &program).env("PYTHON", python).env("NODE_EXTRA_CA_CERTS", &authority);
    // The script creates tenants, users and connections itself, because the providers' metadata is available only once
    // it runs.
    node.env("GATEHOUSE_DATABASE_URL", &database).env("GATEHOUSE_DATA_DIR", folder);
    node.env("GATEHOUSE_MASTER_KEY", MASTER_KEY);
    trust(&mut node);
    sh::run(&mut node)
}

/// Writes a certificate for these names (`server.pem`) and its key, and the same certificate as the one to trust (`ca.pem`).
pub(crate) fn certificate(folder: &Path, names: &[&str]) -> Result<()> {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let made = rcgen::generate_simple_self_signed(names).map_err(|error| error.to_string())?;
    let pem = made.cert.pem();
    for (name, text) in
        [("ca.pem", &pem), ("server.pem", &pem), ("server.key", &made.signing_key.serialize_pem())]
    {
        std::fs::write(folder.join(name), text).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}
