//! Bringing a database to the present schema.

use diesel::sqlite::SqliteConnection;
use diesel_async::{AsyncMigrationHarness, AsyncPgConnection};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use kernel::StoreError;

const SQLITE: EmbeddedMigrations = embed_migrations!("../../migrations/sqlite");
const POSTGRES: EmbeddedMigrations = embed_migrations!("../../migrations/postgres");

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn failed(error: Failure) -> StoreError {
    StoreError::Database(error)
}

/// Applies what is missing; the names of what was applied.
pub(crate) fn sqlite(conn: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let applied = conn.run_pending_migrations(SQLITE).map_err(failed)?;
    Ok(applied.iter().map(ToString::to_string).collect())
}

/// Applies what is missing; the names of what was applied. Must be called on a multi-threaded runtime.
pub(crate) fn postgres(conn: AsyncPgConnection) -> Result<Vec<String>, StoreError> {
    let mut harness = AsyncMigrationHarness::new(conn);
    let applied = harness.run_pending_migrations(POSTGRES).map_err(failed)?;
    Ok(applied.iter().map(ToString::to_string).collect())
}

/// Whether something is missing. Must be called on a multi-threaded runtime.
pub(crate) fn postgres_is_behind(conn: AsyncPgConnection) -> Result<bool, StoreError> {
    AsyncMigrationHarness::new(conn).has_pending_migration(POSTGRES).map_err(failed)
}
