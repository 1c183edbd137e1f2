//! Records the outcomes of attempts and schedules retries.

use audit::Unaudited;
use std::collections::{BTreeMap, BTreeSet};

use ::webhooks::{Batch, Report, SubscriptionId};
use chrono::{NaiveDateTime, Timelike};
use diesel::{
    prelude::*,
    sql_types::{Array, BigInt, Binary, Bool, Nullable, Text, Timestamp as SqlTimestamp},
};
use diesel_async::RunQueryDsl;
use kernel::{Ctx, StoreResult, Timestamp};

use crate::{
    Tx,
    conn::Conn,
    db::{change_unaudited, unaudited},
    error::store_error,
    prepared::Prepared,
    schema::{
        pending_deliveries as pending, webhook_deliveries as rows, webhook_hours as hours,
        webhook_queues as queues,
    },
};

/// Stores the outcomes of many attempts with one statement that stays prepared, and returns those that had none
/// before. PostgreSQL only.
const RECORD: &str = "UPDATE webhook_deliveries AS d SET due_at = NULL, http_status = r.http_status, error = r.error, duration_ms = r.duration_ms, \
    response_body = r.response_body, attempted_at = r.attempted_at, next_id = r.next_id, next_at = r.next_at \
    FROM unnest($2::text[], $3::text[], $4::bigint[], $5::text[], \
    $6::bigint[], $7::bytea[], $8::timestamp[], $9::text[], $10::timestamp[]) AS r(subscription_id, id, http_status, error, duration_ms, response_body, attempted_at, next_id, next_at) \
    WHERE d.tenant_id = $1 AND d.subscription_id = r.subscription_id AND d.id = r.id AND d.due_at IS NOT NULL \
    RETURNING d.subscription_id, d.id";

/// Computes when a subscription's next retry is due; none if it is disabled.
const NEXT_RETRY: &str = "UPDATE webhook_queues SET next_retry = (SELECT min(due_at) FROM webhook_deliveries \
    WHERE tenant_id = $1 AND subscription_id = $2 AND NOT is_fresh AND due_at IS NOT NULL) \
    WHERE tenant_id = $1 AND subscription_id = $2 AND EXISTS (SELECT 1 FROM webhook_subscriptions \
    WHERE tenant_id = $1 AND id = $2 AND enabled)";

#[derive(QueryableByName)]
struct RecordedId {
    #[diesel(sql_type = Text)]
    subscription_id: String,
    #[diesel(sql_type = Text)]
    id: String,
}

impl Tx {
    /// Stores outcomes and the following attempts. An attempt that already has an outcome is skipped. Returns ordered
    /// subscriptions with events that waited for these attempts.
    pub async fn record_webhooks(&mut self, ctx: &Ctx, batch: &Batch) -> StoreResult<Vec<SubscriptionId>> {
        let is_ordered = |(_, report): &&(SubscriptionId, Report)| report.attempt.subject.is_some();
        let ordered: BTreeSet<_> = batch.reports.iter().filter(is_ordered).map(|(id, _)| id).collect();
        for id in ordered {
            self.lock_queue(id).await?;
        }
        let recorded = self.store_outcomes(&batch.reports).await?;
        let is_new = |(id, report): &&(SubscriptionId, Report)| {
            recorded.contains(&(id.to_string(), report.attempt.id.to_string()))
        };
        let new_reports = batch.reports.iter().filter(is_new);
        let new_reports: Vec<_> = new_reports.collect();
        self.store_next_attempt(&new_reports).await?;
        let mut counts: BTreeMap<(&SubscriptionId, NaiveDateTime), (i64, i64)> = BTreeMap::new();
        let mut retried: BTreeSet<&SubscriptionId> = BTreeSet::new();
        for (id, report) in &new_reports {
            let (succeeded, failed) = counts.entry((id, hour(report.attempted_at))).or_default();
            *if report.outcome.is_success() { succeeded } else { failed } += 1;
            if !report.attempt.is_fresh || report.next.is_some() {
                retried.insert(id);
            }
        }
        for ((id, hour), counts) in counts {
            self.count_deliveries(id, hour, counts).await?;
        }
        for (id, since) in &batch.failing_since {
            let row = queues::table.find((self.tenant.as_str(), id.as_str()));
            let update =
                Prepared(diesel::update(row).set(queues::failing_since.eq(since.map(Timestamp::naive))));
            change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        }
        for id in retried {
            self.set_next_retry(id).await?;
        }
        self.release_next(&new_reports, ctx.now).await
    }

