//! Tools that others made, against the running server on both databases.

use std::process::Command;

use crate::{
    python,
    server::{Server, gatehouse, member, serve},
    sh::{self, Result},
};

/// Checks that scim2-tester makes of what we say we have.
const CHECKS: &str = "124";

pub(crate) fn run(postgres: &str) -> Result<()> {
    let folder = std::env::temp_dir().join(format!("gatehouse-outside-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let sqlite = format!("sqlite:{}", folder.join("outside.db").display());
    let done = [sqlite.as_str(), postgres].into_iter().try_for_each(|database| on(database, &folder));
    let _removed = std::fs::remove_dir_all(&folder);
    done
}

fn on(database: &str, folder: &std::path::Path) -> Result<()> {
    let program = sh::root().join("target/debug/gatehouse");
    gatehouse(&program, database, &["migrate"])?;
    gatehouse(&program, database, &["tenant", "create", "--slug", "outside", "--name", "Outside"])?;
    let minted =
        gatehouse(&program, database, &["token", "scim", "--tenant", "outside", "--name", "tester"])?;
    let server = Server::start(&mut serve(&program, database, folder))?;
    let mut tester = Command::new(python::environment("scim2-tester")?);
    tester.arg(sh::root().join("bins/xtask/tools/run_scim2_tester.py"));
    tester.arg(format!("http://{}/api/scim/v2", server.address)).arg(CHECKS);
    sh::run(tester.env("SCIM_TOKEN", member(&minted, "token")?))
}
