//! Finds and leases subscriptions with due deliveries.

use ::webhooks::{Key, Lease, LeaseOutcome, Receiver, SubscriptionId};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::{
    prelude::*,
    sql_types::{Bool, Text, Timestamp as SqlTimestamp},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};

use super::{delivery_row::PendingRow, key};
use crate::{
    Across, Tx,
    conn::on,
    db::{change_unaudited, read},
    json::{JsonText, read_json},
    prepared::Prepared,
    schema::{
        pending_deliveries, webhook_deliveries as rows, webhook_queues as queues,
        webhook_subscriptions as subscriptions,
    },
    shards::select_of_shard,
};

/// Subscriptions with first attempts. Reads one index entry per subscription.
const FRESH: &str = "WITH RECURSIVE found AS (\
    (SELECT tenant_id, subscription_id FROM %1$s WHERE is_fresh AND due_at IS NOT NULL ORDER BY 1, 2 LIMIT 1) \
    UNION ALL SELECT next.* FROM found, LATERAL (SELECT tenant_id, subscription_id FROM %1$s \
    WHERE is_fresh AND due_at IS NOT NULL AND (tenant_id, subscription_id) > (found.tenant_id, found.subscription_id) \
    ORDER BY 1, 2 LIMIT 1) AS next) \
    SELECT coalesce(json_agg(json_build_array(tenant_id, subscription_id)), '[]')::text \
    FROM (SELECT * FROM found LIMIT 1000) AS few";

/// A subscription with pending first attempts.
#[derive(Debug, Clone)]
pub struct PendingSubscription {
    /// The subscription.
    pub key: Key,
    /// Whether it can be leased: it is enabled, and no other dispatcher has it.
    pub is_open: bool,
}

/// A subscription with due retries.
#[derive(Debug, Clone)]
pub struct DueRetry {
    /// The subscription.
    pub key: Key,
    /// When its first retry became due.
    pub due_at: Timestamp,
    /// Whether no other dispatcher has it.
    pub is_open: bool,
}

impl Across {
    /// Returns the next subscription, in order of tenant and id, with pending first attempts.
    pub async fn next_with_fresh(
        &mut self,
        after: Option<&Key>,
        lease: &Lease,
    ) -> StoreResult<Option<PendingSubscription>> {
        let (tenant, subscription) =
            after.map_or(("", ""), |key| (key.tenant.as_str(), key.subscription.as_str()));
        let is_fresh = diesel::dsl::sql::<Bool>("webhook_deliveries.is_fresh");
        let later = diesel::dsl::sql::<Bool>(
            "(webhook_deliveries.tenant_id, webhook_deliveries.subscription_id) > (",
        )
        .bind::<Text, _>(tenant)
        .sql(", ")
        .bind::<Text, _>(subscription)
        .sql(")");
        let query = rows::table
            .filter(is_fresh)
            .filter(rows::due_at.is_not_null())
            .filter(later)
            .order((rows::tenant_id, rows::subscription_id))
            .select((rows::tenant_id, rows::subscription_id));
        let row: Option<(String, String)> = on!(&mut self.conn, c => query.first(c).await.optional())?;
        let Some((tenant, subscription)) = row else { return Ok(None) };
        let at = (&tenant, &subscription);
        let query = queues::table
            .inner_join(
                subscriptions::table.on(subscriptions::tenant_id
                    .eq(queues::tenant_id)
                    .and(subscriptions::id.eq(queues::subscription_id))),
            )
            .filter(queues::tenant_id.eq(at.0))
            .filter(queues::subscription_id.eq(at.1))
            .select((queues::lease_owner, queues::lease_until, subscriptions::enabled));
        let queue: Option<(String, NaiveDateTime, bool)> =
            on!(&mut self.conn, c => query.first(c).await.optional())?;
        let is_open = queue.is_some_and(|(owner, until, enabled)| {
            enabled && lease.may_take(&owner, Timestamp::from_naive(until))
        });
        Ok(Some(PendingSubscription { key: key("webhook_deliveries", (&tenant, &subscription))?, is_open }))
    }

