//! How far streams are.

use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use signals::{
    EventStore as _, KeyStore as _, Lease, Problem, QueuedEvent, Receiver, ReceiverId, ReceiverStore as _,
    StreamId, StreamState, StreamStore as _, Taken,
};

use crate::{
    Tx,
    db::{change_unaudited, lock, read},
    error::corrupt,
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::signal_stream_states as states,
};

/// The columns of a state that administrators see.
#[derive(Queryable, Selectable)]
#[diesel(table_name = states)]
pub(super) struct StateRow {
    due_at: NaiveDateTime,
    delivered_at: Option<NaiveDateTime>,
    failing_since: Option<NaiveDateTime>,
    problem: Option<JsonText>,
}

impl StateRow {
    pub(super) fn read(self, pending: i64) -> StoreResult<StreamState> {
        let problem = self.problem.as_ref().map(|problem| read_json("signal_stream_states.problem", problem));
        let failing_since = self.failing_since.map(Timestamp::from_naive);
        Ok(StreamState {
            pending,
            delivered_at: self.delivered_at.map(Timestamp::from_naive),
            failing_since,
            problem: problem.transpose()?,
            next_attempt_at: failing_since.map(|_| Timestamp::from_naive(self.due_at)),
        })
    }
}

/// The failures of a stream. By default there are none.
#[derive(AsChangeset, Default)]
#[diesel(table_name = states, treat_none_as_null = true)]
struct Health {
    failing_since: Option<NaiveDateTime>,
    problem: Option<JsonText>,
}

impl Tx {
    /// Takes the lease of a stream that pushes; `None` if another worker has it.
    pub(super) async fn take_push(
        &mut self,
        id: &StreamId,
        lease: &Lease,
        limit: i64,
    ) -> StoreResult<Option<Taken>> {
        let row = states::table.find((self.tenant.as_str().to_owned(), id.as_str()));
        let columns = (states::receiver_id, states::pushes, states::lease_owner, states::lease_until);
        let found: Option<(String, bool, String, NaiveDateTime)> =
            read!(self, c => row.clone().select(columns).first(c).await.optional())?;
        let Some((receiver, _, _, _)) = found else { return Ok(None) };
        let receiver: ReceiverId =
            receiver.parse().map_err(|error| corrupt("signal_stream_states.receiver_id", error))?;
        // Locked in the same order as changes of the stream.
        let receiver: Option<Receiver> = self.receiver(&receiver).await?;
        let Some(receiver) = receiver else { return Ok(None) };
        let Some((stream, state)) = self.stream_of(&receiver.id).await? else { return Ok(None) };
        let columns = (states::pushes, states::lease_owner, states::lease_until);
        let held: Option<(bool, String, NaiveDateTime)> =
            lock!(self, for_update, first, row.clone().select(columns))?;
        let Some((pushes, owner, until)) = held else { return Ok(None) };
        let is_free = owner.is_empty() || owner == lease.owner || Timestamp::from_naive(until) <= lease.now;
        if !pushes || !is_free || stream.id != *id {
            return Ok(None);
        }
        let taken = (states::lease_owner.eq(&lease.owner), states::lease_until.eq(lease.until.naive()));
        let update = Prepared(diesel::update(row).set(taken));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        let events = self.pending_events(id, stream.is_delivering(), limit).await?;
        let key = self.signing_keys().await?.into_iter().find(|key| key.replaced_at.is_none());
        Ok(Some(Taken { tenant: self.tenant.clone(), receiver, stream, state, key, events }))
    }

    /// Deletes events that were delivered, and returns the next ones. `None` without the lease.
    pub(super) async fn advance_push(
        &mut self,
        id: &StreamId,
        lease: &Lease,
        (done, limit): (&[String], i64),
    ) -> StoreResult<Option<Vec<QueuedEvent>>> {
        let row = states::table.find((self.tenant.as_str().to_owned(), id.as_str()));
        let held = row.clone().filter(states::lease_owner.eq(&lease.owner)).select(states::enabled);
        let held: Option<bool> = lock!(self, for_update, first, held)?;
        let Some(is_enabled) = held else { return Ok(None) };
        if !done.is_empty() {
            self.delete_events(id, done).await?;
            let delivered = (
                (states::lease_until.eq(lease.until.naive()), states::due_at.eq(lease.now.naive())),
                states::delivered_at.eq(Some(lease.now.naive())),
                Health::default(),
            );
            let update = Prepared(diesel::update(row).set(delivered));
            change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        }
        self.pending_events(id, is_enabled, limit).await.map(Some)
    }

    /// Records a failure, and ends the lease. `None` without the lease.
    pub(super) async fn fail_push(
        &mut self,
        id: &StreamId,
        lease: &Lease,
        (problem, next_attempt_at): (&Problem, Timestamp),
    ) -> StoreResult<Option<Timestamp>> {
        let row = states::table.find((self.tenant.as_str().to_owned(), id.as_str()));
        let held = row.clone().filter(states::lease_owner.eq(&lease.owner)).select(states::failing_since);
        let held: Option<Option<NaiveDateTime>> = lock!(self, for_update, first, held)?;
        let Some(since) = held else { return Ok(None) };
        let since = since.map_or(lease.now, Timestamp::from_naive);
        let health = Health {
            failing_since: Some(since.naive()),
            problem: Some(json_text("signal_stream_states.problem", problem)?),
        };
        let failed = (states::lease_owner.eq(""), states::due_at.eq(next_attempt_at.naive()), health);
        let update = Prepared(diesel::update(row).set(failed));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(Some(since))
    }

    /// Ends the lease of a stream.
    pub(super) async fn release_push(&mut self, id: &StreamId, lease: &Lease) -> StoreResult<()> {
        let row = states::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(states::lease_owner.eq(&lease.owner));
        let update = Prepared(diesel::update(row).set(states::lease_owner.eq("")));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(())
    }
}
