//! Replays past events, counts attempts by hour, and purges old attempts.

use std::collections::HashMap;

use ::webhooks::{HourOfDeliveries, Key, ReplaySummary, Subscription, SubscriptionId};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{Ctx, StoreResult, Timestamp};

use super::{
    delivery_row::{PendingRow, event_of},
    key,
};
use crate::{
    Across, Tx,
    conn::on,
    db::Row,
    db::{change_unaudited, read},
    json::JsonText,
    schema::{
        audit_entries as entries, webhook_deliveries as rows, webhook_hours as hours,
        webhook_queues as queues, webhook_subscriptions as subscriptions,
    },
    shards::{merge_first, select_of_shard},
};

/// Maximum number of events per replay.
pub const MAX_REPLAYED: usize = 1_000;
/// Milliseconds that attempts are kept: 30 days.
const KEPT: i64 = 30 * 24 * 3_600_000;
/// Attempts purged per unit of work.
const PURGE_BATCH: i64 = 500;

/// A past event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastEvent {
    at: Timestamp,
    entry: String,
    code: &'static str,
    /// Only if the subscription is ordered.
    subject: Option<String>,
}

impl Tx {
    /// Returns a subscription's events from `from` (inclusive) to `to` (exclusive), oldest first, at most
    /// [`MAX_REPLAYED`] + 1. Each event type is searched by its index, so that a rare type does not scan the audit
    /// log.
    pub async fn past_events(
        &mut self,
        subscription: &Subscription,
        (from, to): (Timestamp, Timestamp),
    ) -> StoreResult<Vec<PastEvent>> {
        let most = MAX_REPLAYED + 1;
        let mut found: Vec<PastEvent> = Vec::new();
        for code in audit::events::catalog().codes().filter(|code| subscription.wants(code)) {
            let query = entries::table
                .filter(entries::tenant_id.eq(self.tenant.as_str()))
                .filter(entries::action.eq(code))
                .filter(entries::created_at.ge(from.naive()))
                .filter(entries::created_at.lt(to.naive()))
                .order((entries::created_at, entries::id))
                .limit(i64::try_from(most).unwrap_or(i64::MAX))
                .select((
                    entries::created_at,
                    entries::id,
                    entries::resource_type,
                    entries::resource_id,
                    entries::metadata,
                ));
            let some: Vec<(NaiveDateTime, String, String, String, JsonText)> =
                read!(self, c => query.load(c).await)?;
            let other = some.into_iter().filter(|(.., about, _)| about != subscription.id.as_str());
            found.extend(other.map(|(at, entry, kind, id, data)| PastEvent {
                at: Timestamp::from_naive(at),
                entry,
                code,
                subject: subscription.ordered.then(|| audit::subject((&kind, &id), &data.0)),
            }));
        }
        found.sort_by(|one, other| (one.at, &one.entry).cmp(&(other.at, &other.entry)));
        found.truncate(most);
        Ok(found)
    }

    /// Queues at most [`MAX_REPLAYED`] of these events for delivery.
    pub fn replay_webhook(
        &mut self,
        ctx: &Ctx,
        id: &SubscriptionId,
        past: Vec<PastEvent>,
    ) -> StoreResult<ReplaySummary> {
        let next_from = past.get(MAX_REPLAYED).map(|past| past.at);
        let some = past.into_iter().take(MAX_REPLAYED);
        let mut replayed = 0;
        for PastEvent { entry, code, subject, .. } in some {
            let row = PendingRow::fresh(ctx, id, (event_of(&entry), code.to_owned()), (1, None));
            let row = PendingRow { subject, ..row };
            self.db.later(Row::Delivery(Box::new(row)))?;
            replayed += 1;
        }
        if replayed > 0 {
            self.db.require_entry();
        }
        self.db.wake_subscription(id.clone(), false);
        Ok(ReplaySummary { replayed, next_from })
    }

    /// Returns a subscription's attempts by hour, starting at `from`.
    pub async fn hours_of_deliveries(
        &mut self,
        id: &SubscriptionId,
        from: Timestamp,
    ) -> StoreResult<Vec<HourOfDeliveries>> {
        let query = hours::table
            .filter(hours::tenant_id.eq(self.tenant.as_str()))
            .filter(hours::subscription_id.eq(id.as_str()))
            .filter(hours::hour.ge(from.naive()))
            .order(hours::hour)
            .select((hours::hour, hours::succeeded, hours::failed));
        let found: Vec<(NaiveDateTime, i64, i64)> = read!(self, c => query.load(c).await)?;
        let hour = |(hour, succeeded, failed)| HourOfDeliveries {
            hour: Timestamp::from_naive(hour),
            succeeded,
            failed,
        };
        Ok(found.into_iter().map(hour).collect())
    }

