//! The dispatcher's state of one subscription.

use std::{
    collections::{HashSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use kernel::Timestamp;
use tokio::time::Instant;

use super::queue::Receiver;
use crate::{
    delivery::{Attempt, AttemptError, DeliveryId, Outcome},
    secret::Signers,
};

/// The delivery state of a subscription.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "the fields are independent facts")]
pub(super) struct Lane {
    /// The receiver and its signing secrets; `None` before the first read.
    pub(super) to: Option<Arc<(Receiver, Signers)>>,
    pub(super) fresh: VecDeque<Attempt>,
    pub(super) retries: VecDeque<Attempt>,
    /// Deliveries that are ready, in flight, or not recorded yet.
    pub(super) known: HashSet<DeliveryId>,
    /// Deliveries recorded during a read, whose result may still contain them.
    pub(super) settled: Vec<DeliveryId>,
    pub(super) in_flight: usize,
    /// There may be unread deliveries.
    pub(super) is_wanted: bool,
    /// A read is in progress.
    pub(super) is_taking: bool,
    /// The last read did not return all deliveries.
    pub(super) has_more: bool,
    /// The lane is in its tenant's queue.
    pub(super) is_queued: bool,
    pub(super) lease_until: Option<Timestamp>,
    pub(super) failing_since: Option<Timestamp>,
    /// No read before this time.
    pub(super) not_before: Option<Instant>,
    pub(super) taken_at: Option<Instant>,
    pub(super) touched: Option<Instant>,
    pub(super) breaker: Breaker,
    pub(super) rate: Rate,
    /// The last delivery sent was a first attempt.
    was_fresh: bool,
}

impl Lane {
    pub(super) fn ready(&self) -> usize {
        self.fresh.len() + self.retries.len()
    }

    /// Returns the number of sent deliveries whose outcome is not recorded yet.
    pub(super) fn unrecorded(&self) -> usize {
        self.known.len().saturating_sub(self.ready() + self.in_flight)
    }

    /// Returns whether there is nothing left to read, send or record.
    pub(super) fn is_idle(&self) -> bool {
        self.known.is_empty() && self.in_flight == 0 && !self.is_wanted && !self.is_taking && !self.has_more
    }

    /// Discards deliveries that were read but not sent. They remain in storage.
    pub(super) fn forget(&mut self) {
        for attempt in self.fresh.drain(..).chain(self.retries.drain(..)) {
            self.known.remove(&attempt.id);
        }
    }

    /// Adds deliveries that were read, except those already known.
    pub(super) fn fill(&mut self, fresh: Vec<Attempt>, retries: Vec<Attempt>) {
        for attempt in fresh {
            if self.known.insert(attempt.id.clone()) {
                self.fresh.push_back(attempt);
            }
        }
        for attempt in retries {
            if self.known.insert(attempt.id.clone()) {
                self.retries.push_back(attempt);
            }
        }
    }

    /// Notes that an outcome has been recorded.
    pub(super) fn settle(&mut self, id: &DeliveryId) {
        if self.is_taking {
            self.settled.push(id.clone());
        } else {
            self.known.remove(id);
        }
    }

    /// Ends a read.
    pub(super) fn end_taking(&mut self) {
        self.is_taking = false;
        for id in self.settled.drain(..) {
            self.known.remove(&id);
        }
    }

    /// Returns the next delivery of a kind that has capacity. First attempts and retries alternate.
    pub(super) fn next(&mut self, room_for_fresh: bool, room_for_retries: bool) -> Option<Attempt> {
        let fresh = room_for_fresh && !self.fresh.is_empty();
        let retry = room_for_retries && !self.retries.is_empty();
        let is_fresh = match (fresh, retry) {
            (true, true) => !self.was_fresh,
            (false, false) => return None,
            (fresh, _) => fresh,
        };
        self.was_fresh = is_fresh;
        if is_fresh { self.fresh.pop_front() } else { self.retries.pop_front() }
    }
}

/// Number of recent attempts that the median is computed from.
const LAST: usize = 9;
/// A response time from which a receiver counts as slow, in milliseconds.
const SLOW: i64 = 10_000;
/// Number of consecutive timeouts after which a receiver counts as slow.
const TIMEOUTS: usize = 5;

/// Detects a slow receiver, which then gets one delivery at a time until it recovers.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    last: VecDeque<i64>,
    timeouts: usize,
}

impl Breaker {
    pub(super) fn note(&mut self, outcome: &Outcome) {
        let has_timed_out = outcome.error == Some(AttemptError::Timeout);
        if !has_timed_out && outcome.duration_ms < SLOW {
            if self.is_open() {
                self.last.clear();
            }
            self.timeouts = 0;
        } else if has_timed_out {
            self.timeouts += 1;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
        }
        self.last.push_back(outcome.duration_ms);
    }

    pub(super) fn is_open(&self) -> bool {
        let slow = self.last.iter().filter(|duration| **duration >= SLOW).count();
        self.timeouts >= TIMEOUTS || (self.last.len() == LAST && slow > LAST / 2)
    }
}

/// Limits deliveries per second (token bucket), with a burst of one second's worth.
#[derive(Debug, Default)]
pub(super) struct Rate {
    /// When the bucket is full again.
    full_at: Option<Instant>,
}

impl Rate {
    /// Returns when the next delivery may be sent; `None` for now.
    pub(super) fn wait(&self, per_second: u32, now: Instant) -> Option<Instant> {
        let each = Duration::from_secs(1) / per_second.max(1);
        let begins = self.full_at?.checked_sub(Duration::from_secs(1).saturating_sub(each))?;
        (begins > now).then_some(begins)
    }

    pub(super) fn take(&mut self, per_second: u32, now: Instant) {
        let each = Duration::from_secs(1) / per_second.max(1);
        self.full_at = Some(self.full_at.map_or(now, |full| full.max(now)) + each);
    }
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    fn env() -> ManualEnv {
        ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap())
    }

    /// Returns attempts with these numbers.
    fn attempts(env: &ManualEnv, numbers: &[u32]) -> Vec<Attempt> {
        numbers.iter().map(|number| Attempt::sample(env, *number)).collect()
    }

    #[test]
    fn first_attempts_and_retries_alternate_if_both_have_room() {
        let (mut lane, env) = (Lane::default(), env());
        lane.fill(attempts(&env, &[1, 2, 3, 4, 5]), attempts(&env, &[12, 13]));
        lane.fill(Vec::new(), attempts(&env, &[16, 17]));
        assert_eq!(lane.ready(), 9);
        let mut next = |fresh, retries| lane.next(fresh, retries).map(|attempt| attempt.number);
        let drawn = [
            next(true, true),
            next(true, true),
            next(false, false),
            next(true, false),
            next(true, false),
            next(true, true),
            next(false, true),
            next(true, true),
            next(false, true),
            next(false, true),
            next(true, true),
            next(true, true),
        ];
        let expected = [Some(1), Some(12), None, Some(2), Some(3), Some(13), Some(16), Some(4), Some(17)];
        assert_eq!(drawn[..9], expected);
        assert_eq!(drawn[9..], [None, Some(5), None]);
    }

    #[test]
    fn deliveries_are_known_until_they_are_recorded_or_forgotten() {
        let (mut lane, all) = (Lane::default(), attempts(&env(), &[1, 2, 3]));
        assert!(lane.is_idle());
        lane.fill(all.clone(), Vec::new());
        lane.fill(all.clone(), all.clone());
        assert_eq!((lane.ready(), lane.unrecorded(), lane.is_idle()), (3, 0, false));
        lane.next(true, true).unwrap();
        lane.in_flight = 1;
        assert_eq!((lane.ready(), lane.unrecorded()), (2, 0));
        lane.in_flight = 0;
        assert_eq!(lane.unrecorded(), 1);
        lane.forget();
        assert_eq!((lane.ready(), lane.unrecorded(), lane.is_idle()), (0, 1, false));
        // A read in progress may still return what is recorded meanwhile.
        lane.is_taking = true;
        lane.settle(&all[0].id);
        lane.fill(all.clone(), Vec::new());
        assert_eq!(lane.ready(), 2);
        lane.end_taking();
        lane.forget();
        assert!(lane.known.is_empty() && lane.settled.is_empty() && lane.is_idle());
        lane.fill(all.clone(), Vec::new());
        assert_eq!(lane.ready(), 3, "it would be sent again if it had not been recorded");
        lane.next(true, true).unwrap();
        lane.settle(&all[0].id);
        assert_eq!(lane.unrecorded(), 0);
    }

    #[test]
    fn a_lane_with_anything_to_do_is_not_idle() {
        let changes: [fn(&mut Lane); 4] = [
            |lane| lane.in_flight = 1,
            |lane| lane.is_wanted = true,
            |lane| lane.is_taking = true,
            |lane| lane.has_more = true,
        ];
        for change in changes {
            let mut lane = Lane::default();
            change(&mut lane);
            assert!(!lane.is_idle());
        }
    }

    fn slow(error: bool) -> Outcome {
        Outcome {
            duration_ms: 15_000,
            ..Outcome::failed(if error { AttemptError::Timeout } else { AttemptError::Connect }, 0)
        }
    }

    #[test]
    fn breaker_opens_on_timeouts_or_slow_median_and_closes_on_a_quick_response() {
        let mut breaker = Breaker::default();
        for _ in 0..4 {
            breaker.note(&slow(true));
        }
        assert!(!breaker.is_open());
        breaker.note(&Outcome::answered(200));
        for _ in 0..4 {
            breaker.note(&slow(true));
        }
        assert!(breaker.is_open(), "eight of nine attempts were slow");
        breaker.note(&Outcome::answered(200));
        assert!(!breaker.is_open());
        for _ in 0..5 {
            breaker.note(&slow(true));
        }
        assert!(breaker.is_open());
        breaker.note(&Outcome::answered(200));
        for _ in 0..8 {
            breaker.note(&slow(false));
        }
        assert!(breaker.is_open());
    }

    #[test]
    fn a_receiver_is_slow_if_five_of_its_last_nine_responses_took_ten_seconds() {
        let took = |duration_ms| Outcome { duration_ms, ..Outcome::answered(200) };
        for (slow, duration, is_open) in [(4, 10_000, false), (5, 9_999, false), (5, 10_000, true)] {
            let mut breaker = Breaker::default();
            for _ in 0..9 - slow {
                breaker.note(&Outcome::answered(200));
            }
            for _ in 0..slow {
                assert!(!breaker.is_open());
                breaker.note(&took(duration));
            }
            assert_eq!(breaker.is_open(), is_open, "{slow} of {duration}");
        }
        // A slow response does not end a series of timeouts, a quick one does.
        for (between, is_open) in [(took(10_000), true), (took(9_999), false)] {
            let mut breaker = Breaker::default();
            for number in 0..5 {
                breaker.note(&slow(true));
                if number == 2 {
                    breaker.note(&between);
                }
            }
            assert_eq!(breaker.is_open(), is_open);
        }
    }

    #[test]
    fn rate_limit_allows_a_burst_of_one_second() {
        let (mut rate, start) = (Rate::default(), Instant::now());
        for _ in 0..10 {
            assert_eq!(rate.wait(10, start), None);
            rate.take(10, start);
        }
        assert_eq!(rate.wait(10, start), Some(start + Duration::from_millis(100)));
        assert_eq!(rate.wait(10, start + Duration::from_millis(100)), None);
    }
}
