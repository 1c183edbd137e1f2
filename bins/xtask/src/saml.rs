//! Identity providers that others made: people sign in through them to a real server.

use std::{path::Path, process::Command};

use xtask::{
    server::{CHEAP, MASTER_KEY, Server, gatehouse, serve},
    sh::{self, Result},
    system,
};

use crate::node;

/// On SQLite alone: what is signed, encrypted and believed has nothing to do with the database.
pub(crate) fn run(folder: &Path) -> Result<()> {
    system::install(&system::SAML)?;
    let simplesamlphp = system::unpacked("simplesamlphp", "1.19.*")?.join("usr/share/simplesamlphp");
    let check = node::environment(&sh::peers().join("saml"))?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let program = root.join("target/debug/gatehouse");
    let database = format!("sqlite:{}", folder.join("saml.db").display());
    gatehouse(&program, &database, &["migrate"])?;
    let server = Server::start(serve(&program, &database, folder).env("GATEHOUSE_PASSWORD_COST", CHEAP))?;

    let mut node = Command::new("node");
    // As the server calls itself on a loopback address.
    let base = format!("http://{}", server.address).replace("127.0.0.1", "localhost");
    node.current_dir(check).arg("check.mjs").arg(base).arg(folder).arg(&root);
    node.env("PROGRAM", &program).env("SIMPLESAMLPHP", simplesamlphp);
    // It makes tenants, people and providers itself: metadata is there only once who gives it runs.
    node.env("GATEHOUSE_DATABASE_URL", &database).env("GATEHOUSE_DATA_DIR", folder);
    node.env("GATEHOUSE_MASTER_KEY", MASTER_KEY).env("GATEHOUSE_PASSWORD_COST", CHEAP);
    sh::run(&mut node)
}