    /// Returns subscriptions with due retries, longest due first. `after` continues a previous call that did not reach
    /// the end.
    pub async fn with_retries(
        &mut self,
        lease: &Lease,
        after: Option<&(Timestamp, Key)>,
        most: i64,
    ) -> StoreResult<Vec<DueRetry>> {
        let now = lease.now.naive();
        let (time, tenant, subscription) = match after {
            Some((time, key)) => (*time, key.tenant.as_str(), key.subscription.as_str()),
            None => (Timestamp::from_unix_millis(0), "", ""),
        };
        let later = diesel::dsl::sql::<Bool>("(next_retry, tenant_id, subscription_id) > (")
            .bind::<SqlTimestamp, _>(time.naive())
            .sql(", ")
            .bind::<Text, _>(tenant)
            .sql(", ")
            .bind::<Text, _>(subscription)
            .sql(")");
        let query = queues::table
            .filter(queues::next_retry.is_not_null())
            .filter(queues::next_retry.le(now))
            .filter(later)
            .order((queues::next_retry, queues::tenant_id, queues::subscription_id))
            .limit(most)
            .select((
                queues::next_retry.assume_not_null(),
                queues::tenant_id,
                queues::subscription_id,
                queues::lease_owner,
                queues::lease_until,
            ));
        let found: Vec<RetryRow> = on!(&mut self.conn, c => query.load(c).await)?;
        let one = |(time, tenant, subscription, owner, until): &RetryRow| {
            Ok(DueRetry {
                key: key("webhook_queues", (tenant, subscription))?,
                due_at: Timestamp::from_naive(*time),
                is_open: lease.may_take(owner, Timestamp::from_naive(*until)),
            })
        };
        found.iter().map(one).collect()
    }

    /// Returns subscriptions with first attempts or due retries, as far as their nodes answer.
    pub(crate) async fn due_on_shards(&mut self, now: Timestamp) -> StoreResult<Vec<Key>> {
        let mut found: Vec<(String, String)> = self.on_shards("webhook_deliveries", FRESH).await?;
        let due = format!("WHERE next_retry <= '{}' ORDER BY next_retry LIMIT 1000", now.naive());
        let retries = select_of_shard("tenant_id, subscription_id", &due);
        found.extend(self.on_shards::<(String, String)>("webhook_queues", &retries).await?);
        found.iter().map(|(tenant, id)| key("webhook_queues", (tenant, id))).collect()
    }
}

/// Selects first attempts.
pub(super) const FRESH_ROWS: &str = "webhook_deliveries.is_fresh";
/// Selects retries, and attempts that wait.
pub(super) const RETRY_ROWS: &str = "NOT webhook_deliveries.is_fresh";

/// Next retry, tenant, subscription, and owner and end of the lease.
type RetryRow = (NaiveDateTime, String, String, String, NaiveDateTime);

/// URL, secrets, order, start of the current failures, and lease owner.
type ReceiverRow = (String, JsonText, bool, Option<NaiveDateTime>, String);

