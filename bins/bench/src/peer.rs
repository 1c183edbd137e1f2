//! Runs scim2-server, the reference server of the Python SCIM tools, with the same users in memory.

use std::process::Command;

use xtask::{
    python,
    server::Server,
    sh::{self, Result},
};

use crate::{scim::measure, site::get, table::Table};

/// A running scim2-server.
pub(crate) struct Peer {
    server: Server,
    users: u64,
}

impl Peer {
    /// Starts it with this many users.
    pub(crate) fn start(users: u64) -> Result<Self> {
        let python = python::environment("scim2-server")?;
        let script = sh::peers().join("serve_scim2_server.py");
        let mut command = Command::new(python);
        command.arg(script).arg(users.to_string());
        Ok(Self { server: Server::start(&mut command)?, users })
    }

    /// Adds its rows to the table.
    pub(crate) fn measure(&self, table: &mut Table, rows: &[&str]) -> Result<()> {
        let number = |n: u64| n.wrapping_mul(2_654_435_761) % self.users;
        let mut probe = |key: &str, name: &str, connections, path: &(dyn Fn(u64) -> String + Sync)| {
            measure(table, rows, key, name, &self.server, None, (connections, 200), &|n| get(&path(n), ""))
        };
        probe("peer 01", "get by id", 8, &|n| format!("/v2/Users/{:032x}", number(n)))?;
        probe("peer 02", "userName eq", 8, &|n| {
            format!("/v2/Users?filter=userName%20eq%20%22user-{:06}%40example.com%22", number(n))
        })?;
        probe("peer 07", "list of 100 with the count", 1, &|_| "/v2/Users?startIndex=1&count=100".into())
    }
}
