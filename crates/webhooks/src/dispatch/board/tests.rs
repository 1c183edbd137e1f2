mod limits;

use kernel::ManualEnv;

use super::*;
use crate::{
    delivery::AttemptError,
    secret::{SecretKeys, Secrets},
};

const SECOND: Duration = Duration::from_secs(1);

/// A schedule and what its lanes are filled with.
struct Desk {
    env: ManualEnv,
    now: Instant,
    time: Timestamp,
    schedule: Schedule,
}

impl Desk {
    fn new(limits: Limits) -> Self {
        let time = "2026-01-01T00:00:00.000Z".parse().unwrap();
        let env = ManualEnv::at(time);
        Self { env, now: Instant::now(), time, schedule: Schedule::new(limits) }
    }

    fn tenant(&self) -> TenantId {
        TenantId::new(&self.env)
    }

    fn key(&self, tenant: &TenantId) -> Key {
        Key { tenant: tenant.clone(), subscription: SubscriptionId::new(&self.env) }
    }

    fn pass(&mut self, time: Duration) {
        self.now += time;
        self.time = self.time.plus_millis(i64::try_from(time.as_millis()).unwrap());
    }

    fn attempts(&self, count: usize, is_fresh: bool) -> Vec<Attempt> {
        (0..count).map(|_| Attempt::sample(&self.env, if is_fresh { 1 } else { 2 })).collect()
    }

    /// Puts these deliveries into a lane, as if they had been read under a lease from now on.
    fn read(&mut self, key: &Key, fresh: Vec<Attempt>, retries: Vec<Attempt>, has_more: bool) {
        let (keys, owner) = (SecretKeys::sample(), (&key.tenant, &key.subscription));
        let (current, _) = keys.generate(&self.env, owner, 1).unwrap();
        let secrets = Secrets { current, previous: None };
        let signers = keys.signers(owner, &secrets, self.time).unwrap();
        let receiver = Receiver { url: "https://one.example/".into(), secrets, failing_since: None };
        let lease_until = Some(self.time.plus_millis(Lease::LENGTH));
        let found = (fresh, retries);
        self.schedule.lane_read(key, (receiver, signers), found, (has_more, lease_until), self.now);
    }

    /// Requests a read of a lane and begins it.
    fn begin_read(&mut self, key: &Key) {
        self.schedule.want(key, false, self.now);
        assert!(self.take().is_some_and(|(taken, ..)| taken == *key));
    }

    /// Requests a read and answers it with first attempts.
    fn filled(&mut self, key: &Key, fresh: usize, has_more: bool) {
        self.begin_read(key);
        let fresh = self.attempts(fresh, true);
        self.read(key, fresh, Vec::new(), has_more);
    }

    /// Requests a read and answers it with retries.
    fn filled_with_retries(&mut self, key: &Key, retries: usize) {
        self.begin_read(key);
        let retries = self.attempts(retries, false);
        self.read(key, Vec::new(), retries, false);
    }

    fn take(&mut self) -> Option<(Key, bool, usize)> {
        self.schedule.next_take(self.time)
    }

    fn send(&mut self) -> Option<SendInProgress> {
        self.schedule.next_send(self.now, self.time)
    }

    /// Sends all that may be sent now.
    fn send_all(&mut self) -> Vec<SendInProgress> {
        std::iter::from_fn(|| self.send()).collect()
    }

    fn done(&mut self, sent: &SendInProgress) {
        self.schedule.done(&sent.key, sent.attempt.is_fresh, &Outcome::answered(200));
    }

    fn recorded(&mut self, sent: &SendInProgress) {
        self.schedule.recorded(&sent.key, &sent.attempt.id, self.now);
    }
}

fn many() -> Limits {
    Limits { subscription: 10_000, tenant: 10_000, total: 20_000, rate: None }
}

