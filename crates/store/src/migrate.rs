//! Migrates a database to the current schema.

use std::any::Any;

use diesel::{
    connection::{BoxableConnection, SimpleConnection},
    migration::{CREATE_MIGRATIONS_TABLE, Migration, MigrationSource},
    pg::Pg,
    prelude::*,
    sql_types::Bool,
    sqlite::SqliteConnection,
};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use kernel::{StoreError, StoreResult};

use crate::{
    distribution::{self, in_transaction},
    error::store_error,
    schema::users,
    scim_core::users::refold,
};

const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn failed(error: Failure) -> StoreError {
    StoreError::Database(error)
}

/// Applies pending migrations and returns their names.
pub(crate) fn sqlite(conn: &mut SqliteConnection) -> StoreResult<Vec<String>> {
    if !conn.has_pending_migration(SQLITE).map_err(failed)? {
        return Ok(Vec::new());
    }
    // Other processes may open the same new file at the same time. The second waits and finds nothing to do.
    conn.immediate_transaction(|conn| {
        let applied = conn.run_pending_migrations(SQLITE)?;
        Ok(applied.iter().map(ToString::to_string).collect())
    })
    .map_err(failed)
}

/// Returns whether migrations are pending.
pub(crate) fn sqlite_is_behind(conn: &mut SqliteConnection) -> StoreResult<bool> {
    conn.has_pending_migration(SQLITE).map_err(failed)
}

/// Servers that know two roles alone make a user an administrator without clearing the other role, which would come back.
const FORGET_OTHER_ROLES: &str =
    "UPDATE users SET other_role = NULL WHERE role = 'ADMIN' AND other_role IS NOT NULL";

/// Servers that do not know the token of a verified domain recheck domains without storing it.
const RECHECK_DOMAINS: &str = "UPDATE verified_domains SET due_at = verified_at \
    WHERE due_at IS NOT NULL AND missing_since IS NULL AND token IS NULL";

/// Applies pending migrations and returns their names. On a distributed database it also distributes new tables.
pub(crate) async fn postgres(mut conn: AsyncPgConnection) -> StoreResult<Vec<String>> {
    // Migrations may take long. The advisory lock is held until the connection closes: a second server waits and then
    // finds nothing to do.
    let setup = "SET lock_timeout = 0; SET statement_timeout = 0; SELECT pg_advisory_lock(7061746568)";
    execute(&mut conn, setup).await?;
    execute(&mut conn, CREATE_MIGRATIONS_TABLE).await?;
    let mut applied = Vec::new();
    for migration in pending(&mut conn).await? {
        apply(&mut conn, &*migration).await?;
        applied.push(migration.name().to_string());
    }
    if distribution::is_distributed(&mut conn).await? {
        let statements = distribution::remaining(&mut conn, distribution::SHARDS).await?;
        in_transaction(&mut conn, statements.iter().map(String::as_str)).await?;
    } else {
        // Tenants that the previous version created after the migration.
        execute(&mut conn, distribution::RESTORE_SLUGS).await?;
    }
    execute(&mut conn, FORGET_OTHER_ROLES).await?;
    execute(&mut conn, RECHECK_DOMAINS).await?;
    refold::postgres::refold(&mut conn).await?;
    Ok(applied)
}

async fn execute(conn: &mut AsyncPgConnection, statement: &str) -> StoreResult<()> {
    conn.batch_execute(statement).await.map_err(store_error)
}

async fn apply(conn: &mut AsyncPgConnection, migration: &dyn Migration<Pg>) -> StoreResult<()> {
    let mut script = Script::default();
    migration.run(&mut script).map_err(failed)?;
    // A version consists of digits.
    let record =
        format!("INSERT INTO __diesel_schema_migrations (version) VALUES ('{}')", migration.name().version());
    in_transaction(conn, statements(&script.0).into_iter().chain([record.as_str()])).await
}