    /// Updates when the next retry is due.
    pub(super) async fn set_next_retry(&mut self, id: &SubscriptionId) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        // Locked by a separate statement, so that the next one sees what the previous lock holder committed.
        self.lock_queue(id).await?;
        let update = || diesel::sql_query(NEXT_RETRY).bind::<Text, _>(&tenant).bind::<Text, _>(id.as_str());
        change_unaudited!(self, Unaudited::Delivered, c => Prepared(update()).execute(c).await)?;
        Ok(())
    }

    /// Clears the failures of a subscription that was enabled or disabled, and updates its next retry.
    pub(super) async fn reset_failures(&mut self, id: &SubscriptionId) -> StoreResult<()> {
        let row = queues::table.find((self.tenant.as_str(), id.as_str()));
        let nothing =
            (queues::failing_since.eq(None::<NaiveDateTime>), queues::next_retry.eq(None::<NaiveDateTime>));
        let update = Prepared(diesel::update(row).set(nothing));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        self.set_next_retry(id).await
    }

    async fn count_deliveries(
        &mut self,
        id: &SubscriptionId,
        hour: NaiveDateTime,
        (succeeded, failed): (i64, i64),
    ) -> StoreResult<()> {
        let row = (
            hours::tenant_id.eq(self.tenant.as_str()),
            hours::subscription_id.eq(id.as_str()),
            hours::hour.eq(hour),
            hours::succeeded.eq(succeeded),
            hours::failed.eq(failed),
        );
        let more =
            (hours::succeeded.eq(hours::succeeded + succeeded), hours::failed.eq(hours::failed + failed));
        let upsert = Prepared(
            diesel::insert_into(hours::table)
                .values(row)
                .on_conflict((hours::tenant_id, hours::subscription_id, hours::hour))
                .do_update()
                .set(more),
        );
        change_unaudited!(self, Unaudited::Delivered, c => upsert.execute(c).await)?;
        Ok(())
    }

    /// Stores outcomes and returns the attempts that had none: subscription and id, because the first attempts of an
    /// event share one id.
    async fn store_outcomes(
        &mut self,
        reports: &[(SubscriptionId, Report)],
    ) -> StoreResult<BTreeSet<(String, String)>> {
        let tenant = self.tenant.as_str().to_owned();
        unaudited(Unaudited::Delivered);
        match self.db.changing().await? {
            Conn::Postgres(pg) => {
                let column = Columns::of(reports);
                let query = diesel::sql_query(RECORD)
                    .bind::<Text, _>(&tenant)
                    .bind::<Array<Text>, _>(column.subscriptions)
                    .bind::<Array<Text>, _>(column.ids)
                    .bind::<Array<Nullable<BigInt>>, _>(column.statuses)
                    .bind::<Array<Nullable<Text>>, _>(column.errors)
                    .bind::<Array<BigInt>, _>(column.durations)
                    .bind::<Array<Nullable<Binary>>, _>(column.bodies)
                    .bind::<Array<SqlTimestamp>, _>(column.attempted)
                    .bind::<Array<Nullable<Text>>, _>(column.next_ids)
                    .bind::<Array<Nullable<SqlTimestamp>>, _>(column.next_at);
                let conn = pg.in_transaction().await.map_err(store_error)?;
                let result: QueryResult<Vec<RecordedId>> = Prepared(query).load(conn).await;
                let found = pg.note(result).map_err(store_error)?;
                Ok(found.into_iter().map(|row| (row.subscription_id, row.id)).collect())
            }
            Conn::Sqlite(conn) => {
                let mut recorded = BTreeSet::new();
                for (subscription, report) in reports {
                    let id = report.attempt.id.as_str();
                    let row = rows::table.find((tenant.as_str(), subscription.as_str(), id));
                    let outcome = (
                        rows::due_at.eq(None::<NaiveDateTime>),
                        rows::http_status.eq(status(report)),
                        rows::error.eq(report.outcome.error.map(webhooks::AttemptError::as_str)),
                        rows::duration_ms.eq(Some(report.outcome.duration_ms)),
                        rows::response_body.eq(body(report)),
                        rows::attempted_at.eq(Some(report.attempted_at.naive())),
                        rows::next_id.eq(report.next.as_ref().map(|next| next.id.as_str())),
                        rows::next_at.eq(report.next.as_ref().map(|next| next.at.naive())),
                    );
                    let update =
                        Prepared(diesel::update(row.filter(rows::due_at.is_not_null())).set(outcome));
                    if update.execute(conn).await.map_err(store_error)? == 1 {
                        recorded.insert((subscription.to_string(), id.to_owned()));
                    }
                }
                Ok(recorded)
            }
        }
    }

    async fn store_next_attempt(&mut self, new_reports: &[&(SubscriptionId, Report)]) -> StoreResult<()> {
        for (subscription, report) in new_reports {
            let Some(next) = &report.next else { continue };
            let tenant = self.tenant.as_str().to_owned();
            let key = (tenant.as_str(), subscription.as_str(), report.attempt.id.as_str());
            // If the event has no audit entry, its payload is copied to the next attempt.
            let row = pending::table.find(key).select((
                pending::tenant_id,
                pending::subscription_id,
                next.id.as_str().into_sql::<Text>(),
                pending::event_id,
                pending::event_type,
                pending::subject,
                pending::payload,
                pending::attempt + 1_i64,
                false.into_sql::<Bool>(),
                Some(next.at.naive()).into_sql::<Nullable<SqlTimestamp>>(),
            ));
            let insert = row.insert_into(pending::table).into_columns((
                pending::tenant_id,
                pending::subscription_id,
                pending::id,
                pending::event_id,
                pending::event_type,
                pending::subject,
                pending::payload,
                pending::attempt,
                pending::is_fresh,
                pending::due_at,
            ));
            change_unaudited!(self, Unaudited::Delivered, c => insert.execute(c).await)?;
        }
        Ok(())
    }
}