#[test]
fn a_lane_reads_more_when_fewer_than_fifty_are_ready() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 52, true);
    for _ in 0..2 {
        assert!(desk.take().is_none());
        desk.send().unwrap();
    }
    assert!(desk.take().is_none(), "fifty are ready");
    desk.send().unwrap();
    assert_eq!(desk.take(), Some((key.clone(), true, AT_ONCE + 52)));
    assert!(desk.take().is_none(), "a read is in progress");
    desk.send().unwrap();
    assert!(desk.take().is_none(), "a read is in progress");
    desk.read(&key, Vec::new(), Vec::new(), false);
    desk.send_all();
    assert!(desk.take().is_none(), "there are no more");
}

#[test]
fn a_notification_during_a_read_causes_another() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.schedule.want(&key, false, desk.now);
    assert!(desk.take().is_some());
    desk.schedule.want(&key, false, desk.now);
    assert!(desk.take().is_none());
    desk.read(&key, Vec::new(), Vec::new(), false);
    assert!(desk.take().is_some());
    // Unread deliveries are known to exist: only a change of the subscription needs another read.
    let fresh = desk.attempts(LOW, true);
    desk.read(&key, fresh, Vec::new(), true);
    desk.schedule.want(&key, false, desk.now);
    assert!(desk.take().is_none());
    desk.schedule.want(&key, true, desk.now);
    assert!(desk.take().is_some());
}

#[test]
fn a_lane_that_failed_is_read_again_after_a_second_or_when_it_changes() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.schedule.want(&key, false, desk.now);
    for (pause, waits) in [(None, PAUSE), (Some(30 * SECOND), 30 * SECOND)] {
        desk.take().unwrap();
        desk.schedule.put_off(&key, pause, desk.now);
        desk.pass(waits.checked_sub(Duration::from_millis(1)).unwrap());
        desk.schedule.release_idle_lanes(desk.now);
        desk.schedule.want(&key, false, desk.now);
        assert!(desk.take().is_none(), "{waits:?}");
        desk.pass(Duration::from_millis(1));
        desk.schedule.release_idle_lanes(desk.now);
    }
    desk.take().unwrap();
    desk.schedule.put_off(&key, None, desk.now);
    desk.schedule.want(&key, true, desk.now);
    assert_eq!(desk.take(), Some((key, false, AT_ONCE)), "the lease may be lost");
}

#[test]
fn a_lane_with_two_thousand_unrecorded_deliveries_reads_no_more() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.filled(&key, KNOWN, false);
    let sent = desk.send().unwrap();
    desk.done(&sent);
    desk.schedule.want(&key, false, desk.now);
    assert!(desk.take().is_none());
    desk.recorded(&sent);
    assert_eq!(desk.take(), Some((key, true, AT_ONCE + KNOWN - 1)));
}

#[test]
fn a_lease_that_ends_in_half_its_length_is_renewed_by_the_next_read() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 0, false);
    let half = Duration::from_millis(u64::try_from(Lease::LENGTH / 2).unwrap());
    desk.pass(half.checked_sub(Duration::from_millis(1)).unwrap());
    desk.schedule.want(&key, false, desk.now);
    assert!(matches!(desk.take(), Some((_, true, _))));
    desk.schedule.not_taken(&key);
    desk.filled(&key, 0, false);
    desk.pass(half);
    desk.schedule.want(&key, false, desk.now);
    assert!(matches!(desk.take(), Some((_, false, _))));
}

#[test]
fn deliveries_are_read_again_if_they_are_old_or_the_lease_ends_soon() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 3, false);
    desk.pass(STALE);
    assert!(desk.send().is_some());
    desk.pass(Duration::from_millis(1));
    assert!(desk.send().is_none());
    assert!(desk.take().is_some(), "read longer ago");
    let again = desk.attempts(2, true);
    desk.read(&key, again, Vec::new(), false);
    // Only the wall clock passes.
    let lasts = Lease::LENGTH - ATTEMPT;
    desk.time = desk.time.plus_millis(lasts);
    assert!(desk.send().is_some());
    desk.time = desk.time.plus_millis(1);
    assert!(desk.send().is_none());
    assert!(matches!(desk.take(), Some((_, false, _))), "the lease must last for an attempt");
}

