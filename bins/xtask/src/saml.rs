//! Tests single sign-on through third-party identity providers on a real server.

use std::{path::Path, process::Command};

use xtask::{
    server::{CHEAP, MASTER_KEY, Server, gatehouse, serve},
    sh::{self, Result},
    system,
};

use crate::node;

/// Runs only on SQLite, because SAML does not depend on the database.
pub(crate) fn run(folder: &Path) -> Result<()> {
    system::install(&system::SAML)?;
    let simplesamlphp = system::unpacked(&["simplesamlphp"], "1.19.*")?.join("usr/share/simplesamlphp");
    let check = node::environment(&sh::peers().join("saml"))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("saml.db").display());
    gatehouse(&program, &database, &["migrate"])?;
    let server = Server::start(serve(&program, &database, folder).env("GATEHOUSE_PASSWORD_COST", CHEAP))?;

    let mut node = Command::new("node");
    // The base URL of a server on a loopback address uses `localhost`.
    let base = format!("http://{}", server.address).replace("127.0.0.1", "localhost");
    node.current_dir(check).arg("check.mjs").arg(base).arg(folder).arg(&root);
    node.env("PROGRAM", &program).env("SIMPLESAMLPHP", simplesamlphp);
    // The script creates tenants, people and connections itself, because an identity provider's metadata is available
    // only once it runs.
    node.env("GATEHOUSE_DATABASE_URL", &database).env("GATEHOUSE_DATA_DIR", folder);
    node.env("GATEHOUSE_MASTER_KEY", MASTER_KEY).env("GATEHOUSE_PASSWORD_COST", CHEAP);
    sh::run(&mut node)
}
