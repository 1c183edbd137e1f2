//! Looks for work on all shards of a distributed database.
//!
//! One statement for all tenants would fail if any node does not answer. Here each shard answers for itself, so that
//! a node that is down hides only the work of its own tenants.

use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ::webhooks::Key;
use diesel::{
    QueryableByName, sql_query,
    sql_types::{BigInt, Bool, Text},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId, Timestamp};
use serde::de::DeserializeOwned;

use crate::{
    Across,
    conn::{Conn, on},
    error::corrupt,
    prepared::Prepared,
};

/// How often all shards are asked, in milliseconds. Between that, work is found through notifications.
pub(crate) const SWEEP: i64 = 30_000;

/// The first unsealed entry of each tenant. Reads one index entry per tenant.
const UNSEALED: &str = "WITH RECURSIVE found AS (\
    (SELECT tenant_id, entry_id FROM %1$s ORDER BY 1, 2 LIMIT 1) UNION ALL \
    SELECT next.* FROM found, LATERAL (SELECT tenant_id, entry_id FROM %1$s WHERE tenant_id > found.tenant_id \
    ORDER BY 1, 2 LIMIT 1) AS next) \
    SELECT coalesce(json_agg(json_build_array(tenant_id, entry_id)), '[]')::text \
    FROM (SELECT * FROM found LIMIT 1000) AS few";

/// Subscriptions with first attempts. Reads one index entry per subscription.
const FRESH: &str = "WITH RECURSIVE found AS (\
    (SELECT tenant_id, subscription_id FROM %1$s WHERE is_fresh AND due_at IS NOT NULL ORDER BY 1, 2 LIMIT 1) \
    UNION ALL SELECT next.* FROM found, LATERAL (SELECT tenant_id, subscription_id FROM %1$s \
    WHERE is_fresh AND due_at IS NOT NULL AND (tenant_id, subscription_id) > (found.tenant_id, found.subscription_id) \
    ORDER BY 1, 2 LIMIT 1) AS next) \
    SELECT coalesce(json_agg(json_build_array(tenant_id, subscription_id)), '[]')::text \
    FROM (SELECT * FROM found LIMIT 1000) AS few";

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

impl TenantNews {
    pub(crate) fn add(&self, tenant: TenantId) {
        self.lock().insert(tenant);
    }

    pub(crate) fn take(&self) -> BTreeSet<TenantId> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<TenantId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Across {
    /// Runs a query on each shard of a table and returns the rows of those that answered. `%1$s` is the shard.
    async fn on_shards<T: DeserializeOwned>(&mut self, table: &str, query: &str) -> StoreResult<Vec<T>> {
        let ask = sql_query("SELECT shardid, success, result FROM run_command_on_shards($1::regclass, $2)")
            .bind::<Text, _>(table)
            .bind::<Text, _>(query);
        let answers: Vec<ShardRow> = on!(&mut self.conn, c => Prepared(ask).load(c).await)?;
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

    /// Returns tenants with unsealed entries and the first one of each, as far as their nodes answer.
    pub(crate) async fn unsealed_on_shards(&mut self) -> StoreResult<Vec<(TenantId, String)>> {
        let found: Vec<(String, String)> = self.on_shards("audit_unsealed", UNSEALED).await?;
        let read = |(tenant, entry): (String, String)| {
            Ok((tenant.parse().map_err(|error| corrupt("audit_unsealed.tenant_id", error))?, entry))
        };
        found.into_iter().map(read).collect()
    }

    /// Returns subscriptions with first attempts or due retries, as far as their nodes answer.
    pub(crate) async fn due_on_shards(&mut self, now: Timestamp) -> StoreResult<Vec<Key>> {
        let mut found: Vec<(String, String)> = self.on_shards("webhook_deliveries", FRESH).await?;
        let retries = format!(
            "SELECT coalesce(json_agg(json_build_array(tenant_id, subscription_id)), '[]')::text FROM (\
             SELECT tenant_id, subscription_id FROM %1$s WHERE next_retry <= '{}' ORDER BY next_retry LIMIT 1000) AS few",
            now.naive()
        );
        found.extend(self.on_shards::<(String, String)>("webhook_queues", &retries).await?);
        let read = |(tenant, subscription): (String, String)| {
            Ok(Key {
                tenant: tenant.parse().map_err(|error| corrupt("webhook_queues.tenant_id", error))?,
                subscription: subscription
                    .parse()
                    .map_err(|error| corrupt("webhook_queues.subscription_id", error))?,
            })
        };
        found.into_iter().map(read).collect()
    }

    /// Returns the nodes of a distributed database that do not answer, as `host:port`.
    pub(crate) async fn silent_nodes(&mut self) -> StoreResult<Vec<String>> {
        if !matches!(self.conn, Conn::Postgres(_)) {
            return Ok(Vec::new());
        }
        let ask = sql_query(
            "SELECT nodename || ':' || nodeport AS node FROM run_command_on_workers('SELECT 1') \
             WHERE NOT success ORDER BY 1",
        );
        let nodes: Vec<NodeRow> = on!(&mut self.conn, c => Prepared(ask).load(c).await)?;
        Ok(nodes.into_iter().map(|row| row.node).collect())
    }
}
