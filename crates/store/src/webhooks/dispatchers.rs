//! The dispatchers of all instances. Each is seen regularly, so that the leases of one that was killed are free long
//! before they expire.

use audit::Unaudited;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreResult, Timestamp};

use crate::{
    Tx,
    db::{change_unaudited, read},
    prepared::Prepared,
    schema::{dispatchers as rows, webhook_queues as queues},
};

/// How often a dispatcher is seen, in milliseconds.
pub(super) const SEEN_EVERY: i64 = 2_000;
/// A dispatcher that was not seen for this long has stopped, in milliseconds. Clocks of instances may differ a little.
const STOPPED_AFTER: i64 = 8_000;
/// How long a stopped dispatcher is remembered, in milliseconds: longer than its leases.
const REMEMBERED: i64 = 5 * 60_000;

impl Tx {
    /// Records that a dispatcher is running, and returns those that have stopped.
    pub async fn see_dispatcher(&mut self, owner: &str, now: Timestamp) -> StoreResult<Vec<String>> {
        let row = (rows::id.eq(owner), rows::seen_at.eq(now.naive()));
        let insert = diesel::insert_into(rows::table).values(row);
        let upsert = Prepared(insert.on_conflict(rows::id).do_update().set(rows::seen_at.eq(now.naive())));
        change_unaudited!(self, Unaudited::Delivered, c => upsert.execute(c).await)?;
        // A table of few rows, whose keys are all read.
        let all = rows::table.filter(rows::id.ne(owner)).select((rows::id, rows::seen_at));
        let all: Vec<(String, chrono::NaiveDateTime)> = read!(self, c => all.load(c).await)?;
        let mut stopped = Vec::new();
        for (id, seen_at) in all {
            let silent = now.unix_millis() - Timestamp::from_naive(seen_at).unix_millis();
            if silent > REMEMBERED {
                let row = diesel::delete(rows::table.find(&id));
                change_unaudited!(self, Unaudited::Delivered, c => row.execute(c).await)?;
            } else if silent > STOPPED_AFTER {
                stopped.push(id);
            }
        }
        Ok(stopped)
    }

    /// Returns the other dispatchers that have leases.
    pub(super) async fn other_dispatchers(
        &mut self,
        owner: &str,
        now: Timestamp,
    ) -> StoreResult<Vec<String>> {
        let held = queues::table
            .filter(queues::lease_until.gt(now.naive()))
            .filter(queues::lease_owner.ne(owner))
            .select(queues::lease_owner)
            .distinct();
        read!(self, c => held.load(c).await)
    }
}