/// Collects the SQL of a migration instead of running it.
#[derive(Default)]
struct Script(String);

impl SimpleConnection for Script {
    fn batch_execute(&mut self, sql: &str) -> QueryResult<()> {
        self.0.push_str(sql);
        Ok(())
    }
}

impl BoxableConnection<Pg> for Script {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// Splits SQL at the semicolons that are neither in a comment nor in quotes.
fn statements(sql: &str) -> Vec<&str> {
    let (mut found, mut start, mut is_quoted, mut is_comment) = (Vec::new(), 0, false, false);
    for (at, character) in sql.char_indices() {
        match character {
            '\n' => is_comment = false,
            _ if is_comment => {}
            '\'' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '-' if sql[at..].starts_with("--") => is_comment = true,
            ';' => {
                found.push(sql[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let rest = sql[start..].trim();
    if rest.lines().any(|line| !line.trim_start().starts_with("--")) {
        found.push(rest);
    }
    found
}

async fn pending(conn: &mut AsyncPgConnection) -> StoreResult<Vec<Box<dyn Migration<Pg>>>> {
    use __diesel_schema_migrations as applied;
    let applied = applied::table.select(applied::version);
    let applied: Vec<String> = diesel_async::RunQueryDsl::load(applied, conn).await.map_err(store_error)?;
    let mut known = MigrationSource::<Pg>::migrations(&POSTGRES).map_err(failed)?;
    known.retain(|known| !applied.contains(&known.name().version().to_string()));
    known.sort_by_key(|known| known.name().version().as_owned());
    Ok(known)
}

diesel::table! {
    /// The applied migrations, in Diesel's table.
    __diesel_schema_migrations (version) {
        version -> Text,
    }
}

/// Returns whether migrations are pending. Unlike Diesel's own check, it creates no table, because servers may run
/// under a role that cannot create tables.
pub(crate) async fn postgres_is_behind(mut conn: AsyncPgConnection) -> StoreResult<bool> {
    if is_pending(&mut conn).await? {
        return Ok(true);
    }
    // A distributed database was migrated before, and the search below would need all its nodes.
    if distribution::is_distributed(&mut conn).await? {
        return Ok(!distribution::remaining(&mut conn, distribution::SHARDS).await?.is_empty());
    }
    // A role that only manages the audit log cannot read users.
    let may_look = diesel::dsl::sql::<Bool>("has_table_privilege('users', 'SELECT')");
    if !diesel_async::RunQueryDsl::get_result(diesel::select(may_look), &mut conn)
        .await
        .map_err(store_error)?
    {
        return Ok(false);
    }
    let unfolded = users::table.filter(users::folded.is_null());
    let is_due = diesel::select(diesel::dsl::exists(unfolded));
    diesel_async::RunQueryDsl::get_result(is_due, &mut conn).await.map_err(store_error)
}

/// Returns whether migrations are not applied.
pub(crate) async fn is_pending(conn: &mut AsyncPgConnection) -> StoreResult<bool> {
    let exists = diesel::dsl::sql::<Bool>("to_regclass('__diesel_schema_migrations') IS NOT NULL");
    let exists: bool =
        diesel_async::RunQueryDsl::get_result(diesel::select(exists), conn).await.map_err(store_error)?;
    Ok(!exists || !pending(conn).await?.is_empty())
}

#[cfg(test)]
mod tests {
    use super::statements;

    #[test]
    fn a_script_is_split_at_its_statements() {
        let script = "-- Not here; nor here.\nCREATE TABLE a (b TEXT CHECK (b <> ';')); -- nor\nDROP TABLE c;\n-- End.\n";
        let found = statements(script);
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(statements("DROP TABLE a;\nDROP TABLE b"), ["DROP TABLE a", "DROP TABLE b"]);
        assert!(found[0].ends_with("(b <> ';'))") && found[1].ends_with("DROP TABLE c"), "{found:?}");
    }
}
