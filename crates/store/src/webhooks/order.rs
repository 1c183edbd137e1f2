//! Order of the events of a subject, for webhooks that ask for it.
//!
//! Only the earliest pending event of a subject is due. Later ones wait until its outcome is recorded, so that a crash
//! cannot change the order. The queue of the webhook is locked while events start to wait and while they are released.

use ::webhooks::{Report, SubscriptionId};
use audit::Unaudited;
use chrono::{NaiveDate, NaiveDateTime, NaiveTime};
use diesel::{
    prelude::*,
    sql_types::{Bool, Text, Timestamp as SqlTimestamp},
};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};

use super::delivery_row::PendingRow;
use crate::{
    Tx,
    db::{change_unaudited, lock, read},
    prepared::Prepared,
    schema::{pending_deliveries as rows, webhook_queues as queues},
};

/// When a waiting attempt is due: not before it is released.
pub(super) const WAITING: NaiveDateTime =
    NaiveDate::from_ymd_opt(9999, 1, 1).expect("a valid date").and_time(NaiveTime::MIN);

/// Maximum number of reads to find attempts that do not wait.
const ROUNDS: usize = 5;

/// Whether an earlier event of the subject is pending: what follows the ID of the tenant.
const IS_BEHIND: &str = " AND earlier.subscription_id = webhook_deliveries.subscription_id \
    AND earlier.subject = webhook_deliveries.subject AND earlier.due_at IS NOT NULL \
    AND earlier.event_id < webhook_deliveries.event_id)";

/// Makes the events of a subject wait that are due but behind another one.
const WAIT: &str = "UPDATE webhook_deliveries SET is_fresh = FALSE, due_at = $1 \
    WHERE tenant_id = $2 AND subscription_id = $3 AND subject = $4 AND due_at IS NOT NULL AND due_at <= $5 \
    AND event_id > (SELECT min(earlier.event_id) FROM webhook_deliveries AS earlier WHERE earlier.tenant_id = $2 \
    AND earlier.subscription_id = $3 AND earlier.subject = $4 AND earlier.due_at IS NOT NULL)";

/// Releases the earliest event of a subject.
const RELEASE: &str = "UPDATE webhook_deliveries SET is_fresh = TRUE, due_at = $1 \
    WHERE tenant_id = $2 AND subscription_id = $3 AND subject = $4 AND due_at = $5 \
    AND event_id = (SELECT min(earlier.event_id) FROM webhook_deliveries AS earlier WHERE earlier.tenant_id = $2 \
    AND earlier.subscription_id = $3 AND earlier.subject = $4 AND earlier.due_at IS NOT NULL)";

/// Releases waiting events that are the earliest of their subject.
const RELEASE_FIRST: &str = "UPDATE webhook_deliveries SET is_fresh = TRUE, due_at = $1 \
    WHERE tenant_id = $2 AND subscription_id = $3 AND NOT is_fresh AND due_at = $4 \
    AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS earlier WHERE earlier.tenant_id = $2";