impl Tx {
    /// Leases a subscription by compare-and-set. Returns whether this succeeded.
    pub async fn lease_webhook(&mut self, id: &SubscriptionId, lease: &Lease) -> StoreResult<bool> {
        let row = queues::table.find((self.tenant.as_str(), id.as_str()));
        let held = row.select((queues::lease_owner, queues::lease_until));
        let held: Option<(String, NaiveDateTime)> = read!(self, c => held.first(c).await.optional())?;
        let Some((owner, until)) = held else { return Ok(false) };
        if !lease.may_take(&owner, Timestamp::from_naive(until)) {
            return Ok(false);
        }
        let same = row.filter(queues::lease_owner.eq(&owner)).filter(queues::lease_until.eq(until));
        let ours = (queues::lease_owner.eq(&lease.owner), queues::lease_until.eq(lease.until.naive()));
        let update = Prepared(diesel::update(same).set(ours));
        let is_ours = change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)? == 1;
        if is_ours && owner != lease.owner {
            self.release_first(id, lease.now).await?;
        }
        Ok(is_ours)
    }

    /// Releases the leases of subscriptions.
    pub async fn release_webhooks(
        &mut self,
        ids: &[SubscriptionId],
        owner: &str,
        now: Timestamp,
    ) -> StoreResult<()> {
        for id in ids {
            let ours =
                queues::table.find((self.tenant.as_str(), id.as_str())).filter(queues::lease_owner.eq(owner));
            let update = Prepared(diesel::update(ours).set(queues::lease_until.eq(now.naive())));
            change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        }
        Ok(())
    }

    /// Returns the receiver and its due deliveries: at most `most` first attempts and `most` retries. `None` if this
    /// needs a unit of work that writes, because the subscription is ordered.
    pub async fn take_webhook(
        &mut self,
        id: &SubscriptionId,
        lease: &Lease,
        most: usize,
    ) -> StoreResult<Option<LeaseOutcome>> {
        let query = subscriptions::table
            .inner_join(
                queues::table.on(queues::tenant_id
                    .eq(subscriptions::tenant_id)
                    .and(queues::subscription_id.eq(subscriptions::id))),
            )
            .filter(subscriptions::tenant_id.eq(self.tenant.as_str()))
            .filter(subscriptions::id.eq(id.as_str()))
            .filter(subscriptions::enabled.eq(true))
            .select((
                subscriptions::url,
                subscriptions::secrets,
                subscriptions::ordered,
                queues::failing_since,
                queues::lease_owner,
            ));
        let found: Option<ReceiverRow> = read!(self, c => query.first(c).await.optional())?;
        let Some((url, secrets, is_ordered, failing_since, owner)) = found else {
            return Ok(Some(LeaseOutcome::Nothing));
        };
        if owner != lease.owner {
            return Ok(Some(LeaseOutcome::Elsewhere));
        }
        if is_ordered && !self.db.is_writable() {
            return Ok(None);
        }
        let receiver = Receiver {
            url,
            secrets: read_json("webhook_subscriptions.secrets", &secrets)?,
            failing_since: failing_since.map(Timestamp::from_naive),
        };
        if is_ordered {
            self.lock_queue(id).await?;
        }
        let (fresh, has_more) = self.due(id, FRESH_ROWS, (is_ordered, lease.now), most).await?;
        let (retries, has_more_retries) = self.due(id, RETRY_ROWS, (is_ordered, lease.now), most).await?;
        Ok(Some(LeaseOutcome::Ours {
            receiver: Box::new(receiver),
            fresh: self.attempts(fresh).await?,
            retries: self.attempts(retries).await?,
            has_more: has_more || has_more_retries,
        }))
    }

    async fn due(
        &mut self,
        id: &SubscriptionId,
        kind: &'static str,
        (is_ordered, now): (bool, Timestamp),
        most: usize,
    ) -> StoreResult<(Vec<PendingRow>, bool)> {
        if is_ordered {
            return self.due_in_order(id, kind, now, most).await;
        }
        let query = pending_deliveries::table
            .filter(pending_deliveries::tenant_id.eq(self.tenant.as_str()))
            .filter(pending_deliveries::subscription_id.eq(id.as_str()))
            .filter(diesel::dsl::sql::<Bool>(kind))
            .filter(pending_deliveries::due_at.is_not_null())
            .filter(pending_deliveries::due_at.le(now.naive()))
            .order((pending_deliveries::due_at, pending_deliveries::id))
            .limit(i64::try_from(most).unwrap_or(i64::MAX));
        let found: Vec<PendingRow> = read!(self, c => query.select(PendingRow::as_select()).load(c).await)?;
        let has_more = found.len() >= most;
        Ok((found, has_more))
    }
}
