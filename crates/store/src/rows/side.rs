//! A database that is copied from or to, on a connection of its own.

use diesel::{
    QueryableByName,
    connection::{DefaultLoadingMode, SimpleConnection},
    sql_query,
    sql_types::{Bool, Text},
    sqlite::SqliteConnection,
};
use diesel_async::{AsyncPgConnection, SimpleAsyncConnection};
use kernel::{StoreError, StoreResult};

use super::tables::{Column, Kind, Row, Table, quoted};
use crate::{
    DatabaseUrl,
    dialect::Dialect,
    error::{corrupt, store_error},
    migrate,
    postgres::Postgres,
    sqlite,
};

/// Rows that are held in memory.
const BATCH: usize = 500;

/// After this many milliseconds without a statement, PostgreSQL ends the transaction. Longer than it takes to analyze the
/// tables of the other side.
const ABANDONED: u32 = 600_000;

/// The columns of all tables but that of the migrations.
const POSTGRES_COLUMNS: &str = "SELECT relname::text AS relation, attname::text AS name, \
    format_type(atttypid, NULL) AS kind FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid \
    WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace AND attnum > 0 AND NOT attisdropped \
    AND relname <> '__diesel_schema_migrations' ORDER BY relname::text COLLATE \"C\", attname::text COLLATE \"C\"";
const SQLITE_COLUMNS: &str = "SELECT m.name AS relation, p.name AS name, lower(p.type) AS kind \
    FROM sqlite_master m JOIN pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name NOT GLOB 'sqlite_*' \
    AND m.name <> '__diesel_schema_migrations' ORDER BY 1, 2";

/// One of the two databases.
pub(crate) enum Side {
    Postgres(Box<AsyncPgConnection>),
    Sqlite(SqliteConnection),
}

#[derive(QueryableByName)]
struct ColumnRow {
    #[diesel(sql_type = Text)]
    relation: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    kind: String,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    row: String,
}

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Bool)]
    yes: bool,
}

impl Side {
    pub(crate) async fn open(url: &DatabaseUrl) -> StoreResult<Self> {
        Ok(match url {
            DatabaseUrl::Sqlite(path) => Self::Sqlite(sqlite::open(path, "")?),
            DatabaseUrl::Postgres(url) => {
                let postgres = Postgres::new(url, 1, audit::EntryKeys::none())?;
                Self::Postgres(Box::new(postgres.connection().await?))
            }
        })
    }

    /// Returns whether migrations are pending.
    pub(crate) async fn is_behind(url: &DatabaseUrl) -> StoreResult<bool> {
        match Self::open(url).await? {
            Self::Postgres(conn) => migrate::postgres_is_behind(*conn).await,
            Self::Sqlite(mut conn) => migrate::sqlite_is_behind(&mut conn),
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Postgres(_) => Dialect::Postgres,
            Self::Sqlite(_) => Dialect::Sqlite,
        }
    }

    /// Returns all tables in alphabetical order.
    pub(crate) async fn tables(&mut self) -> StoreResult<Vec<Table>> {
        let rows: Vec<ColumnRow> = match self {
            Self::Postgres(conn) => diesel_async::RunQueryDsl::load(sql_query(POSTGRES_COLUMNS), conn)
                .await
                .map_err(store_error)?,
            Self::Sqlite(conn) => {
                diesel::RunQueryDsl::load(sql_query(SQLITE_COLUMNS), conn).map_err(store_error)?
            }
        };
        let mut tables: Vec<Table> = Vec::new();
        for ColumnRow { relation, name, kind } in rows {
            let column = Column { name, kind: Kind::of(&kind)? };
            match tables.last_mut().filter(|table| table.name == relation) {
                Some(table) => table.columns.push(column),
                None => tables.push(Table { name: relation, columns: vec![column] }),
            }
        }
        Ok(tables)
    }

