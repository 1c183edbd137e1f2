//! Keeps the planner's statistics of tables that grow quickly on PostgreSQL.
//!
//! Before a table was analyzed, its indexes look alike to the planner, and it keeps the plan that it made then. Autovacuum
//! comes a minute later. SQLite has statistics since its migrations.

use diesel::{QueryableByName, sql_query, sql_types::Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use kernel::StoreResult;

use crate::{Across, conn::Conn, error::store_error};

/// Tables of this role that have at least 50 rows, as many as autovacuum waits for, and three times the rows that they had
/// when they were last analyzed. A large table grows slowly, so autovacuum is in time for it. So it is for queues, whose
/// rows come and go.
const GROWN: &str = "SELECT quote_ident(grown.relname) AS name FROM pg_stat_user_tables AS grown JOIN pg_class ON oid = relid \
    WHERE schemaname = current_schema() AND n_live_tup BETWEEN 50 AND 1000000 AND n_live_tup > 3 * reltuples \
    AND n_mod_since_analyze >= 50 AND pg_has_role(relowner, 'USAGE') ORDER BY 1";

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

impl Across {
    /// Analyzes tables that have grown much since they were last analyzed, and returns their names. A table in the list may
    /// have been left to autovacuum, which was analyzing it already. Skips tables of which the role is not the owner.
    pub async fn analyze_grown_tables(&mut self) -> StoreResult<Vec<String>> {
        let Conn::Postgres(pg) = &mut self.conn else { return Ok(Vec::new()) };
        let conn = &mut *pg.object;
        let grown: Vec<Name> = sql_query(GROWN).load(conn).await.map_err(store_error)?;
        let mut analyzed = Vec::new();
        for Name { name } in grown {
            // Waiting for the lock would cancel autovacuum.
            conn.batch_execute(&format!("ANALYZE (SKIP_LOCKED) {name}")).await.map_err(store_error)?;
            analyzed.push(name);
        }
        Ok(analyzed)
    }
}
