//! Tests the resource servers of the documentation, which ask for step-ups (RFC 9470), with two instances on one database.

use std::{path::Path, process::Command};

use xtask::{
    python,
    server::{CHEAP, Server, free_address, gatehouse, member, person, serve},
    sh::{self, Result},
    system,
};

const EMAIL: &str = "ada@payroll.example";
const PASSWORD: &str = "a password for payrolls";

/// Runs on PostgreSQL, because instances on several hosts share it.
pub(crate) fn run(folder: &Path, database: &str) -> Result<()> {
    system::install(&system::NODE)?;
    let root = sh::root().canonicalize().map_err(|error| error.to_string())?;
    let program = sh::built("gatehouse");
    gatehouse(&program, database, &["migrate"])?;
    let made =
        gatehouse(&program, database, &["tenant", "create", "--slug", "payroll", "--name", "Payroll"])?;
    person(&program, database, CHEAP, "payroll", EMAIL, PASSWORD)?;

    // Both instances have one base URL, which a browser would reach through a load balancer.
    let address = free_address()?;
    let instance = |name: &str, bind: &str| {
        let data = folder.join(name);
        std::fs::create_dir_all(&data).map_err(|error| error.to_string())?;
        let mut command = serve(&program, database, &data);
        command.env("GATEHOUSE_PASSWORD_COST", CHEAP).env("GATEHOUSE_BIND", bind);
        command.env("GATEHOUSE_BASE_URL", format!("http://localhost:{}", address.port()));
        // The resource servers forward the addresses of their clients.
        command.env("GATEHOUSE_TRUSTED_PROXIES", "127.0.0.1");
        Server::start(&mut command)
    };
    let one = instance("one", &address.to_string())?;
    let other = instance("other", "127.0.0.1:0")?;

    let peers = sh::peers();
    let mut check = Command::new(python::environment("schemathesis")?);
    check.arg("-B").arg(peers.join("step-up/check.py")).env("PYTHONPATH", &peers);
    check.arg(format!("http://{}", one.address)).arg(format!("http://{}", other.address));
    check.arg(root.join("docs/resource-servers")).env("TENANT", member(&made, "id")?);
    sh::run(check.env("EMAIL", EMAIL).env("PASSWORD", PASSWORD))
}