    /// Returns the name of the newest migration.
    pub(crate) async fn newest_migration(&mut self) -> StoreResult<String> {
        let query = sql_query("SELECT max(version) AS \"row\" FROM __diesel_schema_migrations");
        let newest: Line = match self {
            Self::Postgres(conn) => {
                diesel_async::RunQueryDsl::get_result(query, conn).await.map_err(store_error)?
            }
            Self::Sqlite(conn) => diesel::RunQueryDsl::get_result(query, conn).map_err(store_error)?,
        };
        Ok(newest.row)
    }

    /// Begins a transaction in which others can read but not change these tables.
    pub(crate) async fn begin(&mut self, tables: &[Table]) -> StoreResult<()> {
        match self {
            Self::Postgres(conn) => {
                // In the order in which a unit of work locks them: its audit entries are last.
                let names: Vec<_> = tables.iter().rev().map(|table| quoted(&table.name)).collect();
                for statement in [
                    "BEGIN ISOLATION LEVEL REPEATABLE READ",
                    "SET LOCAL statement_timeout = 0",
                    // If this machine dies, the locks end.
                    &format!("SET LOCAL idle_in_transaction_session_timeout = {ABANDONED}"),
                    &format!("LOCK TABLE {} IN EXCLUSIVE MODE", names.join(", ")),
                ] {
                    conn.batch_execute(statement).await.map_err(store_error)?;
                }
                Ok(())
            }
            Self::Sqlite(conn) => conn.batch_execute("BEGIN IMMEDIATE").map_err(store_error),
        }
    }

