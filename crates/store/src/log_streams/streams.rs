//! The settings of streams.

use ::log_streams::{LogStream, LogStreamId, LogStreamStore, StreamState};
use async_trait::async_trait;
use audit::{AuditQueryStore, Unaudited};
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, TenantId, Timestamp};

use super::failures::Health;
use crate::{
    Tx,
    audit::log::{number, read_position},
    db::{change, change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{log_stream_states as states, log_streams as rows, tenants},
};

#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = rows, primary_key(tenant_id, id))]
#[diesel(treat_none_as_default_value = false, treat_none_as_null = true)]
pub(super) struct StreamRow {
    tenant_id: String,
    id: String,
    name: String,
    destination: JsonText,
    sealed: Option<String>,
    event_filters: JsonText,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

/// The columns of a state that administrators see.
#[derive(Queryable, Selectable)]
#[diesel(table_name = states)]
pub(super) struct StateRow {
    enabled: bool,
    position: i64,
    delivered_at: Option<NaiveDateTime>,
    failing_since: Option<NaiveDateTime>,
    problem: Option<JsonText>,
    due_at: NaiveDateTime,
}

impl StreamRow {
    fn new(tenant: &TenantId, stream: &LogStream) -> StoreResult<Self> {
        Ok(Self {
            tenant_id: tenant.to_string(),
            id: stream.id.to_string(),
            name: stream.name.clone(),
            destination: json_text("log_streams.destination", &stream.destination)?,
            sealed: stream.sealed.clone(),
            event_filters: json_text("log_streams.event_filters", &stream.event_filters)?,
            created_at: stream.created_at.naive(),
            updated_at: stream.updated_at.naive(),
        })
    }
}

/// Reads a stream with its state.
pub(super) fn read_stream((row, state): (StreamRow, StateRow)) -> StoreResult<(LogStream, StreamState)> {
    let stream = LogStream {
        id: row.id.parse().map_err(|error| corrupt("log_streams.id", error))?,
        name: row.name,
        destination: read_json("log_streams.destination", &row.destination)?,
        sealed: row.sealed,
        event_filters: read_json("log_streams.event_filters", &row.event_filters)?,
        enabled: state.enabled,
        created_at: Timestamp::from_naive(row.created_at),
        updated_at: Timestamp::from_naive(row.updated_at),
    };
    let problem = state.problem.as_ref().map(|problem| read_json("log_stream_states.problem", problem));
    let failing_since = state.failing_since.map(Timestamp::from_naive);
    let state = StreamState {
        position: read_position("log_stream_states.position", state.position)?,
        delivered_at: state.delivered_at.map(Timestamp::from_naive),
        failing_since,
        problem: problem.transpose()?,
        next_attempt_at: failing_since.map(|_| Timestamp::from_naive(state.due_at)),
    };
    Ok((stream, state))
}

#[async_trait]
impl LogStreamStore for Tx {
    async fn log_streams(&mut self) -> StoreResult<Vec<(LogStream, StreamState)>> {
        let tenant = self.tenant.as_str().to_owned();
        let query = rows::table
            .inner_join(
                states::table.on(states::tenant_id.eq(rows::tenant_id).and(states::stream_id.eq(rows::id))),
            )
            .filter(rows::tenant_id.eq(&tenant))
            .filter(states::tenant_id.eq(&tenant))
            .order(rows::id);
        let found: Vec<(StreamRow, StateRow)> =
            read!(self, c => query.select((StreamRow::as_select(), StateRow::as_select())).load(c).await)?;
        found.into_iter().map(read_stream).collect()
    }

    async fn log_stream(&mut self, id: &LogStreamId) -> StoreResult<Option<(LogStream, StreamState)>> {
        let at = (self.tenant.as_str().to_owned(), id.as_str());
        // Both are locked: the state first, so that a worker has recorded what it has sent.
        let state = states::table.find((&at.0, at.1));
        let state: Option<StateRow> = lock!(self, for_update, first, state.select(StateRow::as_select()))?;
        let row = rows::table.find((&at.0, at.1));
        let row: Option<StreamRow> = lock!(self, for_update, first, row.select(StreamRow::as_select()))?;
        row.zip(state).map(read_stream).transpose()
    }

    async fn count_log_streams(&mut self) -> StoreResult<usize> {
        if self.db.is_writable() {
            // Locks the tenant, so that concurrent inserts cannot exceed the limit.
            let tenant = tenants::table.find(self.tenant.as_str()).select(tenants::id);
            let _locked: Option<String> = lock!(self, for_update, first, tenant)?;
        }
        let query = rows::table.filter(rows::tenant_id.eq(self.tenant.as_str())).count();
        let count: i64 = read!(self, c => query.get_result(c).await)?;
        Ok(usize::try_from(count).unwrap_or_default())
    }

    async fn log_size(&mut self) -> StoreResult<u64> {
        self.sealed_size().await
    }

    async fn insert_log_stream(&mut self, stream: &LogStream, position: u64) -> StoreResult<()> {
        let row = StreamRow::new(&self.tenant, stream)?;
        change!(self, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        let state = (
            states::tenant_id.eq(&row.tenant_id),
            states::stream_id.eq(&row.id),
            states::enabled.eq(stream.enabled),
            states::position.eq(number(position)),
            states::range_from.eq(number(position)),
            states::last_from.eq(number(position)),
            states::due_at.eq(row.created_at),
            states::lease_owner.eq(""),
            states::lease_until.eq(row.created_at),
        );
        change!(self, c => diesel::insert_into(states::table).values(state).execute(c).await)?;
        Ok(())
    }

    async fn update_log_stream(&mut self, stream: &LogStream) -> StoreResult<()> {
        let row = StreamRow::new(&self.tenant, stream)?;
        let update = Prepared(diesel::update(rows::table.find((&row.tenant_id, &row.id))).set(&row));
        change!(self, c => update.execute(c).await)?;
        let state = states::table.find((&row.tenant_id, &row.id));
        // The worker that sends with other settings loses the lease.
        let due = (
            states::enabled.eq(stream.enabled),
            states::due_at.eq(row.updated_at),
            states::lease_owner.eq(""),
        );
        let update = Prepared(diesel::update(state).set(due));
        change_unaudited!(self, Unaudited::PartOfChange, c => update.execute(c).await)?;
        Ok(())
    }

    async fn delete_log_stream(&mut self, id: &LogStreamId) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        let state = diesel::delete(states::table.find((&tenant, id.as_str())));
        change!(self, c => state.execute(c).await)?;
        let row = diesel::delete(rows::table.find((&tenant, id.as_str())));
        change!(self, c => row.execute(c).await)?;
        Ok(())
    }

    async fn move_log_stream(&mut self, id: &LogStreamId, position: u64, now: Timestamp) -> StoreResult<()> {
        let row = states::table.find((self.tenant.as_str(), id.as_str()));
        let moved = (
            states::position.eq(number(position)),
            states::range_from.eq(number(position)),
            states::last_from.eq(number(position)),
            states::due_at.eq(now.naive()),
            // The worker that has the lease loses it, also if it sends the same range.
            states::lease_owner.eq(""),
            Health::default(),
        );
        let update = Prepared(diesel::update(row).set(moved));
        change!(self, c => update.execute(c).await)?;
        Ok(())
    }
}
