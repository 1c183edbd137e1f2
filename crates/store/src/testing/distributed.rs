//! Distributed databases for the same tests. Creating one takes seconds, so a test reuses that of an earlier one.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use diesel::{QueryableByName, sql_query, sql_types::Text};
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};

use super::names::fresh_name;
use crate::{DatabaseUrl, Store};

/// Environment variable with the ports of the worker nodes, separated by commas. If it is set, the server of
/// [`super::POSTGRES_VARIABLE`] is their coordinator, and all PostgreSQL databases of tests are distributed.
pub const WORKERS_VARIABLE: &str = "TEST_CITUS_WORKERS";

/// Few, because each test truncates all tables.
const SHARDS: u16 = 4;

/// URLs of databases that no test uses.
static FREE: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The columns of all tables. Some tests change them, and their databases are not used again.
static COLUMNS: OnceLock<String> = OnceLock::new();
const ALL_COLUMNS: &str = "SELECT string_agg(line, ' ' ORDER BY line) AS text \
    FROM (SELECT table_name || '.' || column_name AS line FROM information_schema.columns WHERE table_schema = 'public') AS lines";

/// Returns the ports of the worker nodes, if databases are distributed.
pub(crate) fn workers() -> Option<Vec<u16>> {
    #[expect(clippy::disallowed_methods, reason = "not a setting of the server")]
    let ports = std::env::var(WORKERS_VARIABLE).ok()?;
    Some(ports.split(',').map(|port| port.parse().expect("a port")).collect())
}

/// Returns the URL of an empty, distributed database.
pub(crate) async fn take(coordinator: &str, workers: &[u16]) -> String {
    loop {
        let url = free().pop();
        let Some(url) = url else { return create(coordinator, workers).await };
        // Some tests drop their database.
        let Ok(mut conn) = AsyncPgConnection::establish(&url).await else { continue };
        if COLUMNS.get() != Some(&text(&mut conn, ALL_COLUMNS).await) {
            continue;
        }
        let tables = "SELECT string_agg(quote_ident(tablename), ', ') AS text FROM pg_tables \
            WHERE schemaname = 'public' AND tablename <> '__diesel_schema_migrations'";
        let tables = text(&mut conn, tables).await;
        conn.batch_execute(&format!("TRUNCATE {tables}")).await.expect("truncate the tables");
        return url;
    }
}

fn free() -> MutexGuard<'static, Vec<String>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn text(conn: &mut AsyncPgConnection, query: &str) -> String {
    let line: Line = sql_query(query).get_result(conn).await.expect("read a text");
    line.text
}

/// Gives a database to later tests.
pub(crate) fn give_back(url: &str) {
    free().push(url.to_owned());
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

/// Creates an empty database on all nodes, whose coordinator knows the workers.
pub(crate) async fn create_empty(coordinator: &str, workers: &[u16]) -> String {
    let name = fresh_name();
    let own: u16 = port_of(coordinator);
    let at = |port: u16, name: &str| {
        let (server, _) = coordinator.rsplit_once('/').expect("the URL ends with the name of a database");
        format!("{}/{name}", server.replace(&format!(":{own}"), &format!(":{port}")))
    };
    for port in workers.iter().copied().chain([own]) {
        let mut conn = AsyncPgConnection::establish(&at(port, "postgres")).await.expect("connect to a node");
        // Otherwise Citus creates it on the workers too.
        conn.batch_execute("SET citus.enable_create_database_propagation TO off").await.expect("set");
        conn.batch_execute(&format!("CREATE DATABASE {name}")).await.expect("create the database");
        let mut conn = AsyncPgConnection::establish(&at(port, &name)).await.expect("connect to a node");
        conn.batch_execute("CREATE EXTENSION citus").await.expect("create the extension");
    }
    let url = at(own, &name);
    let mut conn = AsyncPgConnection::establish(&url).await.expect("connect to the coordinator");
    conn.batch_execute(&format!("SELECT citus_set_coordinator_host('127.0.0.1', {own})")).await.expect("set");
    for port in workers {
        let add = format!("SELECT citus_add_node('127.0.0.1', {port})");
        conn.batch_execute(&add).await.expect("add a node");
    }
    url
}

fn port_of(url: &str) -> u16 {
    let (_, rest) = url.rsplit_once(':').expect("the URL has a port");
    rest.split('/').next().and_then(|port| port.parse().ok()).expect("the URL has a port")
}

async fn create(coordinator: &str, workers: &[u16]) -> String {
    let url = create_empty(coordinator, workers).await;
    let store = DatabaseUrl::Postgres(url.clone());
    let store = Store::open(&store, 1, audit::EntryKeys::none()).expect("open the database");
    store.migrate().await.expect("migrate the database");
    store.distribute(SHARDS, false).await.expect("distribute the database");
    let mut conn = AsyncPgConnection::establish(&url).await.expect("connect to the database");
    let _same = COLUMNS.set(text(&mut conn, ALL_COLUMNS).await);
    url
}
