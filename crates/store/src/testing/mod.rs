//! Databases for the tests of this crate and of the server. Each test gets its own, of either kind.

mod distributed;
mod names;

use std::{path::PathBuf, sync::LazyLock};

use audit::EntryKeys;
use diesel::{Connection, SqliteConnection};
use diesel_async::{AsyncConnection, AsyncPgConnection, SimpleAsyncConnection};
use kernel::{MasterKeys, Secret};

pub use self::distributed::WORKERS_VARIABLE;
use self::names::fresh_name;
use crate::{DatabaseUrl, Store, migrate};

/// Tables that stay on the coordinator of a distributed database.
pub const ON_COORDINATOR: [&str; 6] = crate::distribution::ON_COORDINATOR;

/// Environment variable with the URL of a PostgreSQL cluster in which tests may create databases.
pub const POSTGRES_VARIABLE: &str = "TEST_POSTGRES_URL";

/// Environment variable with the path of the root certificate of that cluster.
pub const ROOT_VARIABLE: &str = "TEST_POSTGRES_ROOT";

/// Environment variable with the path of the certificate of the role `gatehouse_certificate`.
pub const CLIENT_VARIABLE: &str = "TEST_POSTGRES_CLIENT";

/// The two kinds of database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file in a temporary directory.
    Sqlite,
    /// A database in the cluster of [`POSTGRES_VARIABLE`].
    Postgres,
}

impl Kind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Sqlite, Self::Postgres];
}

/// Returns the keys that tests use for the MACs of audit entries.
///
/// # Panics
/// Never: the key has the required length.
pub fn entry_keys() -> EntryKeys {
    let masters = MasterKeys::new(vec![("test".to_owned(), Secret::new(vec![7; 32]))]);
    EntryKeys::derive(&masters.expect("a key of 32 bytes"))
}

/// A migrated database for one test.
pub struct TestDatabase {
    /// The URL of the database.
    pub url: DatabaseUrl,
    folder: Option<PathBuf>,
}

/// A migrated SQLite database, which the others are copied from.
static MIGRATED_FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(fresh_name());
    let url = path.to_str().expect("the temporary directory has a name in UTF-8");
    let mut conn = SqliteConnection::establish(url).expect("create the file");
    migrate::sqlite(&mut conn).expect("migrate the file");
    drop(conn);
    let file = std::fs::read(&path).expect("read the file");
    let _leftover = std::fs::remove_file(&path);
    file
});

/// Serializes creation of the PostgreSQL template database that the others are copied from.
static TEMPLATE: tokio::sync::Mutex<bool> = tokio::sync::Mutex::const_new(false);
static TEMPLATE_NAME: std::sync::OnceLock<String> = std::sync::OnceLock::new();

impl TestDatabase {
    /// Creates a database.
    ///
    /// # Panics
    /// If that fails, because a test that cannot run must not pass.
    pub async fn new(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => {
                let folder = std::env::temp_dir().join(fresh_name());
                std::fs::create_dir_all(&folder).expect("create a temporary directory");
                let path = folder.join("gatehouse.db");
                std::fs::write(&path, &*MIGRATED_FILE).expect("copy the migrated file");
                Self { url: DatabaseUrl::Sqlite(path), folder: Some(folder) }
            }
            Kind::Postgres => Self { url: DatabaseUrl::Postgres(copy_of_template().await), folder: None },
        }
    }

    /// Returns the URL of a new, empty PostgreSQL database.
    ///
    /// # Panics
    /// If that fails.
    pub async fn empty() -> String {
        let cluster = cluster();
        if let Some(workers) = distributed::workers() {
            return distributed::create_empty(&cluster, &workers).await;
        }
        let (server, _) = cluster.rsplit_once('/').expect("the URL ends with the name of a database");
        let mut conn = AsyncPgConnection::establish(&cluster).await.expect("connect to the cluster");
        let name = fresh_name();
        conn.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("create the database");
        format!("{server}/{name}")
    }

    /// Returns whether PostgreSQL databases are distributed.
    pub fn is_distributed() -> bool {
        distributed::workers().is_some()
    }

    /// Opens the database.
    ///
    /// # Panics
    /// If that fails.
    pub fn store(&self) -> Store {
        Store::open(&self.url, 8, entry_keys()).expect("open the database")
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        if let (DatabaseUrl::Postgres(url), Some(_)) = (&self.url, distributed::workers()) {
            distributed::give_back(url);
        }
        // PostgreSQL databases are removed with their cluster.
        if let Some(folder) = &self.folder {
            let _leftover = std::fs::remove_dir_all(folder);
        }
    }
}

/// Returns the URL of the cluster in which tests may create databases.
///
/// # Panics
/// If it is not set, because a test that cannot run must not pass.
pub fn cluster() -> String {
    variable(POSTGRES_VARIABLE)
}

/// Returns the path of the cluster's root certificate.
///
/// # Panics
/// If it is not set.
pub fn cluster_root() -> String {
    variable(ROOT_VARIABLE)
}

/// Returns the paths of the certificate and the key with which the role `gatehouse_certificate` must authenticate to the
/// cluster. A test creates the role.
///
/// # Panics
/// If they are not set.
pub fn cluster_client() -> (PathBuf, PathBuf) {
    let certificate = PathBuf::from(variable(CLIENT_VARIABLE));
    let key = certificate.with_extension("key");
    (certificate, key)
}

fn variable(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "not a setting of the server")]
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run `cargo xtask test`, or `cargo xtask db` in another window")
    })
}

async fn copy_of_template() -> String {
    let cluster = cluster();
    if let Some(workers) = distributed::workers() {
        return distributed::take(&cluster, &workers).await;
    }
    let (server, _) = cluster.rsplit_once('/').expect("the URL ends with the name of a database");
    let mut conn = AsyncPgConnection::establish(&cluster).await.expect("connect to the cluster");
    let template = TEMPLATE_NAME.get_or_init(fresh_name);
    let mut made = TEMPLATE.lock().await;
    if !*made {
        conn.batch_execute(&format!("CREATE DATABASE {template}")).await.expect("create the database");
        let store = DatabaseUrl::Postgres(format!("{server}/{template}"));
        let store = Store::open(&store, 1, EntryKeys::none()).expect("open the template database");
        store.migrate().await.expect("migrate the template database");
        *made = true;
    }
    let name = fresh_name();
    let copy = format!("CREATE DATABASE {name} TEMPLATE {template}");
    conn.batch_execute(&copy).await.expect("copy the template database");
    drop(made);
    format!("{server}/{name}")
}
