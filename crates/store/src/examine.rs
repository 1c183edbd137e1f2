//! Examines a database for an operator: its settings, schema, triggers and damage.

use std::path::Path;

use diesel::{
    QueryableByName, RunQueryDsl,
    connection::SimpleConnection,
    sql_types::{BigInt, Bool, Nullable, Text},
};
use diesel_async::AsyncPgConnection;
use kernel::{StoreError, StoreResult, Timestamp};

use crate::{DatabaseUrl, audit::triggers, error::store_error, migrate, postgres::Postgres, sqlite};

/// Tolerated difference of the database's clock, in milliseconds.
const SKEW: u64 = 2000;

/// Days before the expiry of a client certificate from which there is a warning.
const SOON: i64 = 21;

/// The results of examining a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examination {
    /// Program and version.
    pub version: String,
    /// Whether the connection uses TLS; `None` for a file.
    encrypted: Option<bool>,
    /// Whether the connection is safe from interception.
    safe: bool,
    /// When the client certificate expires, in seconds since 1970; `None` without one.
    certificate_ends: Option<i64>,
    /// Whether committed changes survive a crash.
    durable: bool,
    /// The server's clock; `None` for a file.
    now: Option<Timestamp>,
    /// The server's connection limit; `None` for a file.
    max_connections: Option<i64>,
    /// Whether migrations are pending.
    pub behind: bool,
    /// Why it accepts no writes, if it does not.
    pub refuses: Option<String>,
    /// Problems with the triggers that keep the audit log append-only.
    pub guards: Vec<String>,
    /// Damage reported by SQLite's `quick_check`.
    pub damage: Vec<String>,
}

impl Examination {
    /// Examines a database. Reads an SQLite file completely and tests it with a write that changes nothing. Needs a
    /// multi-threaded runtime.
    pub async fn of(url: &DatabaseUrl) -> StoreResult<Self> {
        match url {
            DatabaseUrl::Sqlite(path) => {
                let path = path.clone();
                let examined = tokio::task::spawn_blocking(move || examine_file(&path)).await;
                examined.unwrap_or(Err(StoreError::Aborted("it panicked")))
            }
            DatabaseUrl::Postgres(url) => {
                let postgres = Postgres::new(url, 1, audit::EntryKeys::none())?;
                let behind = migrate::postgres_is_behind(postgres.connection().await?).await?;
                let examined = examine_server(postgres.connection().await?, behind).await?;
                Ok(Self {
                    safe: postgres.is_safe(),
                    certificate_ends: postgres.certificate_ends(),
                    ..examined
                })
            }
        }
    }

    /// Returns problems that do not stop a server but may do harm. The server may open this many connections.
    pub fn warnings(&self, now: Timestamp, connections: usize) -> Vec<String> {
        let mut problems = Vec::new();
        if !self.safe {
            let how = if self.encrypted == Some(true) {
                "encrypted, but the certificate is not verified"
            } else {
                "not encrypted"
            };
            problems.push(format!(
                "the connection to the database is {how}. Add ?sslmode=verify-full to database_url"
            ));
        }
        let days_left = |ends: i64| (ends - now.unix_millis() / 1000).div_euclid(24 * 60 * 60);
        if let Some(days) = self.certificate_ends.map(days_left).filter(|days| *days < SOON) {
            let when = match days {
                1 => "expires in 1 day".to_owned(),
                days if days < 0 => "has expired".to_owned(),
                days => format!("expires in {days} days"),
            };
            problems.push(format!("the client certificate for the database (sslcert) {when}"));
        }
        if !self.durable {
            problems.push(
                "fsync, full_page_writes or synchronous_commit is off, so a crash may lose committed changes"
                    .into(),
            );
        }
        if let Some(theirs) = self.now {
            let skew = theirs.unix_millis().abs_diff(now.unix_millis());
            if skew > SKEW {
                problems.push(format!(
                    "the clocks of the database and this machine differ by {} s. Run NTP on both",
                    skew / 1000
                ));
            }
        }
        let wanted = i64::try_from(connections).unwrap_or(i64::MAX);
        if let Some(max) = self.max_connections.filter(|max| wanted > max - 5) {
            problems.push(format!("this server may open {wanted} connections, but max_connections of the database is {max}. Lower database_pool"));
        }
        problems
    }
}

