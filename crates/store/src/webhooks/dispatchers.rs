//! The dispatchers of all instances. Each is seen regularly, so that the leases of one that was killed are free long
//! before they expire.
//!
//! A dispatcher has stopped if its row stays the same while this one is seen again and again. Clocks are not compared,
//! and an outage of the database, during which no dispatcher is seen, stops none.

use std::{collections::BTreeMap, sync::Arc};

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

/// How long a stopped dispatcher is remembered, in milliseconds: longer than its leases.
const REMEMBERED: i64 = 5 * 60_000;

/// How often a dispatcher is seen, in milliseconds.
pub(super) const SEEN_EVERY: i64 = 2_000;
/// A dispatcher whose row stays the same for this long has stopped, in milliseconds.
const STOPPED_AFTER: i64 = 5_500;

/// What a dispatcher knows of the others.
#[derive(Default, Clone)]
pub(super) struct Others {
    /// When it was seen itself.
    pub(super) at: Option<Timestamp>,
    /// When each of the others was seen last, and since when that is known.
    rows: BTreeMap<String, (Timestamp, Timestamp)>,
    /// Those that have stopped.
    pub(super) stopped: Arc<[String]>,
}

impl Others {
    /// Adds the rows of the others at a sighting of this dispatcher.
    pub(super) fn observe(&mut self, now: Timestamp, rows: Vec<(String, Timestamp)>) {
        // After a gap the others may not have been able to write either.
        let is_gap = self.at.is_none_or(|at| now > at.plus_millis(2 * SEEN_EVERY));
        let before = std::mem::take(&mut self.rows);
        for (id, seen_at) in rows {
            let since = match before.get(&id) {
                Some((same, since)) if *same == seen_at && !is_gap => *since,
                _ => now,
            };
            self.rows.insert(id, (seen_at, since));
        }
        let stopped = self.rows.iter().filter(|(_, (_, since))| now >= since.plus_millis(STOPPED_AFTER));
        self.stopped = stopped.map(|(id, _)| id.clone()).collect();
        self.at = Some(now);
    }
}

impl Tx {
    /// Records that a dispatcher is running, and returns when each of the others was seen last, by its own clock.
    pub async fn see_dispatcher(
        &mut self,
        owner: &str,
        now: Timestamp,
    ) -> StoreResult<Vec<(String, Timestamp)>> {
        let row = (rows::id.eq(owner), rows::seen_at.eq(now.naive()));
        let insert = diesel::insert_into(rows::table).values(row);
        let upsert = Prepared(insert.on_conflict(rows::id).do_update().set(rows::seen_at.eq(now.naive())));
        change_unaudited!(self, Unaudited::Delivered, c => upsert.execute(c).await)?;
        // A table of few rows, whose keys are all read.
        let all = rows::table.filter(rows::id.ne(owner)).select((rows::id, rows::seen_at));
        let all: Vec<(String, chrono::NaiveDateTime)> = read!(self, c => all.load(c).await)?;
        let mut others = Vec::new();
        for (id, seen_at) in all {
            let seen_at = Timestamp::from_naive(seen_at);
            if seen_at.plus_millis(REMEMBERED) < now {
                let row = diesel::delete(rows::table.find(&id));
                change_unaudited!(self, Unaudited::Delivered, c => row.execute(c).await)?;
            } else {
                others.push((id, seen_at));
            }
        }
        Ok(others)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_000_000 + millis)
    }

    #[test]
    fn dispatcher_has_stopped_if_its_row_stays_the_same() {
        let mut others = Others::default();
        let row = |seen: i64| vec![("other".to_owned(), at(seen))];
        // Its clock is an hour behind.
        for millis in [0, 2_000, 4_000] {
            others.observe(at(millis), row(millis - 3_600_000));
        }
        assert!(others.stopped.is_empty());
        for millis in [6_000, 8_000] {
            others.observe(at(millis), row(4_000));
        }
        assert!(others.stopped.is_empty(), "it may be slow");
        for millis in [10_000, 12_000] {
            others.observe(at(millis), row(4_000));
        }
        assert_eq!(&*others.stopped, ["other"]);
        others.observe(at(14_000), row(14_000));
        assert!(others.stopped.is_empty(), "it is back");
    }

    #[test]
    fn outage_of_the_database_stops_no_dispatcher() {
        let mut others = Others::default();
        let same = || vec![("other".to_owned(), at(0))];
        others.observe(at(0), same());
        others.observe(at(60_000), same());
        others.observe(at(62_000), same());
        assert!(others.stopped.is_empty());
    }
}