fn hour(at: Timestamp) -> NaiveDateTime {
    let at = at.naive();
    at.with_minute(0).and_then(|at| at.with_second(0)).and_then(|at| at.with_nanosecond(0)).unwrap_or(at)
}

fn status(report: &Report) -> Option<i64> {
    report.outcome.status.map(i64::from)
}

fn body(report: &Report) -> Option<&[u8]> {
    report.outcome.status.map(|_| report.outcome.body.as_slice())
}

/// Outcomes by column.
#[derive(Default)]
struct Columns<'r> {
    subscriptions: Vec<&'r str>,
    ids: Vec<&'r str>,
    statuses: Vec<Option<i64>>,
    errors: Vec<Option<&'static str>>,
    durations: Vec<i64>,
    bodies: Vec<Option<&'r [u8]>>,
    attempted: Vec<NaiveDateTime>,
    next_ids: Vec<Option<&'r str>>,
    next_at: Vec<Option<NaiveDateTime>>,
}

impl<'r> Columns<'r> {
    fn of(reports: &'r [(SubscriptionId, Report)]) -> Self {
        let mut columns = Self::default();
        for (subscription, report) in reports {
            columns.subscriptions.push(subscription.as_str());
            columns.ids.push(report.attempt.id.as_str());
            columns.statuses.push(status(report));
            columns.errors.push(report.outcome.error.map(webhooks::AttemptError::as_str));
            columns.durations.push(report.outcome.duration_ms);
            columns.bodies.push(body(report));
            columns.attempted.push(report.attempted_at.naive());
            columns.next_ids.push(report.next.as_ref().map(|next| next.id.as_str()));
            columns.next_at.push(report.next.as_ref().map(|next| next.at.naive()));
        }
        columns
    }
}
