//! Checks the triggers that keep the audit log append-only: none may be missing, changed or added.

use std::collections::BTreeMap;

use diesel::{Connection, QueryableByName, RunQueryDsl, sql_types::Text, sqlite::SqliteConnection};
use diesel_async::AsyncPgConnection;
use kernel::{StoreError, StoreResult};

use crate::{error::store_error, migrate};

#[derive(QueryableByName)]
struct TriggerRow {
    /// Table and trigger.
    #[diesel(sql_type = Text)]
    name: String,
    /// The trigger's definition.
    #[diesel(sql_type = Text)]
    does: String,
}

const ON_SQLITE: &str = "SELECT tbl_name || '.' || name AS name, sql AS does FROM sqlite_schema \
    WHERE type = 'trigger' AND (tbl_name LIKE 'audit\\_%' ESCAPE '\\' OR sql LIKE '%audit\\_%' ESCAPE '\\')";

/// Triggers and rules, with their function and whether they are enabled: those of audit tables, and those of other tables
/// whose function or text names an audit table.
const ON_POSTGRES: &str = "SELECT relname || '.' || tgname AS name, proname || ' ' || tgenabled::text AS does \
    FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid JOIN pg_proc ON pg_proc.oid = tgfoid \
    WHERE NOT tgisinternal AND (relname LIKE 'audit\\_%' OR prosrc ILIKE '%audit\\_%') \
    AND pg_table_is_visible(tgrelid) \
    UNION ALL SELECT tablename || '.' || rulename, 'a rule' FROM pg_rules \
    WHERE tablename LIKE 'audit\\_%' OR definition ILIKE '%audit\\_%'";

/// The tables of the audit log.
const TABLES: [&str; 8] = [
    "audit_entries",
    "audit_unsealed",
    "audit_sealed",
    "audit_subtrees",
    "audit_logs",
    "audit_checkpoints",
    "audit_drops",
    "audit_statements",
];

/// The triggers of `docs/postgresql/append-only.sql`, without the TRUNCATE trigger of each table.
const OF_ROWS: [(&str, &str); 10] = [
    ("audit_entries.stay", "audit_entries_stay"),
    ("audit_sealed.stay", "audit_sealed_stay"),
    ("audit_sealed.stay_as_they_are", "audit_refuse"),
    ("audit_unsealed.wait", "audit_unsealed_wait"),
    ("audit_unsealed.wait_as_they_are", "audit_refuse"),
    ("audit_logs.grow", "audit_logs_grow"),
    ("audit_subtrees.stay", "audit_refuse"),
    ("audit_checkpoints.stay", "audit_refuse"),
    ("audit_drops.stay", "audit_refuse"),
    ("audit_statements.stay", "audit_refuse"),
];

type Guards = BTreeMap<String, String>;

fn by_name(guards: Vec<TriggerRow>) -> Guards {
    guards.into_iter().map(|guard| (guard.name, guard.does)).collect()
}

/// Lists the differences.
fn compare(expected: &Guards, found: &Guards) -> Vec<String> {
    let missing = |(name, does): (&String, &String)| match found.get(name) {
        None => Some(format!("the trigger {name} is missing")),
        Some(other) if other != does => Some(format!("the trigger {name} differs from the expected one")),
        Some(_) => None,
    };
    let unknown = found.keys().filter(|name| !expected.contains_key(*name));
    let unknown = unknown.map(|name| format!("unknown trigger {name}"));
    expected.iter().filter_map(missing).chain(unknown).collect()
}

/// Checks the triggers of an SQLite file at the current schema against those of a new database.
pub(crate) fn of_file(conn: &mut SqliteConnection) -> StoreResult<Vec<String>> {
    let unable = |error: diesel::ConnectionError| StoreError::Database(error.into());
    let mut new = SqliteConnection::establish(":memory:").map_err(unable)?;
    migrate::sqlite(&mut new)?;
    let triggers = |conn: &mut SqliteConnection| diesel::sql_query(ON_SQLITE).load(conn).map(by_name);
    let expected = triggers(&mut new).map_err(store_error)?;
    Ok(compare(&expected, &triggers(conn).map_err(store_error)?))
}

/// Checks the triggers of a PostgreSQL server. They are optional there: having none is accepted.
pub(crate) async fn of_server(conn: &mut AsyncPgConnection) -> StoreResult<Vec<String>> {
    let found = diesel_async::RunQueryDsl::load(diesel::sql_query(ON_POSTGRES), conn).await;
    let found = found.map(by_name).map_err(store_error)?;
    let of_rows = OF_ROWS.into_iter().map(|(name, function)| (name.to_owned(), function));
    let of_tables = TABLES.into_iter().map(|table| (format!("{table}.stay_whole"), "audit_refuse"));
    let all = of_rows.chain(of_tables).map(|(name, function)| (name, format!("{function} O")));
    let expected: Guards = all.collect();
    let is_any = expected.keys().any(|name| found.contains_key(name));
    Ok(compare(if is_any { &expected } else { const { &Guards::new() } }, &found))
}