#[derive(QueryableByName)]
struct Settings {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = Nullable<Bool>)]
    encrypted: Option<bool>,
    #[diesel(sql_type = Bool)]
    durable: bool,
    #[diesel(sql_type = BigInt)]
    millis: i64,
    #[diesel(sql_type = BigInt)]
    max_connections: i64,
    #[diesel(sql_type = Bool)]
    read_only: bool,
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

const SETTINGS: &str = "SELECT 'PostgreSQL ' || current_setting('server_version') AS version, \
     (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS encrypted, \
     current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on' \
       AND current_setting('synchronous_commit') <> 'off' AS durable, \
     (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS millis, \
     current_setting('max_connections')::bigint AS max_connections, \
     pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only";

async fn examine_server(mut conn: AsyncPgConnection, behind: bool) -> StoreResult<Examination> {
    let query = diesel::sql_query(SETTINGS);
    let found: Settings =
        diesel_async::RunQueryDsl::get_result(query, &mut conn).await.map_err(store_error)?;
    let guards = triggers::of_server(&mut conn).await?;
    Ok(Examination {
        guards,
        version: found.version,
        encrypted: Some(found.encrypted == Some(true)),
        safe: false,
        certificate_ends: None,
        durable: found.durable,
        now: Some(Timestamp::from_unix_millis(found.millis)),
        max_connections: Some(found.max_connections),
        behind,
        refuses: found.read_only.then(|| "it is read-only".to_owned()),
        damage: Vec::new(),
    })
}

fn examine_file(path: &Path) -> StoreResult<Examination> {
    let mut conn = sqlite::open(path, "")?;
    let version = diesel::sql_query("SELECT 'SQLite ' || sqlite_version() AS text");
    let version: Line = version.get_result(&mut conn).map_err(store_error)?;
    let check = diesel::sql_query("SELECT quick_check AS text FROM pragma_quick_check LIMIT 20");
    let lines: Vec<Line> = check.load(&mut conn).map_err(store_error)?;
    let damage = lines.into_iter().map(|line| line.text).filter(|text| text != "ok").collect();
    let behind = migrate::sqlite_is_behind(&mut conn)?;
    // Changes nothing, but is written to the write-ahead log.
    let refuses = conn.batch_execute("PRAGMA user_version = 0").err().map(|error| error.to_string());
    let guards = if behind { Vec::new() } else { triggers::of_file(&mut conn)? };
    Ok(Examination {
        guards,
        version: version.text,
        encrypted: None,
        safe: true,
        certificate_ends: None,
        durable: true,
        now: None,
        max_connections: None,
        behind,
        refuses,
        damage,
    })
}

/// Writes a consistent copy of an SQLite file to an empty file, while others read and write.
pub fn back_up_sqlite(path: &Path, to: &Path) -> StoreResult<()> {
    let quoted = to.to_string_lossy().replace('\'', "''");
    let mut conn = sqlite::open(path, "")?;
    conn.batch_execute(&format!("VACUUM INTO '{quoted}'")).map_err(store_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_database_that_may_do_harm_are_warned_of() {
        let now = Timestamp::from_unix_millis(1_000_000);
        let good = Examination {
            version: "PostgreSQL 17".into(),
            encrypted: Some(true),
            safe: true,
            certificate_ends: Some(1_000 + 21 * 24 * 60 * 60),
            durable: true,
            now: Some(now),
            max_connections: Some(100),
            behind: false,
            refuses: None,
            guards: Vec::new(),
            damage: Vec::new(),
        };
        assert_eq!(good.warnings(now, 95), Vec::<String>::new());
        let open = Examination { safe: false, durable: false, max_connections: None, ..good.clone() };
        assert_eq!(open.warnings(now, 1000).len(), 2);
        let ending = Examination { certificate_ends: Some(1_000 + 2 * 24 * 60 * 60 - 1), ..good.clone() };
        assert!(ending.warnings(now, 95)[0].contains("(sslcert) expires in 1 day"));
        let skewed = good.warnings(now.plus_millis(-3_000), 96);
        assert!(skewed[0].contains("differ by 3 s") && skewed[1].contains("96 connections"), "{skewed:?}");
    }
}
