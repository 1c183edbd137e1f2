//! How far streams are.

use audit::Unaudited;
use chrono::NaiveDateTime;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};
use signals::{
    Done, EventStore as _, Lease, Problem, Receiver, ReceiverId, ReceiverStore as _, StreamId, StreamState,
    StreamStore as _, Taken, current_key,
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
    pub(super) fn read(self) -> StoreResult<StreamState> {
        let problem = self.problem.as_ref().map(|problem| read_json("signal_stream_states.problem", problem));
        let failing_since = self.failing_since.map(Timestamp::from_naive);
        Ok(StreamState {
            pending: 0,
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
pub(super) struct Health {
    failing_since: Option<NaiveDateTime>,
    problem: Option<JsonText>,
}

impl Health {
    /// The receiver has refused a token, and does not fail.
    pub(super) fn refused(problem: &Problem) -> StoreResult<Self> {
        Ok(Self { failing_since: None, problem: Some(json_text("signal_stream_states.problem", problem)?) })
    }
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
        let query = row.clone().select(states::receiver_id);
        let receiver: Option<String> = read!(self, c => query.first(c).await.optional())?;
        let Some(receiver) = receiver else { return Ok(None) };
        let receiver: ReceiverId =
            receiver.parse().map_err(|error| corrupt("signal_stream_states.receiver_id", error))?;
        // Locked in the same order as changes of the stream.
        let receiver: Option<Receiver> = self.receiver(&receiver).await?;
        let Some(receiver) = receiver else { return Ok(None) };
        let Some((stream, state)) = self.stream_of(&receiver.id).await? else { return Ok(None) };
        let columns = (states::pushes, states::lease_owner, states::lease_until, states::due_at);
        let held: Option<(bool, String, NaiveDateTime, NaiveDateTime)> =
            lock!(self, for_update, first, row.clone().select(columns))?;
        let Some((pushes, owner, until, due_at)) = held else { return Ok(None) };
        let is_free = owner.is_empty() || owner == lease.owner || Timestamp::from_naive(until) <= lease.now;
        if !pushes || !is_free || due_at > lease.now.naive() || stream.id != *id {
            return Ok(None);
        }
        let taken = (states::lease_owner.eq(&lease.owner), states::lease_until.eq(lease.until.naive()));
        let update = Prepared(diesel::update(row).set(taken));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        let events = self.pending_events(id, stream.is_delivering(), limit).await?;
        let key = current_key(self).await?;
        Ok(Some(Taken { tenant: self.tenant.clone(), receiver, stream, state, key, events }))
    }

    /// Whether a stream pushes, and its next attempt is due. Locks nothing.
    pub(super) async fn is_push_due(&mut self, id: &StreamId, lease: &Lease) -> StoreResult<bool> {
        let row = states::table
            .find((self.tenant.as_str().to_owned(), id.as_str()))
            .filter(states::pushes)
            .filter(states::due_at.le(lease.now.naive()))
            .select(states::stream_id);
        let found: Option<String> = read!(self, c => row.first(c).await.optional())?;
        Ok(found.is_some())
    }

    /// Deletes events that are done, and records how. Returns `false` without the lease.
    pub(super) async fn advance_push(
        &mut self,
        id: &StreamId,
        lease: &Lease,
        (done, how): (&[String], &Done),
    ) -> StoreResult<bool> {
        let row = states::table.find((self.tenant.as_str().to_owned(), id.as_str()));
        let held = row.clone().filter(states::lease_owner.eq(&lease.owner)).select(states::enabled);
        let held: Option<bool> = lock!(self, for_update, first, held)?;
        if held.is_none() {
            return Ok(false);
        }
        self.delete_events(id, done).await?;
        let extended = (states::lease_until.eq(lease.until.naive()), states::due_at.eq(lease.now.naive()));
        let delivered_at = (*how == Done::Accepted).then(|| states::delivered_at.eq(Some(lease.now.naive())));
        let health = match how {
            Done::Accepted => Some(Health::default()),
            Done::Refused(problem) => Some(Health::refused(problem)?),
            Done::Empty => None,
        };
        let update = Prepared(diesel::update(row).set((extended, delivered_at, health)));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(true)
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
