//! Distributes a PostgreSQL database by tenant with the Citus extension.
//!
//! Every table with a tenant is split into shards by it, so that all rows of a tenant are on one node. The few tables
//! without a tenant stay on the coordinator, to which servers connect: no other node is then needed to read or write
//! them, and a transaction that changes them and one tenant still commits in one phase.

use diesel::{
    QueryableByName, sql_query,
    sql_types::{Bool, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use kernel::{StoreError, StoreResult};

use crate::error::store_error;

/// Tables that stay on the coordinator, because their rows are found before the tenant is known.
pub(crate) const ON_COORDINATOR: [&str; 6] =
    ["attempts", "dispatchers", "password_salts", "sign_in_names", "tenant_slugs", "verified_domains"];

/// Number of shards of each table unless the operator chooses another. Shards are moved between nodes as a whole, so
/// this is the maximum number of nodes.
pub const SHARDS: u16 = 32;

/// Adds missing slugs.
pub(crate) const RESTORE_SLUGS: &str =
    "INSERT INTO tenant_slugs (slug, tenant_id) SELECT slug, id FROM tenants ON CONFLICT DO NOTHING";

/// Adds missing sign-in addresses.
const RESTORE_ADDRESSES: &str = "INSERT INTO sign_in_names (email_key, tenant_id, user_id) \
    SELECT sign_in_email_key, tenant_id, id FROM users WHERE sign_in_email_key IS NOT NULL ON CONFLICT DO NOTHING";

const HAS_EXTENSION: &str = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS yes";
const IS_DISTRIBUTED: &str =
    "SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('tenants')) AS yes";

/// Tables with a tenant that are not distributed yet.
const REMAINING: &str = "SELECT relname::text AS text FROM pg_class WHERE relkind = 'r' \
    AND relnamespace = current_schema()::regnamespace \
    AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = pg_class.oid AND attname = 'tenant_id') \
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = pg_class.oid) ORDER BY 1";

/// Foreign keys of tables that are not distributed yet, as the rest of an ALTER TABLE.
const FOREIGN_KEYS: &str = "SELECT conrelid::regclass::text AS relation, quote_ident(conname) AS name, \
    pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE contype = 'f' \
    AND connamespace = current_schema()::regnamespace \
    AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = conrelid) ORDER BY 1, 2";

/// Why a database cannot be distributed.
#[derive(Debug, thiserror::Error)]
pub enum DistributeError {
    /// It is SQLite.
    #[error("only a PostgreSQL database with the Citus extension can be distributed")]
    NotPostgres,
    /// The extension is missing.
    #[error("the database has no Citus extension: run CREATE EXTENSION citus in it on every node")]
    NoExtension,
    /// The schema is older than this program.
    #[error("the database schema is older than this program: run gatehouse migrate first")]
    Behind,
    /// A statement failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Bool)]
    yes: bool,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

#[derive(QueryableByName)]
struct ForeignKey {
    #[diesel(sql_type = Text)]
    relation: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    definition: String,
}

async fn is_true(conn: &mut AsyncPgConnection, query: &str) -> StoreResult<bool> {
    let answer: Answer = sql_query(query).get_result(conn).await.map_err(store_error)?;
    Ok(answer.yes)
}

/// Returns whether the database is distributed.
pub(crate) async fn is_distributed(conn: &mut AsyncPgConnection) -> StoreResult<bool> {
    // Without the extension, the second query would name a table that does not exist.
    Ok(is_true(conn, HAS_EXTENSION).await? && is_true(conn, IS_DISTRIBUTED).await?)
}

/// Returns the statements that distribute what is not distributed yet. They are run in one transaction.
pub(crate) async fn remaining(conn: &mut AsyncPgConnection, shards: u16) -> StoreResult<Vec<String>> {
    let tables: Vec<Line> = sql_query(REMAINING).load(conn).await.map_err(store_error)?;
    let tables = tables.into_iter().map(|line| line.text);
    let tables: Vec<_> = tables.filter(|table| !ON_COORDINATOR.contains(&table.as_str())).collect();
    let is_first = !is_true(conn, IS_DISTRIBUTED).await?;
    if tables.is_empty() && !is_first {
        return Ok(Vec::new());
    }
    let keys: Vec<ForeignKey> = sql_query(FOREIGN_KEYS).load(conn).await.map_err(store_error)?;
    // Creates one shard after the other, because a foreign key needs the shards of both tables.
    let mut statements = vec!["SET LOCAL citus.multi_shard_modify_mode TO 'sequential'".to_owned()];
    // A foreign key is refused while only one of its tables is distributed.
    let drop = |key: &ForeignKey| format!("ALTER TABLE {} DROP CONSTRAINT {}", key.relation, key.name);
    statements.extend(keys.iter().map(drop));
    if is_first {
        // `tenant_slugs` keeps slugs unique.
        statements.push("ALTER TABLE tenants DROP CONSTRAINT IF EXISTS tenants_slug_key".into());
        statements.push(format!("SELECT create_distributed_table('tenants', 'id', shard_count => {shards})"));
    }
    statements.extend(tables.iter().map(|table| {
        format!("SELECT create_distributed_table('{table}', 'tenant_id', colocate_with => 'tenants')")
    }));
    statements.extend(
        keys.iter().map(|key| {
            format!("ALTER TABLE {} ADD CONSTRAINT {} {}", key.relation, key.name, key.definition)
        }),
    );
    Ok(statements)
}

/// Runs statements one by one in a transaction: a distributed database refuses several in one message.
pub(crate) async fn in_transaction<'s>(
    conn: &mut AsyncPgConnection,
    statements: impl IntoIterator<Item = &'s str>,
) -> StoreResult<()> {
    for statement in std::iter::once("BEGIN").chain(statements).chain(["COMMIT"]) {
        conn.batch_execute(statement).await.map_err(store_error)?;
    }
    Ok(())
}

/// Distributes the tables and returns the statements, or only returns them with `dry_run`.
pub(crate) async fn distribute(
    conn: &mut AsyncPgConnection,
    shards: u16,
    dry_run: bool,
) -> Result<Vec<String>, DistributeError> {
    if !is_true(conn, HAS_EXTENSION).await? {
        return Err(DistributeError::NoExtension);
    }
    let statements = remaining(conn, shards).await?;
    if !dry_run {
        let limits = "SET lock_timeout = 0; SET statement_timeout = 0";
        conn.batch_execute(limits).await.map_err(store_error)?;
        in_transaction(conn, statements.iter().map(String::as_str)).await?;
        // A crash of the coordinator may have lost such rows: it commits after the node of the tenant.
        in_transaction(conn, [RESTORE_SLUGS, RESTORE_ADDRESSES]).await?;
    }
    Ok(statements)
}
