//! Generates clients from the API description with third-party tools, compiles them, and uses them on a real server.
//! Also runs schemathesis, which generates requests from the description and sends them as an administrator.

use std::{path::Path, process::Command};

use xtask::{
    python,
    server::{CHEAP, Server, age_users, gatehouse, member, person, serve},
    sh::{self, Result},
};

use crate::node;

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "a password for a neighbour";

/// Runs only on SQLite, because the API description does not depend on the database.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("clients.db").display());
    let description = folder.join("openapi.json");
    let described = sh::output(Command::new(&program).arg("openapi"))?;
    std::fs::write(&description, described).map_err(|error| error.to_string())?;
    gatehouse(&program, &database, &["migrate"])?;
    let for_python = administered(&program, &database, "python")?;
    leavers(&program, &database, "python")?;
    let for_typescript = administered(&program, &database, "typescript")?;

    let mut command = serve(&program, &database, folder);
    command.env("GATEHOUSE_PASSWORD_COST", CHEAP);
    // Webhooks are delivered to this machine, where no receiver listens.
    command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8").env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    let server = Server::start(&mut command)?;
    // The base URL of a server on a loopback address uses `localhost`.
    let base = format!("http://{}", server.address).replace("127.0.0.1", "localhost");
    let check = |command: &mut Command, tenant: &str, token: &str| {
        command.env("TENANT", tenant).env("EMAIL", EMAIL).env("PASSWORD", PASSWORD);
        sh::run(command.env("SCIM_TOKEN", token))
    };

    // The TypeScript check compares its types with the responses that the Python client receives.
    let read = folder.join("answers.json");
    let peers = sh::peers();
    let mut python = Command::new(python::environment("clients/python")?);
    python.arg("-B").arg(peers.join("clients/python/check.py")).env("PYTHONPATH", &peers);
    python.arg(&base).arg(&description).arg(&read).arg(folder.join("python"));
    check(&mut python, "python", &for_python)?;

    let mut node = Command::new("node");
    node.arg(node::environment(&peers.join("clients/typescript"))?.join("run.mjs"));
    node.arg(&base).arg(&description).arg(&read).arg(folder.join("typescript"));
    check(&mut node, "typescript", &for_typescript)
}

/// Sends requests generated from the API description. Runs only on SQLite.
pub(crate) fn administrator(folder: &Path) -> Result<()> {
    let program = sh::built("gatehouse");
    let database = format!("sqlite:{}", folder.join("administrator.db").display());
    gatehouse(&program, &database, &["migrate"])?;
    administered(&program, &database, "administrator")?;
    leavers(&program, &database, "administrator")?;
    let mut command = serve(&program, &database, folder);
    command.env("GATEHOUSE_PASSWORD_COST", CHEAP);
    command.env("GATEHOUSE_WEBHOOKS_ALLOW_CIDRS", "127.0.0.0/8").env("GATEHOUSE_WEBHOOKS_ALLOW_HTTP", "true");
    // Rate limits for sign-ins and step-ups count per address, so the tool sends requests from many.
    command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1");
    let server = Server::start(&mut command)?;
    let mut schemathesis = Command::new(python::environment("schemathesis")?);
    schemathesis.arg(sh::peers().join("administrator/run.py"));
    schemathesis.arg(format!("http://{}", server.address));
    sh::run(schemathesis.env("EMAIL", EMAIL).env("PASSWORD", PASSWORD))
}

/// Creates a tenant with an administrator. Returns a SCIM token of the tenant.
fn administered(program: &Path, database: &str, tenant: &str) -> Result<String> {
    gatehouse(program, database, &["tenant", "create", "--slug", tenant, "--name", tenant])?;
    person(program, database, CHEAP, tenant, EMAIL, PASSWORD)?;
    gatehouse(program, database, &["user", "role", "--tenant", tenant, "--email", EMAIL, "--role", "ADMIN"])?;
    let minted = gatehouse(program, database, &["token", "scim", "--tenant", tenant, "--name", "tool"])?;
    member(&minted, "token")
}

/// Creates users for a directory to remove.
fn leavers(program: &Path, database: &str, tenant: &str) -> Result<()> {
    for leaver in ["leaver-1@example.com", "leaver-2@example.com"] {
        gatehouse(program, database, &["user", "create", "--tenant", tenant, "--email", leaver])?;
    }
    age_users(database)
}
