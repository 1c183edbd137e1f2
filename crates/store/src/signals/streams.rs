//! Streams, and which events they receive.

use async_trait::async_trait;
use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult, Timestamp};
use signals::{
    Delivery, EventType, Problem, ReceiverId, Status, Stream, StreamId, StreamState, StreamStore,
    VERIFICATION,
};

use super::progress::{Health, StateRow};
use crate::{
    Tx,
    db::{change, change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::{
        signal_events as events, signal_removed_subjects as removed, signal_routes as routes,
        signal_stream_states as states, signal_streams as rows,
    },
};

#[derive(Insertable, AsChangeset, Queryable, Selectable)]
#[diesel(table_name = rows, primary_key(tenant_id, receiver_id))]
#[diesel(treat_none_as_default_value = false, treat_none_as_null = true)]
pub(super) struct StreamRow {
    tenant_id: String,
    receiver_id: String,
    id: String,
    endpoint_url: Option<String>,
    sealed: Option<String>,
    requested: Option<JsonText>,
    description: Option<String>,
    status: String,
    reason: Option<String>,
    verified_at: Option<NaiveDateTime>,
    created_at: NaiveDateTime,
    updated_at: NaiveDateTime,
}

impl StreamRow {
    fn new(tenant: &str, stream: &Stream) -> StoreResult<Self> {
        let requested = stream.requested.as_ref().map(|uris| json_text("signal_streams.requested", uris));
        Ok(Self {
            tenant_id: tenant.to_owned(),
            receiver_id: stream.receiver.to_string(),
            id: stream.id.to_string(),
            endpoint_url: match &stream.delivery {
                Delivery::Push(url) => Some(url.clone()),
                Delivery::Poll => None,
            },
            sealed: stream.sealed.clone(),
            requested: requested.transpose()?,
            description: stream.description.clone(),
            status: stream.status.as_str().to_owned(),
            reason: stream.reason.clone(),
            verified_at: stream.verified_at.map(Timestamp::naive),
            created_at: stream.created_at.naive(),
            updated_at: stream.updated_at.naive(),
        })
    }
}

impl TryFrom<StreamRow> for Stream {
    type Error = StoreError;

    fn try_from(row: StreamRow) -> StoreResult<Self> {
        let requested = row.requested.as_ref().map(|uris| read_json("signal_streams.requested", uris));
        Ok(Self {
            id: row.id.parse().map_err(|error| corrupt("signal_streams.id", error))?,
            receiver: row
                .receiver_id
                .parse()
                .map_err(|error| corrupt("signal_streams.receiver_id", error))?,
            delivery: row.endpoint_url.map_or(Delivery::Poll, Delivery::Push),
            sealed: row.sealed,
            requested: requested.transpose()?,
            description: row.description,
            status: Status::from_name(&row.status)
                .ok_or_else(|| corrupt("signal_streams.status", row.status))?,
            reason: row.reason,
            verified_at: row.verified_at.map(Timestamp::from_naive),
            created_at: Timestamp::from_naive(row.created_at),
            updated_at: Timestamp::from_naive(row.updated_at),
        })
    }
}

#[async_trait]
impl StreamStore for Tx {
    /// Returns the stream of a receiver, locked before its events are.
    async fn stream_of(&mut self, receiver: &ReceiverId) -> StoreResult<Option<(Stream, StreamState)>> {
        let tenant = self.tenant.as_str().to_owned();
        let row = rows::table.find((&tenant, receiver.as_str()));
        let row: Option<StreamRow> = lock!(self, for_update, first, row.select(StreamRow::as_select()))?;
        let Some(row) = row else { return Ok(None) };
        let stream = Stream::try_from(row)?;
        let state = states::table.find((&tenant, stream.id.as_str()));
        let state: StateRow = read!(self, c => state.select(StateRow::as_select()).first(c).await)?;
        Ok(Some((stream, state.read()?)))
    }

    async fn insert_stream(&mut self, stream: &Stream, types: &[EventType]) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        let row = StreamRow::new(&tenant, stream)?;
        change!(self, c => diesel::insert_into(rows::table).values(&row).execute(c).await)?;
        let state = (
            (states::tenant_id.eq(&tenant), states::stream_id.eq(stream.id.as_str())),
            states::receiver_id.eq(stream.receiver.as_str()),
            (states::pushes.eq(pushes(stream)), states::enabled.eq(stream.is_delivering())),
            (states::due_at.eq(stream.created_at.naive()), states::lease_owner.eq("")),
            states::lease_until.eq(stream.created_at.naive()),
        );
        change!(self, c => diesel::insert_into(states::table).values(state).execute(c).await)?;
        self.insert_routes(&tenant, &stream.id, types).await
    }

    async fn update_stream(&mut self, stream: &Stream, types: &[EventType]) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        let row = StreamRow::new(&tenant, stream)?;
        let at = rows::table.find((&tenant, stream.receiver.as_str()));
        change!(self, c => Prepared(diesel::update(at).set(&row)).execute(c).await)?;
        let state = states::table.find((&tenant, stream.id.as_str()));
        let due = (
            (states::pushes.eq(pushes(stream)), states::enabled.eq(stream.is_delivering())),
            // At once, and not by the worker that sends to the previous URL.
            (states::due_at.eq(stream.updated_at.naive()), states::lease_owner.eq("")),
            Health::default(),
        );
        let update = Prepared(diesel::update(state).set(due));
        change_unaudited!(self, Unaudited::PartOfChange, c => update.execute(c).await)?;
        self.delete_routes(&tenant, &stream.id).await?;
        self.insert_routes(&tenant, &stream.id, types).await?;
        let types = types.iter().map(|one| one.uri());
        let known = EventType::ALL.iter().map(|one| one.uri()).chain([VERIFICATION]);
        let kept: Vec<_> = if stream.status == Status::Disabled {
            Vec::new()
        } else {
            types.chain([VERIFICATION]).collect()
        };
        for other in known.filter(|uri| !kept.contains(uri)) {
            let row = events::table
                .filter(events::tenant_id.eq(&tenant))
                .filter(events::stream_id.eq(stream.id.as_str()))
                .filter(events::event_type.eq(other));
            change!(self, c => diesel::delete(row).execute(c).await)?;
        }
        self.db.announce_stream(stream.id.clone());
        Ok(())
    }

    async fn delete_stream(&mut self, id: &StreamId) -> StoreResult<()> {
        let tenant = self.tenant.as_str().to_owned();
        self.delete_routes(&tenant, id).await?;
        let rows = rows::table.filter(rows::tenant_id.eq(&tenant)).filter(rows::id.eq(id.as_str()));
        change!(self, c => diesel::delete(rows).execute(c).await)?;
        let state = states::table.find((&tenant, id.as_str()));
        change!(self, c => diesel::delete(state).execute(c).await)?;
        let pending =
            events::table.filter(events::tenant_id.eq(&tenant)).filter(events::stream_id.eq(id.as_str()));
        change!(self, c => diesel::delete(pending).execute(c).await)?;
        let subjects =
            removed::table.filter(removed::tenant_id.eq(&tenant)).filter(removed::stream_id.eq(id.as_str()));
        change!(self, c => diesel::delete(subjects).execute(c).await)?;
        Ok(())
    }

    async fn note_verification(&mut self, stream: &Stream, at: Timestamp) -> StoreResult<()> {
        let row = rows::table.find((self.tenant.as_str(), stream.receiver.as_str()));
        let update = Prepared(diesel::update(row).set(rows::verified_at.eq(Some(at.naive()))));
        change!(self, c => update.execute(c).await)?;
        Ok(())
    }

    async fn note_polled(
        &mut self,
        stream: &StreamId,
        accepted_at: Option<Timestamp>,
        refused: Option<&Problem>,
    ) -> StoreResult<()> {
        let row = states::table.find((self.tenant.as_str(), stream.as_str()));
        let accepted = accepted_at.map(|at| states::delivered_at.eq(Some(at.naive())));
        let health = refused.map_or_else(|| Ok(Health::default()), Health::refused)?;
        let update = Prepared(diesel::update(row).set((accepted, health)));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(())
    }
}

impl Tx {
    async fn delete_routes(&mut self, tenant: &str, id: &StreamId) -> StoreResult<()> {
        let rows =
            routes::table.filter(routes::tenant_id.eq(tenant)).filter(routes::stream_id.eq(id.as_str()));
        change!(self, c => diesel::delete(rows).execute(c).await)?;
        Ok(())
    }

    async fn insert_routes(&mut self, tenant: &str, id: &StreamId, types: &[EventType]) -> StoreResult<()> {
        for one in types {
            for code in one.audit_codes() {
                let number = EventType::ALL.iter().position(|other| other == one).unwrap_or_default();
                let row = (
                    routes::tenant_id.eq(tenant),
                    routes::audit_code.eq(code),
                    routes::stream_id.eq(id.as_str()),
                    routes::event_type.eq(one.uri()),
                    routes::number.eq(number.to_string()),
                );
                change!(self, c => diesel::insert_into(routes::table).values(row).execute(c).await)?;
            }
        }
        Ok(())
    }
}

fn pushes(stream: &Stream) -> bool {
    matches!(stream.delivery, Delivery::Push(_))
}