#[test]
fn a_lane_with_three_hundred_unrecorded_outcomes_stops_sending() {
    let mut desk = Desk::new(Limits { subscription: 1, ..many() });
    let key = desk.key(&desk.tenant());
    desk.filled(&key, UNRECORDED + 10, false);
    let mut sent = Vec::new();
    while let Some(one) = desk.send() {
        assert!(desk.send().is_none(), "one at a time");
        desk.done(&one);
        sent.push(one);
    }
    assert_eq!(sent.len(), UNRECORDED);
    desk.recorded(&sent[0]);
    assert!(desk.send().is_some());
}

#[test]
fn idle_lanes_are_kept_for_ninety_seconds() {
    let mut desk = Desk::new(many());
    let (idle, busy) = (desk.key(&desk.tenant()), desk.key(&desk.tenant()));
    desk.filled(&idle, 1, false);
    desk.filled(&busy, 1, false);
    let sent = desk.send_all();
    assert_eq!(desk.schedule.in_flight(), 2);
    for one in &sent {
        desk.done(one);
    }
    assert_eq!((desk.schedule.in_flight(), desk.schedule.tenants.len()), (0, 0));
    desk.recorded(sent.iter().find(|one| one.key == idle).unwrap());
    let mut owned = desk.schedule.owned_lanes();
    owned.sort();
    let mut both = [idle, busy.clone()];
    both.sort();
    assert_eq!(owned, both);
    desk.pass(IDLE);
    desk.schedule.release_idle_lanes(desk.now);
    assert_eq!(desk.schedule.len(), 2);
    desk.pass(Duration::from_millis(1));
    desk.schedule.release_idle_lanes(desk.now);
    assert_eq!(desk.schedule.owned_lanes(), std::slice::from_ref(&busy), "an outcome is not recorded yet");
    desk.recorded(sent.iter().find(|one| one.key == busy).unwrap());
    desk.schedule.release_idle_lanes(desk.now);
    assert_eq!(desk.schedule.len(), 0);
}

#[test]
fn a_lane_that_another_dispatcher_owns_is_forgotten_after_its_deliveries() {
    let mut desk = Desk::new(Limits { subscription: 1, ..many() });
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 3, false);
    let sent = desk.send().unwrap();
    desk.schedule.want(&key, false, desk.now);
    desk.take().unwrap();
    desk.schedule.not_taken(&key);
    assert!(desk.schedule.owned_lanes().is_empty());
    assert_eq!((desk.schedule.len(), desk.schedule.in_flight()), (1, 1));
    desk.done(&sent);
    assert!(desk.send().is_none(), "the rest is left to the owner");
    desk.recorded(&sent);
    desk.schedule.want(&key, false, desk.now);
    desk.take().unwrap();
    desk.schedule.not_taken(&key);
    assert_eq!(desk.schedule.len(), 0);
}

#[test]
fn a_slow_lane_gets_one_delivery_at_a_time_and_reads_few() {
    let mut desk = Desk::new(many());
    let key = desk.key(&desk.tenant());
    desk.filled(&key, 40, false);
    for sent in desk.send_all() {
        let outcome = Outcome::failed(AttemptError::Timeout, 15_000);
        desk.schedule.done(&key, true, &outcome);
        desk.recorded(&sent);
    }
    desk.schedule.want(&key, false, desk.now);
    assert_eq!(desk.take(), Some((key.clone(), true, FEW)));
    let fresh = desk.attempts(FEW, true);
    desk.read(&key, fresh, Vec::new(), true);
    let sent = desk.send_all();
    assert_eq!(sent.len(), 1);
    assert!(desk.take().is_none(), "nine are ready");
}
