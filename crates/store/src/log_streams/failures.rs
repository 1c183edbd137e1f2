//! Streams that fail, and who is notified of it.

use ::log_streams::{FailureNote, Lease, LogStream, LogStreamId, LogStreamStore, Problem};
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use directory::{Permission, Person, TenantStore as _};
use kernel::{StoreResult, Timestamp};

use crate::{
    Tx,
    db::{change_unaudited, lock},
    json::{JsonText, json_text},
    prepared::Prepared,
    schema::log_stream_states as states,
};

/// Milliseconds of failures after which administrators are notified.
const NOTICED_AFTER: i64 = 3_600_000;
/// Maximum number of administrators who get a message.
const RECIPIENTS: u32 = 50;

/// A stream, and who is notified of it.
#[derive(Debug, Clone)]
pub struct LogStreamNotice {
    /// The stream.
    pub stream: LogStream,
    /// The name of its tenant.
    pub tenant: String,
    /// Administrators who may change streams.
    pub recipients: Vec<Person>,
}

/// The failures of a stream. By default there are none.
#[derive(AsChangeset, Default)]
#[diesel(table_name = states, treat_none_as_null = true)]
pub(super) struct Health {
    failing_since: Option<NaiveDateTime>,
    problem: Option<JsonText>,
    notified_at: Option<NaiveDateTime>,
}

/// Position, start of the last range, first failure, and when administrators were notified.
type Failing = (i64, i64, Option<NaiveDateTime>, Option<NaiveDateTime>);

impl Tx {
    /// Records a failure, and ends the lease. `None` without the lease.
    pub(super) async fn fail_log_stream(
        &mut self,
        id: &LogStreamId,
        lease: &Lease,
        problem: &Problem,
        next_attempt_at: Timestamp,
        repeats_last: bool,
    ) -> StoreResult<Option<FailureNote>> {
        let tenant = self.tenant.as_str().to_owned();
        let row = states::table.find((&tenant, id.as_str()));
        let columns = (states::position, states::last_from, states::failing_since, states::notified_at);
        let held = row.filter(states::lease_owner.eq(&lease.owner)).select(columns);
        let held: Option<Failing> = lock!(self, for_update, first, held)?;
        let Some((position, last_from, since, notified_at)) = held else { return Ok(None) };
        let since = since.map_or(lease.now, Timestamp::from_naive);
        let is_notice_due = notified_at.is_none() && lease.now >= since.plus_millis(NOTICED_AFTER);
        let notified_at = if is_notice_due { Some(lease.now.naive()) } else { notified_at };
        let failed = (states::lease_owner.eq(""), states::due_at.eq(next_attempt_at.naive()));
        let health = Health {
            failing_since: Some(since.naive()),
            problem: Some(json_text("log_stream_states.problem", problem)?),
            notified_at,
        };
        // The beginning of the last range is not after the position, unless the stream was moved.
        let position = position.min(last_from);
        let again = repeats_last.then(|| (states::position.eq(position), states::range_from.eq(position)));
        let update = Prepared(diesel::update(row).set((failed, health, again)));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(Some(FailureNote { since, is_notice_due }))
    }

    /// Returns a stream and who is notified of it; `None` if it was removed.
    pub async fn log_stream_notice(&mut self, id: &LogStreamId) -> StoreResult<Option<LogStreamNotice>> {
        let Some((stream, _)) = self.log_stream(id).await? else { return Ok(None) };
        let tenant = self.own_tenant().await?.map(|tenant| tenant.name).unwrap_or_default();
        let recipients = self.users_with_permission(Permission::ReadAudit, RECIPIENTS).await?;
        Ok(Some(LogStreamNotice { stream, tenant, recipients }))
    }
}
