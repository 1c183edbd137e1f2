//! A server and its database, both subject to faults.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use xtask::{
    cluster::{Cluster, Durability},
    server::{Server, gatehouse, lasting_address, member, serve},
    sh::{self, Result},
};

use crate::{proxy::Proxy, records::DatabaseRecords};

/// The database of a site.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

/// A server, its database, and the proxy between them.
pub(crate) struct Site {
    pub(crate) folder: PathBuf,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) records: DatabaseRecords,
    /// The proxy in front of PostgreSQL.
    pub(crate) proxy: Option<Proxy>,
    pub(crate) cluster: Option<Cluster>,
    server: Option<Server>,
    database: String,
}

impl Site {
    /// Creates a server with a new database in this folder.
    pub(crate) fn new(kind: Kind, folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let (database, records, proxy, cluster) = match kind {
            Kind::Sqlite => {
                let path = folder.join("chaos.db");
                (format!("sqlite:{}", path.display()), DatabaseRecords::Sqlite(path), None, None)
            }
            Kind::Postgres => {
                let cluster = Cluster::start(Durability::Full)?;
                let proxy = Proxy::start(cluster.port())?;
                let url = cluster
                    .url()
                    .replace(&format!(":{}", cluster.port()), &format!(":{}", proxy.address.port()));
                (url, DatabaseRecords::Postgres(cluster.url()), Some(proxy), Some(cluster))
            }
        };
        let program = program();
        gatehouse(&program, &database, &["migrate"])?;
        gatehouse(&program, &database, &["tenant", "create", "--slug", "chaos", "--name", "Chaos"])?;
        let minted =
            gatehouse(&program, &database, &["token", "scim", "--tenant", "chaos", "--name", "chaos"])?;
        let token = member(&minted, "token")?;
        let address = lasting_address()?;
        let folder = folder.to_owned();
        let mut site = Self { folder, address, token, records, proxy, cluster, server: None, database };
        site.start_server()?;
        Ok(site)
    }

    /// Starts the server at its address. Returns the time until it listened.
    pub(crate) fn start_server(&mut self) -> Result<Duration> {
        let start = Instant::now();
        let log = std::fs::File::options().create(true).append(true).open(self.folder.join("log"));
        let mut command = serve(&program(), &self.database, &self.folder);
        command.env("GATEHOUSE_BIND", self.address.to_string()).env("GATEHOUSE_LOG_LEVEL", "warn");
        command.stderr(log.map_err(|error| error.to_string())?);
        self.server = Some(Server::start(&mut command)?);
        Ok(start.elapsed())
    }

    /// Kills the server like a power cut.
    pub(crate) fn kill_server(&mut self) {
        if let Some(server) = self.server.take() {
            server.kill();
        }
    }

    /// Returns the PostgreSQL cluster, if the site has one.
    pub(crate) fn cluster(&mut self) -> Result<&mut Cluster> {
        self.cluster.as_mut().ok_or_else(|| "no PostgreSQL here".into())
    }

    /// Returns the proxy in front of the database, if the site has one.
    pub(crate) fn proxy(&self) -> Result<&Proxy> {
        self.proxy.as_ref().ok_or_else(|| "no proxy here".into())
    }
}

fn program() -> PathBuf {
    sh::built("gatehouse")
}
