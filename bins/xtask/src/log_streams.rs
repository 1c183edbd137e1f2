//! Tests log streams with rsyslog, and with receivers of other protocols.

use std::{path::Path, process::Command};

use xtask::{
    python,
    server::{CHEAP, gatehouse, member, person, serve},
    sh::{self, Result},
    system,
};

const TENANT: &str = "streamed";
const EMAIL: &str = "ada@streamed.example";

/// Runs on SQLite, because receivers do not depend on the database. In each round the server or the receivers are killed.
pub(crate) fn run(folder: &Path, rounds: u32) -> Result<()> {
    system::install(&system::SYSLOG)?;
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("streamed.db").display());
    let run = |words: &[&str]| gatehouse(&program, &database, words);
    run(&["migrate"])?;
    run(&["tenant", "create", "--slug", TENANT, "--name", "Streamed"])?;
    person(&program, &database, CHEAP, TENANT, EMAIL, "a password for streams")?;
    let whose = ["--tenant", TENANT, "--email", EMAIL];
    run(&[&["user", "role"], &whose[..], &["--role", "ADMIN"]].concat())?;
    let pat =
        run(&[&["token", "pat"], &whose[..], &["--name", "streams", "--scopes", "admin:tenant"]].concat())?;
    let scim = run(&["token", "scim", "--tenant", TENANT, "--name", "load"])?;
    let mut check = Command::new(python::environment("streams/python")?);
    check.arg("-B").arg(sh::peers().join("streams/check.py")).arg(folder).arg(rounds.to_string());
    // The script starts the server, with the settings of the other tests.
    for (name, value) in serve(&program, &database, folder).get_envs() {
        check.env(name, value.unwrap_or_default());
    }
    check
        .env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8,::1/128")
        .env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    check.env("PROGRAM", &program).env("TENANT", TENANT);
    sh::run(check.env("PAT", member(&pat, "token")?).env("SCIM", member(&scim, "token")?))
}
