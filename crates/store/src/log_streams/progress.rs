//! How far streams are: leases, and ranges that receivers accepted.

use ::log_streams::{Lease, LogPage, LogStreamId, LogStreamStore as _, Taken};
use audit::{Filter, Unaudited, follow};
use chrono::NaiveDateTime;
use diesel::{dsl::max, prelude::*};
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};

use super::failures::Health;
use crate::{
    Tx,
    audit::log::{number, read_position},
    db::{change_unaudited, read},
    prepared::Prepared,
    schema::{audit_drops as drops, log_stream_states as states},
};

impl Tx {
    /// Takes the lease of a stream; `None` if another worker has it, or the stream is disabled or was deleted.
    pub(super) async fn take_log_stream(
        &mut self,
        id: &LogStreamId,
        lease: &Lease,
    ) -> StoreResult<Option<Taken>> {
        let Some((stream, state)) = self.log_stream(id).await? else { return Ok(None) };
        let row = states::table.find((self.tenant.as_str(), id.as_str()));
        let columns = (states::lease_owner, states::lease_until, states::range_from);
        let columns: (String, NaiveDateTime, i64) = read!(self, c => row.select(columns).first(c).await)?;
        let (owner, until, range_from) = columns;
        let is_free = owner.is_empty() || owner == lease.owner || Timestamp::from_naive(until) <= lease.now;
        if !is_free || !stream.enabled {
            return Ok(None);
        }
        let taken = (states::lease_owner.eq(&lease.owner), states::lease_until.eq(lease.until.naive()));
        let update = Prepared(diesel::update(row).set(taken));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        let range_from = read_position("log_stream_states.range_from", range_from)?;
        Ok(Some(Taken { stream, state, range_from }))
    }

    /// Reads at most `limit` entries from a position.
    pub(super) async fn log_page(&mut self, from: u64, limit: usize) -> StoreResult<LogPage> {
        let page = follow(self, &Filter::default(), from, limit).await?;
        let checkpoint = self.newest_checkpoint().await?;
        let removed = drops::table.filter(drops::tenant_id.eq(self.tenant.as_str()));
        let removed = removed.select(max(drops::before_sequence));
        let removed: Option<i64> = read!(self, c => removed.first(c).await)?;
        let removed =
            removed.map(|before| read_position("audit_drops.before_sequence", before)).transpose()?;
        Ok(LogPage {
            entries: page.entries,
            next: page.next,
            size: page.size,
            checkpoint: checkpoint.map(|(note, _)| note),
            removed_before: removed.filter(|before| *before > 0),
        })
    }

    /// Records that a stream has sent its log up to a position, and extends the lease. Returns `false` without the lease.
    pub(super) async fn advance_log_stream(
        &mut self,
        id: &LogStreamId,
        lease: &Lease,
        (from, to): (u64, u64),
        sent: Option<u64>,
    ) -> StoreResult<bool> {
        let row = states::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(states::lease_owner.eq(&lease.owner))
            .filter(states::position.eq(number(from)));
        // Behind streams that wait, so that a look finds those first.
        let advanced = (
            states::position.eq(number(to)),
            states::lease_until.eq(lease.until.naive()),
            states::due_at.eq(lease.now.naive()),
        );
        let accepted = sent.map(|sent| {
            let range = (
                states::range_from.eq(number(to)),
                states::last_from.eq(number(sent)),
                states::delivered_at.eq(Some(lease.now.naive())),
            );
            (range, Health::default())
        });
        let update = Prepared(diesel::update(row).set((advanced, accepted)));
        let rows = change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(rows == 1)
    }

    /// Ends the lease of a stream, which is due again at this time, and its failures if it is done.
    pub(super) async fn release_log_stream(
        &mut self,
        id: &LogStreamId,
        lease: &Lease,
        due_at: Timestamp,
        is_done: bool,
    ) -> StoreResult<()> {
        let row = states::table
            .find((self.tenant.as_str(), id.as_str()))
            .filter(states::lease_owner.eq(&lease.owner));
        let released = (states::lease_owner.eq(""), states::due_at.eq(due_at.naive()));
        let update = Prepared(diesel::update(row).set((released, is_done.then(Health::default))));
        change_unaudited!(self, Unaudited::Delivered, c => update.execute(c).await)?;
        Ok(())
    }
}
