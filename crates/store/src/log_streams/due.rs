//! Finds streams with entries to send, over all tenants.

use ::log_streams::{Key, Lease};
use chrono::DateTime;
use diesel::{dsl::sql, prelude::*, sql_types::BigInt};
use diesel_async::RunQueryDsl;
use kernel::StoreResult;

use crate::{
    Across,
    conn::on,
    error::corrupt,
    schema::{audit_logs as logs, log_stream_states as states},
    shards::{merge_first, select_of_shard},
};

impl Across {
    /// Returns streams whose next attempt is due, that no other worker has a lease of, and that have not sent the whole log
    /// or have sent more than it contains.
    pub async fn due_log_streams(&mut self, lease: &Lease, limit: i64) -> StoreResult<Vec<Key>> {
        let now = lease.now.naive();
        let found: Vec<(String, String)> = if self.is_distributed {
            let owner = &lease.owner;
            let due = format!(
                "JOIN %2$s AS logs USING (tenant_id) WHERE enabled AND due_at <= '{now}' AND position <> size \
                 AND (log_stream_states.lease_owner IN ('', '{owner}') OR log_stream_states.lease_until <= '{now}') \
                 ORDER BY due_at LIMIT {limit}"
            );
            let due =
                select_of_shard("tenant_id, stream_id", &due).replace("%1$s", "%1$s AS log_stream_states");
            self.on_shards_of_both(("log_stream_states", "audit_logs"), &due).await?
        } else {
            let is_free = states::lease_owner
                .eq("")
                .or(states::lease_owner.eq(&lease.owner))
                .or(states::lease_until.le(now));
            let query = states::table
                .inner_join(logs::table.on(logs::tenant_id.eq(states::tenant_id)))
                .filter(states::enabled)
                .filter(states::due_at.le(now))
                .filter(states::position.ne(logs::size))
                .filter(is_free)
                .order(states::due_at)
                .limit(limit)
                .select((states::tenant_id, states::stream_id));
            on!(&mut self.conn, c => query.load(c).await)?
        };
        merge_first(found, limit).iter().map(key).collect()
    }
}

/// The enabled streams of all tenants.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogStreamBacklog {
    /// Streams whose last batch failed.
    pub failing: i64,
    /// Sealed entries that streams have yet to send.
    pub waiting: i64,
}

/// Failing streams, and entries that wait.
const BACKLOG: (&str, &str) = (
    "count(*) FILTER (WHERE failing_since IS NOT NULL)",
    "CAST(coalesce(sum(CASE WHEN size > position THEN size - position ELSE 0 END), 0) AS BIGINT)",
);

impl Across {
    /// Counts failing streams and what streams have yet to send. Reads all enabled streams. On a distributed database these
    /// are the streams of the shards whose nodes answer.
    pub async fn log_stream_backlog(&mut self) -> StoreResult<LogStreamBacklog> {
        let (failing, waiting) = BACKLOG;
        let found: Vec<(i64, i64)> = if self.is_distributed {
            let counted = format!(
                "SELECT json_build_array(json_build_array({failing}, {waiting}))::text FROM %1$s AS log_stream_states \
                 JOIN %2$s AS logs USING (tenant_id) WHERE enabled"
            );
            self.on_shards_of_both(("log_stream_states", "audit_logs"), &counted).await?
        } else {
            // The condition on the time makes SQLite read the index of enabled streams.
            let query = states::table
                .inner_join(logs::table.on(logs::tenant_id.eq(states::tenant_id)))
                .filter(states::enabled)
                .filter(states::due_at.ge(DateTime::UNIX_EPOCH.naive_utc()))
                .select((sql::<BigInt>(failing), sql::<BigInt>(waiting)));
            vec![on!(&mut self.conn, c => query.get_result(c).await)?]
        };
        let add = |sum: LogStreamBacklog, (failing, waiting): (i64, i64)| LogStreamBacklog {
            failing: sum.failing + failing,
            waiting: sum.waiting + waiting,
        };
        Ok(found.into_iter().fold(LogStreamBacklog::default(), add))
    }
}

fn key((tenant, stream): &(String, String)) -> StoreResult<Key> {
    Ok(Key {
        tenant: tenant.parse().map_err(|error| corrupt("log_stream_states.tenant_id", error))?,
        stream: stream.parse().map_err(|error| corrupt("log_stream_states.stream_id", error))?,
    })
}