impl Tx {
    /// Locks the queue of a subscription until the end of the unit of work.
    pub(super) async fn lock_queue(&mut self, id: &SubscriptionId) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        let queue = queues::table.find((&tenant, id.as_str())).select(queues::lease_owner);
        let _locked: Option<String> = lock!(self, for_update, first, queue)?;
        Ok(())
    }

    /// Returns due attempts of a kind, and whether there may be more. Those behind an earlier event of their subject
    /// start to wait. The caller has locked the queue.
    pub(super) async fn due_in_order(
        &mut self,
        id: &SubscriptionId,
        kind: &'static str,
        now: Timestamp,
        most: usize,
    ) -> StoreResult<(Vec<PendingRow>, bool)> {
        let tenant = self.tenant.as_str().to_owned();
        let mut first = Vec::new();
        for _ in 0..ROUNDS {
            let query = rows::table
                .filter(rows::tenant_id.eq(&tenant))
                .filter(rows::subscription_id.eq(id.as_str()))
                .filter(diesel::dsl::sql::<Bool>(kind))
                .filter(rows::due_at.is_not_null())
                .filter(rows::due_at.le(now.naive()))
                .order((rows::due_at, rows::id))
                .limit(i64::try_from(most).unwrap_or(i64::MAX));
            let is_behind = || {
                let of_tenant =
                    "EXISTS (SELECT 1 FROM webhook_deliveries AS earlier WHERE earlier.tenant_id = ";
                diesel::dsl::sql::<Bool>(of_tenant).bind::<Text, _>(&tenant).sql(IS_BEHIND)
            };
            let found: Vec<(PendingRow, bool)> =
                read!(self, c => query.select((PendingRow::as_select(), is_behind())).load(c).await)?;
            let is_full = found.len() >= most;
            let (behind, ahead): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, is_behind)| *is_behind);
            first = ahead.into_iter().map(|(row, _)| row).collect();
            let mut subjects: Vec<String> = behind.into_iter().filter_map(|(row, _)| row.subject).collect();
            subjects.sort_unstable();
            subjects.dedup();
            for subject in &subjects {
                self.wait(id, subject, now).await?;
            }
            if subjects.is_empty() || !is_full {
                return Ok((first, is_full));
            }
        }
        Ok((first, true))
    }

    async fn wait(&mut self, id: &SubscriptionId, subject: &str, now: Timestamp) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        let update = diesel::sql_query(WAIT)
            .bind::<SqlTimestamp, _>(WAITING)
            .bind::<Text, _>(&tenant)
            .bind::<Text, _>(id.as_str())
            .bind::<Text, _>(subject)
            .bind::<SqlTimestamp, _>(now.naive());
        change_unaudited!(self, Unaudited::Delivered, c => Prepared(update).execute(c).await)?;
        Ok(())
    }

    /// Releases the next events of the subjects whose attempts are final. Returns their subscriptions.
    pub(super) async fn release_next(
        &mut self,
        reports: &[&(SubscriptionId, Report)],
        now: Timestamp,
    ) -> StoreResult<Vec<SubscriptionId>> {
        let mut released = Vec::new();
        for (id, report) in reports.iter().filter(|(_, report)| report.next.is_none()) {
            let Some(subject) = &report.attempt.subject else { continue };
            let tenant = self.tenant.as_str().to_owned();
            let update = diesel::sql_query(RELEASE)
                .bind::<SqlTimestamp, _>(now.naive())
                .bind::<Text, _>(&tenant)
                .bind::<Text, _>(id.as_str())
                .bind::<Text, _>(subject)
                .bind::<SqlTimestamp, _>(WAITING);
            if change_unaudited!(self, Unaudited::Delivered, c => Prepared(update).execute(c).await)? > 0 {
                released.push(id.clone());
            }
        }
        Ok(released)
    }

    /// Releases events that wait for nothing: those that waited for purged ones, or that a server without this order left.
    pub(super) async fn release_first(&mut self, id: &SubscriptionId, now: Timestamp) -> StoreResult<()> {
        self.lock_queue(id).await?;
        let tenant = self.tenant.as_str().to_owned();
        let update = diesel::sql_query(format!("{RELEASE_FIRST}{IS_BEHIND}"))
            .bind::<SqlTimestamp, _>(now.naive())
            .bind::<Text, _>(&tenant)
            .bind::<Text, _>(id.as_str())
            .bind::<SqlTimestamp, _>(WAITING);
        change_unaudited!(self, Unaudited::Delivered, c => Prepared(update).execute(c).await)?;
        Ok(())
    }

    /// Releases all waiting events, because the subscription was changed.
    pub(super) async fn release_all(&mut self, id: &SubscriptionId, now: Timestamp) -> StoreResult<()> {
        let waiting = rows::table
            .filter(rows::tenant_id.eq(self.tenant.as_str()))
            .filter(rows::subscription_id.eq(id.as_str()))
            .filter(rows::is_fresh.eq(false))
            .filter(rows::due_at.eq(WAITING));
        let due =
            (rows::is_fresh.eq(true), rows::due_at.eq(Some(now.naive())), rows::subject.eq(None::<String>));
        let update = Prepared(diesel::update(waiting).set(due));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(())
    }
}
