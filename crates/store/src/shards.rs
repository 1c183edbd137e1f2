//! Looks for work on all shards of a distributed database.
//!
//! One statement for all tenants would fail if any node does not answer. Here each shard answers for itself, so that
//! a node that is down hides only the work of its own tenants.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use diesel::{
    QueryableByName, sql_query,
    sql_types::{BigInt, Bool, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId};
use serde::de::DeserializeOwned;

use crate::{Across, conn::on, error::corrupt, prepared::Prepared};

/// How often all shards are asked, in milliseconds. Between that, work is found through notifications.
pub(crate) const SWEEP: i64 = 30_000;

#[derive(QueryableByName)]
struct ShardRow {
    #[diesel(sql_type = BigInt)]
    shardid: i64,
    #[diesel(sql_type = Bool)]
    success: bool,
    #[diesel(sql_type = Text)]
    result: String,
}

#[derive(QueryableByName)]
struct NodeRow {
    #[diesel(sql_type = Text)]
    node: String,
}

/// Tenants with new audit entries since they were asked for last.
#[derive(Default)]
pub(crate) struct TenantNews(Mutex<BTreeSet<TenantId>>);

/// The most tenants that are remembered. Further ones are found when all shards are asked. An instance that seals nothing
/// never takes its tenants.
const MAX_NEWS: usize = 10_000;

impl TenantNews {
    pub(crate) fn add(&self, tenant: TenantId) {
        let mut tenants = self.lock();
        if tenants.len() < MAX_NEWS {
            tenants.insert(tenant);
        }
    }

    pub(crate) fn take(&self) -> BTreeSet<TenantId> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<TenantId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a query for [`Across::on_shards`]: these columns of the rows that the clauses select.
pub(crate) fn select_of_shard(columns: &str, clauses: &str) -> String {
    format!(
        "SELECT coalesce(json_agg(found), '[]')::text FROM \
         (SELECT json_build_array({columns}) AS found FROM %1$s {clauses}) AS few"
    )
}

/// Merges the first `limit` rows of each shard into the first `limit` rows of all. The rows of a shard must be distinct.
pub(crate) fn merge_first<T: Ord>(mut rows: Vec<T>, limit: i64) -> Vec<T> {
    rows.sort_unstable();
    rows.truncate(usize::try_from(limit).unwrap_or_default());
    rows
}

/// Parses the rows of the shards that answered, and logs that others did not.
fn rows_of<T: DeserializeOwned>(table: &str, answers: Vec<ShardRow>) -> StoreResult<Vec<T>> {
    let mut rows = Vec::new();
    let (answered, failed): (Vec<_>, Vec<_>) = answers.into_iter().partition(|answer| answer.success);
    for answer in answered {
        let some: Vec<T> = serde_json::from_str(&answer.result).map_err(|error| corrupt(table, error))?;
        rows.extend(some);
    }
    if let [one, ..] = failed.as_slice() {
        tracing::warn!(
            shards = failed.len(),
            shard = one.shardid,
            error = one.result,
            "work of some tenants cannot be found; it continues when their node answers"
        );
    }
    Ok(rows)
}

impl Across {
    /// Runs a query on each shard of a table and returns the rows of those that answered. `%1$s` is the shard.
    pub(crate) async fn on_shards<T: DeserializeOwned>(
        &mut self,
        table: &str,
        query: &str,
    ) -> StoreResult<Vec<T>> {
        let ask = sql_query("SELECT shardid, success, result FROM run_command_on_shards($1::regclass, $2)")
            .bind::<Text, _>(table)
            .bind::<Text, _>(query);
        let answers: Vec<ShardRow> = on!(&mut self.conn, c => Prepared(ask).load(c).await)?;
        rows_of(table, answers)
    }

    /// Runs a query on each shard of a table and the shard of another table with the same tenants, `%1$s` and `%2$s`, and
    /// returns the rows of those that answered.
    pub(crate) async fn on_shards_of_both<T: DeserializeOwned>(
        &mut self,
        (table, other): (&str, &str),
        query: &str,
    ) -> StoreResult<Vec<T>> {
        let ask = sql_query(
            "SELECT shardid1 AS shardid, success, result \
             FROM run_command_on_colocated_placements($1::regclass, $2::regclass, $3)",
        )
        .bind::<Text, _>(table)
        .bind::<Text, _>(other)
        .bind::<Text, _>(query);
        let answers: Vec<ShardRow> = on!(&mut self.conn, c => Prepared(ask).load(c).await)?;
        rows_of(table, answers)
    }

    /// Returns the nodes of a distributed database that do not answer, as `host:port`.
    pub(crate) async fn silent_nodes(&mut self) -> StoreResult<Vec<String>> {
        let ask = sql_query(
            "SELECT nodename || ':' || nodeport AS node FROM run_command_on_workers('SELECT 1') \
             WHERE NOT success ORDER BY 1",
        );
        let nodes: Vec<NodeRow> = on!(&mut self.conn, c => Prepared(ask).load(c).await)?;
        Ok(nodes.into_iter().map(|row| row.node).collect())
    }
}
