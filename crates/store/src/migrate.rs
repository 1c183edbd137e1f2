//! Migrates a database to the current schema.

use diesel::{migration::MigrationSource, pg::Pg, prelude::*, sql_types::Bool, sqlite::SqliteConnection};
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection, SimpleAsyncConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use kernel::{StoreError, StoreResult};

use crate::{error::store_error, schema::users, scim_core::users::refold};

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

/// Applies pending migrations and returns their names. Must be called on a multi-threaded runtime.
pub(crate) async fn postgres(mut conn: AsyncPgConnection) -> StoreResult<Vec<String>> {
    // Migrations may take long. The advisory lock is held until the connection closes: a second server waits and then
    // finds nothing to do.
    conn.batch_execute(
        "SET lock_timeout = 0; SET statement_timeout = 0; SELECT pg_advisory_lock(7061746568)",
    )
    .await
    .map_err(store_error)?;
    let mut harness = AsyncMigrationHarness::new(conn);
    let applied: Vec<_> =
        harness.run_pending_migrations(POSTGRES).map_err(failed)?.iter().map(ToString::to_string).collect();
    refold::postgres::refold(&mut harness.into_inner()).await?;
    Ok(applied)
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
    use __diesel_schema_migrations as applied;
    let exists = diesel::dsl::sql::<Bool>("to_regclass('__diesel_schema_migrations') IS NOT NULL");
    let exists: bool = diesel_async::RunQueryDsl::get_result(diesel::select(exists), &mut conn)
        .await
        .map_err(store_error)?;
    if !exists {
        return Ok(true);
    }
    let applied = applied::table.select(applied::version);
    let applied: Vec<String> =
        diesel_async::RunQueryDsl::load(applied, &mut conn).await.map_err(store_error)?;
    let known = MigrationSource::<Pg>::migrations(&POSTGRES).map_err(failed)?;
    if known.iter().any(|known| !applied.contains(&known.name().version().to_string())) {
        return Ok(true);
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