    /// Returns how many attempts succeeded and failed since `from`, by subscription. Leaves out subscriptions without
    /// attempts.
    pub async fn delivery_counts(&mut self, from: Timestamp) -> StoreResult<HashMap<String, (i64, i64)>> {
        let query = hours::table
            .filter(hours::tenant_id.eq(self.tenant.as_str()))
            .filter(hours::hour.ge(from.naive()))
            .select((hours::subscription_id, hours::succeeded, hours::failed));
        let found: Vec<(String, i64, i64)> = read!(self, c => query.load(c).await)?;
        let mut counts: HashMap<String, (i64, i64)> = HashMap::new();
        for (subscription, succeeded, failed) in found {
            let count = counts.entry(subscription).or_default();
            *count = (count.0 + succeeded, count.1 + failed);
        }
        Ok(counts)
    }

    /// Purges attempts older than 30 days, or all attempts of a deleted subscription and finally the subscription
    /// itself. Returns whether there are more.
    pub async fn purge_deliveries(&mut self, id: &SubscriptionId, now: Timestamp) -> StoreResult<bool> {
        let tenant = self.tenant.as_str().to_owned();
        let subscription = subscriptions::table.find((&tenant, id.as_str()));
        let is_deleted: Option<bool> =
            read!(self, c => subscription.select(subscriptions::is_deleted).first(c).await.optional())?;
        let is_deleted = is_deleted.unwrap_or(true);
        let before = if is_deleted { now.plus_millis(24 * 3_600_000) } else { now.plus_millis(-KEPT) };
        // Ids sort by time.
        let first = webhooks::DeliveryId::first_at(before);
        let old = rows::table
            .filter(rows::tenant_id.eq(&tenant))
            .filter(rows::subscription_id.eq(id.as_str()))
            .filter(rows::id.lt(first.as_str()))
            .order(rows::id)
            .limit(PURGE_BATCH)
            .select(rows::id);
        let ids: Vec<String> = read!(self, c => old.load(c).await)?;
        if let Some(last) = ids.last() {
            let away = rows::table
                .filter(rows::tenant_id.eq(&tenant))
                .filter(rows::subscription_id.eq(id.as_str()))
                .filter(rows::id.le(last));
            change_unaudited!(self, Unaudited::Delivered, c => diesel::delete(away).execute(c).await)?;
            self.release_first(id, now).await?;
        }
        let old = hours::table
            .filter(hours::tenant_id.eq(&tenant))
            .filter(hours::subscription_id.eq(id.as_str()))
            .filter(hours::hour.lt(before.naive()));
        change_unaudited!(self, Unaudited::Delivered, c => diesel::delete(old).execute(c).await)?;
        let has_more = i64::try_from(ids.len()).is_ok_and(|count| count == PURGE_BATCH);
        // A concurrent change may have added a delivery for the deleted subscription. The next call purges it.
        if is_deleted && ids.is_empty() {
            let queue = queues::table.find((&tenant, id.as_str()));
            change_unaudited!(self, Unaudited::Delivered, c => diesel::delete(queue).execute(c).await)?;
            change_unaudited!(self, Unaudited::Delivered, c => diesel::delete(subscription).execute(c).await)?;
        }
        Ok(has_more)
    }
}

impl Across {
    /// Returns at most `most` subscriptions of all tenants after `after`, including deleted ones.
    pub async fn webhooks_after(&mut self, after: Option<&Key>, most: i64) -> StoreResult<Vec<Key>> {
        let (tenant, id) = after.map_or(("", ""), |key| (key.tenant.as_str(), key.subscription.as_str()));
        if self.is_distributed {
            let later =
                format!("WHERE (tenant_id, id) > ('{tenant}', '{id}') ORDER BY tenant_id, id LIMIT {most}");
            let found: Vec<(String, String)> =
                self.on_shards("webhook_subscriptions", &select_of_shard("tenant_id, id", &later)).await?;
            return keys(&merge_first(found, most));
        }
        let later = subscriptions::tenant_id
            .gt(tenant)
            .or(subscriptions::tenant_id.eq(tenant).and(subscriptions::id.gt(id)));
        let query = subscriptions::table
            .filter(subscriptions::tenant_id.ge(tenant))
            .filter(later)
            .order((subscriptions::tenant_id, subscriptions::id))
            .limit(most)
            .select((subscriptions::tenant_id, subscriptions::id));
        keys(&on!(&mut self.conn, c => query.load(c).await)?)
    }
}

fn keys(found: &[(String, String)]) -> StoreResult<Vec<Key>> {
    found.iter().map(|(tenant, id)| key("webhook_subscriptions", (tenant, id))).collect()
}