    /// Begins a transaction that sees one state of the database and keeps nobody from changing it.
    pub(crate) async fn begin_snapshot(&mut self) -> StoreResult<()> {
        self.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "BEGIN").await
    }

    /// Begins a transaction that inserts rows while others change the database.
    pub(crate) async fn begin_change(&mut self) -> StoreResult<()> {
        self.begin_with("BEGIN", "BEGIN IMMEDIATE").await
    }

    /// Begins a transaction without a time limit.
    async fn begin_with(&mut self, postgres: &str, sqlite: &str) -> StoreResult<()> {
        match self {
            Self::Postgres(conn) => {
                for statement in [postgres, "SET LOCAL statement_timeout = 0"] {
                    conn.batch_execute(statement).await.map_err(store_error)?;
                }
                Ok(())
            }
            Self::Sqlite(conn) => conn.batch_execute(sqlite).map_err(store_error),
        }
    }

    /// Returns an error if the transaction has ended.
    pub(crate) async fn check(&mut self) -> StoreResult<()> {
        match self {
            Self::Postgres(conn) => conn.batch_execute("SELECT 1").await.map_err(store_error),
            Self::Sqlite(_) => Ok(()),
        }
    }

    pub(crate) async fn commit(&mut self) -> StoreResult<()> {
        match self {
            Self::Postgres(conn) => conn.batch_execute("COMMIT").await.map_err(store_error),
            Self::Sqlite(conn) => conn.batch_execute("COMMIT").map_err(store_error),
        }
    }

    /// Collects statistics: without them, the first queries would be planned badly. SQLite has those of the migrations,
    /// which suit large tenants.
    pub(crate) async fn analyze(&mut self) {
        let Self::Postgres(conn) = self else { return };
        for statement in ["SET statement_timeout = 0", "ANALYZE"] {
            if let Err(error) = conn.batch_execute(statement).await {
                tracing::warn!(%error, "the tables could not be analyzed");
            }
        }
    }

    /// Returns whether a table has rows.
    pub(crate) async fn has_rows(&mut self, table: &Table) -> StoreResult<bool> {
        self.exists(&format!("SELECT 1 FROM {}", quoted(&table.name))).await
    }

    /// Returns whether a query has rows.
    pub(crate) async fn exists(&mut self, query: &str) -> StoreResult<bool> {
        let query = sql_query(format!("SELECT EXISTS ({query}) AS yes"));
        let answer: Answer = match self {
            Self::Postgres(conn) => {
                diesel_async::RunQueryDsl::get_result(query, conn).await.map_err(store_error)?
            }
            Self::Sqlite(conn) => diesel::RunQueryDsl::get_result(query, conn).map_err(store_error)?,
        };
        Ok(answer.yes)
    }

    /// Returns whether a row of a table has this text in a column.
    pub(crate) async fn has_value(&mut self, table: &Table, column: &str, value: &str) -> StoreResult<bool> {
        let place = match self {
            Self::Postgres(_) => "$1",
            Self::Sqlite(_) => "?1",
        };
        let (table, column) = (quoted(&table.name), quoted(column));
        let query =
            sql_query(format!("SELECT EXISTS (SELECT 1 FROM {table} WHERE {column} = {place}) AS yes"));
        let query = query.bind::<Text, _>(value);
        let answer: Answer = match self {
            Self::Postgres(conn) => {
                diesel_async::RunQueryDsl::get_result(query, conn).await.map_err(store_error)?
            }
            Self::Sqlite(conn) => diesel::RunQueryDsl::get_result(query, conn).map_err(store_error)?,
        };
        Ok(answer.yes)
    }

    /// Inserts rows. With `or_keep`, rows whose key exists stay as they are.
    pub(crate) async fn insert(
        &mut self,
        table: &Table,
        mut rows: Vec<Row>,
        or_keep: bool,
    ) -> StoreResult<()> {
        for row in &mut rows {
            for (column, value) in table.columns.iter().zip(row) {
                if let Some(text) = value {
                    *text = column.kind.canonical(text)?.into_owned();
                }
            }
        }
        let rows = serde_json::to_string(&rows).map_err(|error| corrupt("row", error))?;
        let keep = if or_keep { " ON CONFLICT DO NOTHING" } else { "" };
        let insert = format!("{}{keep}", table.insert(self.dialect()));
        let statement = sql_query(insert).bind::<Text, _>(rows);
        match self {
            Self::Postgres(conn) => diesel_async::RunQueryDsl::execute(statement, conn).await,
            Self::Sqlite(conn) => diesel::RunQueryDsl::execute(statement, conn),
        }
        .map_err(store_error)?;
        Ok(())
    }

    /// Calls a function with the rows of a query ([`Table::select`]), a few at a time. `failed` makes the errors of this
    /// database.
    pub(crate) async fn each_batch<E>(
        &mut self,
        select: &str,
        failed: fn(StoreError) -> E,
        mut with: impl AsyncFnMut(Vec<Row>) -> Result<(), E>,
    ) -> Result<(), E> {
        let broken = |error| failed(store_error(error));
        match self {
            Self::Postgres(conn) => {
                let cursor = format!("DECLARE copied NO SCROLL CURSOR FOR {select}");
                conn.batch_execute(&cursor).await.map_err(broken)?;
                loop {
                    let fetch = sql_query(format!("FETCH {BATCH} FROM copied"));
                    let lines: Vec<Line> =
                        diesel_async::RunQueryDsl::load(fetch, conn).await.map_err(broken)?;
                    if lines.is_empty() {
                        break;
                    }
                    with(read(lines).map_err(failed)?).await?;
                }
                conn.batch_execute("CLOSE copied").await.map_err(broken)
            }
            Self::Sqlite(conn) => {
                let lines =
                    diesel::RunQueryDsl::load_iter::<Line, DefaultLoadingMode>(sql_query(select), conn);
                // After its end, the statement would start again.
                let mut lines = lines.map_err(broken)?.fuse();
                loop {
                    let few = lines.by_ref().take(BATCH).collect::<Result<Vec<_>, _>>().map_err(broken)?;
                    if few.is_empty() {
                        return Ok(());
                    }
                    with(read(few).map_err(failed)?).await?;
                }
            }
        }
    }
}

fn read(lines: Vec<Line>) -> Result<Vec<Row>, StoreError> {
    let row = |line: Line| serde_json::from_str(&line.row).map_err(|error| corrupt("row", error));
    lines.into_iter().map(row).collect()
}
