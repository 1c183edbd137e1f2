//! Deliveries that have not been made yet, over all tenants.

use chrono::NaiveDateTime;
use diesel::{
    dsl::sql,
    prelude::*,
    sql_types::{BigInt, Bool, Nullable, Text, Timestamp as SqlTimestamp},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use webhooks::EventId;

use super::queue::{FRESH_ROWS, RETRY_ROWS};
use crate::{
    Across,
    conn::on,
    error::corrupt,
    schema::{webhook_deliveries as rows, webhook_subscriptions as subscriptions},
};

/// The pending deliveries of all enabled webhooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WebhookBacklog {
    /// Deliveries that are due, wait for a retry, or wait behind another one.
    pub pending: i64,
    /// When the delivery that has been due for longest became due.
    pub due_since: Option<Timestamp>,
    /// Creation time of the oldest event that a webhook has yet to receive.
    pub oldest_event: Option<Timestamp>,
}

/// The number of deliveries, since when the first is due, and the ID of the oldest event.
type PendingCount = (i64, Option<NaiveDateTime>, Option<String>);

fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    one.into_iter().chain(other).min()
}

impl Across {
    /// Counts pending deliveries. Reads all of them.
    pub async fn webhook_backlog(&mut self, now: Timestamp) -> StoreResult<WebhookBacklog> {
        let fresh = self.backlog_of(FRESH_ROWS, now).await?;
        let retries = self.backlog_of(RETRY_ROWS, now).await?;
        Ok(WebhookBacklog {
            pending: fresh.pending + retries.pending,
            due_since: earliest(fresh.due_since, retries.due_since),
            oldest_event: earliest(fresh.oldest_event, retries.oldest_event),
        })
    }

    /// Counts pending deliveries of a kind, each of which has an index of its own. On a distributed database these are
    /// deliveries of the shards whose nodes answer.
    async fn backlog_of(&mut self, kind: &'static str, now: Timestamp) -> StoreResult<WebhookBacklog> {
        let rows = if self.is_distributed {
            let at = now.naive();
            // The alias is the name that `kind` uses.
            let count = format!(
                "SELECT json_build_array(json_build_array(count(*), min(due_at) FILTER (WHERE due_at <= '{at}'), \
                 min(event_id)))::text FROM %1$s AS webhook_deliveries JOIN %2$s AS webhooks \
                 ON webhooks.tenant_id = webhook_deliveries.tenant_id AND webhooks.id = subscription_id \
                 WHERE enabled AND {kind} AND due_at IS NOT NULL"
            );
            self.on_shards_of_both(("webhook_deliveries", "webhook_subscriptions"), &count).await?
        } else {
            vec![self.pending_of(kind, now).await?]
        };
        let mut backlog = WebhookBacklog::default();
        for (pending, due_since, event) in rows {
            let event = event.map(|id| id.parse::<EventId>()).transpose();
            let event = event.map_err(|error| corrupt("webhook_deliveries.event_id", error))?;
            backlog.pending += pending;
            backlog.due_since = earliest(backlog.due_since, due_since.map(Timestamp::from_naive));
            backlog.oldest_event = earliest(backlog.oldest_event, event.map(|id| id.created_at()));
        }
        Ok(backlog)
    }

    async fn pending_of(&mut self, kind: &'static str, now: Timestamp) -> StoreResult<PendingCount> {
        let due_since = sql::<Nullable<SqlTimestamp>>("min(due_at) FILTER (WHERE due_at <= ")
            .bind::<SqlTimestamp, _>(now.naive())
            .sql(")");
        let query = rows::table
            .inner_join(subscriptions::table.on(
                subscriptions::tenant_id.eq(rows::tenant_id).and(subscriptions::id.eq(rows::subscription_id)),
            ))
            .filter(subscriptions::enabled)
            .filter(sql::<Bool>(kind))
            .filter(rows::due_at.is_not_null())
            .select((sql::<BigInt>("count(*)"), due_since, sql::<Nullable<Text>>("min(event_id)")));
        on!(&mut self.conn, c => query.get_result(c).await)
    }
}
