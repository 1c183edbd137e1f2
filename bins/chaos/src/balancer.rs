//! HAProxy with the configuration of the documentation.

use std::{
    net::SocketAddr,
    path::Path,
    process::{Child, Command},
    time::Duration,
};

use xtask::{
    server::lasting_address,
    sh::{self, Result},
    wait::until,
};

use crate::clients::Client;

/// The addresses in the documented configuration: of HAProxy and of the servers.
const DOCUMENTED: [&str; 4] = ["127.0.0.1:8080", "127.0.0.1:8081", "127.0.0.1:8082", "127.0.0.1:8083"];

/// A running HAProxy. Dropping it stops it.
pub(crate) struct Balancer {
    process: Child,
    /// The address for clients.
    pub(crate) address: SocketAddr,
}

impl Balancer {
    /// Starts it in front of these servers, which need not run yet.
    pub(crate) fn start(folder: &Path, servers: [SocketAddr; 3]) -> Result<Self> {
        let documented = sh::root().join("docs/guides/haproxy.cfg");
        let mut text = std::fs::read_to_string(&documented).map_err(|error| error.to_string())?;
        let address = lasting_address()?;
        for (from, to) in DOCUMENTED.into_iter().zip(std::iter::once(address).chain(servers)) {
            if !text.contains(from) {
                return Err(format!("{}: {from} is missing", documented.display()));
            }
            text = text.replace(from, &to.to_string());
        }
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, text).map_err(|error| error.to_string())?;
        let log = std::fs::File::create(folder.join("haproxy.log")).map_err(|error| error.to_string())?;
        let process = Command::new("haproxy").arg("-db").arg("-f").arg(&file).stderr(log).spawn();
        Ok(Self { process: process.map_err(|error| format!("haproxy: {error}"))?, address })
    }

    /// Waits until a server answers through it.
    pub(crate) fn await_ready(&self) -> Result<()> {
        let ready = || Client::new(self.address).send("GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n");
        until(Duration::from_secs(10), "no server was ready", || {
            Ok(ready().is_ok_and(|(status, _)| status == 200))
        })
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        let _gone = self.process.kill();
        let _ended = self.process.wait();
    }
}
