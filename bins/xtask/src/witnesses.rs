//! Tests the audit log with witnesses and with an independent implementation of transparency logs.

use std::{path::Path, process::Command};

use xtask::{
    python,
    server::{CHEAP, MASTER_KEY, Server, gatehouse, member, person, serve},
    sh::{self, Result},
};

const TENANT: &str = "witnessed";
const EMAIL: &str = "ada@witnessed.example";

/// Runs only on SQLite, because the log's hashes do not depend on the database.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let program = sh::built("gatehouse");
    let file = |name: &str| folder.join(name).display().to_string();
    let database = format!("sqlite:{}", file("witnessed.db"));
    let run = |words: &[&str]| gatehouse(&program, &database, words);
    run(&["migrate"])?;
    run(&["tenant", "create", "--slug", TENANT, "--name", "Witnessed"])?;
    person(&program, &database, CHEAP, TENANT, EMAIL, "a password for witnesses")?;
    let whose = ["--tenant", TENANT, "--email", EMAIL];
    run(&[&["user", "role"], &whose[..], &["--role", "ADMIN"]].concat())?;
    let pat =
        run(&[&["token", "pat"], &whose[..], &["--name", "witness", "--scopes", "admin:tenant"]].concat())?;
    let scim = run(&["token", "scim", "--tenant", TENANT, "--name", "load"])?;
    let (pat, scim) = (member(&pat, "token")?, member(&scim, "token")?);
    // The copy continues differently.
    let server = Server::start(&mut serve(&program, &database, folder))?;
    run(&["backup", "--to", &file("older.db")])?;
    let python = python::environment("audit/python")?;
    let check = |words: &[&str]| {
        let mut command = Command::new(&python);
        command.arg("-B").arg(sh::peers().join("audit/check.py")).arg(folder).args(words);
        command.env("PROGRAM", &program).env("GATEHOUSE_DATABASE_URL", &database);
        command.env("GATEHOUSE_MASTER_KEY", MASTER_KEY).env("TENANT", TENANT);
        sh::run(command.env("PAT", &pat).env("SCIM", &scim))
    };
    let base = format!("http://{}", server.address);
    check(&["before", &base])?;
    let older = format!("sqlite:{}", file("older.db"));
    let other = Server::start(&mut serve(&program, &older, folder))?;
    check(&["after", &base, &format!("http://{}", other.address)])
}
