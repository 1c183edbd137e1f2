//! Schedules deliveries fairly: round-robin over tenants, then over the lanes of their subscriptions.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    num::NonZeroU32,
    sync::Arc,
    time::Duration,
};

use kernel::{TenantId, Timestamp};
use tokio::time::Instant;

use super::{
    lane::Lane,
    queue::{Key, Lease, Receiver},
};
use crate::{
    delivery::{Attempt, Outcome},
    secret::Signers,
    subscription::SubscriptionId,
};

/// Limits of concurrent deliveries, and of their rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of concurrent deliveries to one subscription.
    pub subscription: usize,
    /// Maximum number of concurrent deliveries of one tenant.
    pub tenant: usize,
    /// Maximum number of concurrent deliveries in all. A fifth is reserved for first attempts, and a fifth for
    /// retries.
    pub total: usize,
    /// Maximum number of deliveries per second to one subscription; `None` for no limit.
    pub rate: Option<NonZeroU32>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { subscription: 4, tenant: 64, total: 512, rate: None }
    }
}

/// Maximum number of deliveries per read.
pub(super) const AT_ONCE: usize = 200;
/// A lane with fewer ready deliveries reads more.
const LOW: usize = 50;
/// A lane with so many unrecorded deliveries waits until some are recorded.
const KNOWN: usize = 2_000;
/// A lane with so many unrecorded outcomes stops sending, because a crash would cause all of them to be sent again.
const UNRECORDED: usize = 300;
/// Number of deliveries read for a slow receiver, which gets one at a time.
const FEW: usize = 10;
/// Deliveries read longer ago are read again before sending, because the subscription may have changed.
const STALE: Duration = Duration::from_secs(30);
/// Maximum duration of an attempt in milliseconds, with a margin. The lease must last that long.
const ATTEMPT: i64 = 20_000;
/// Pause after a storage failure.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a lane without deliveries is kept.
const IDLE: Duration = Duration::from_secs(90);

/// A delivery to send.
pub(super) struct SendInProgress {
    pub(super) key: Key,
    pub(super) to: Arc<(Receiver, Signers)>,
    pub(super) attempt: Attempt,
}

/// A tenant's subscriptions with deliveries to send.
#[derive(Default)]
struct TenantQueue {
    in_flight: usize,
    queue: VecDeque<SubscriptionId>,
    is_in_ring: bool,
}

/// The lanes and their order.
pub(super) struct Schedule {
    limits: Limits,
    lanes: HashMap<Key, Lane>,
    tenants: HashMap<TenantId, TenantQueue>,
    ring: VecDeque<TenantId>,
    /// Lanes to read.
    to_take: VecDeque<Key>,
    /// Lanes that their rate limit blocks until a time.
    later: BTreeSet<(Instant, Key)>,
    /// Lanes that had to wait because of the total limits, or that have nothing left to send.
    parked: Vec<Key>,
    /// Number of first attempts in flight.
    fresh: usize,
    /// Number of retries in flight.
    retries: usize,
}

impl Schedule {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            lanes: HashMap::new(),
            tenants: HashMap::new(),
            ring: VecDeque::new(),
            to_take: VecDeque::new(),
            later: BTreeSet::new(),
            parked: Vec::new(),
            fresh: 0,
            retries: 0,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.fresh + self.retries
    }

    pub(super) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(super) fn lane(&mut self, key: &Key) -> Option<&mut Lane> {
        self.lanes.get_mut(key)
    }

    /// Requests a read of a subscription that may have deliveries. Does nothing if unread deliveries are already
    /// known, unless the subscription has changed.
    pub(super) fn want(&mut self, key: &Key, has_changed: bool, now: Instant) {
        let lane = self.lanes.entry(key.clone()).or_default();
        lane.touched = Some(now);
        if has_changed {
            lane.not_before = None;
        }
        if has_changed || !lane.has_more || lane.is_taking {
            lane.is_wanted = true;
        }
        self.consider(key, now);
    }

    /// Queues a lane for reading if it is due.
    fn consider(&mut self, key: &Key, now: Instant) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        let low = if lane.breaker.is_open() { 1 } else { LOW };
        let is_due = lane.is_wanted || (lane.has_more && lane.ready() < low);
        let may = lane.not_before.is_none_or(|time| time <= now) && lane.known.len() < KNOWN;
        if is_due && may && !lane.is_taking {
            lane.is_taking = true;
            self.to_take.push_back(key.clone());
        }
    }

    /// Returns the next lane to read, whether its lease is ours and lasts long enough, and how much to read.
    pub(super) fn next_take(&mut self, now: Timestamp) -> Option<(Key, bool, usize)> {
        loop {
            let key = self.to_take.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&key) else { continue };
            lane.is_wanted = false;
            let lasts = now.plus_millis(Lease::LENGTH / 2);
            let is_held = lane.lease_until.is_some_and(|until| until > lasts);
            let wanted = if lane.breaker.is_open() { FEW } else { AT_ONCE };
            return Some((key, is_held, wanted + lane.known.len()));
        }
    }

    /// Takes over the result of reading a lane.
    pub(super) fn lane_read(
        &mut self,
        key: &Key,
        to: (Receiver, Signers),
        (fresh, retries): (Vec<Attempt>, Vec<Attempt>),
        (has_more, lease_until): (bool, Option<Timestamp>),
        now: Instant,
    ) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        lane.forget();
        lane.failing_since = to.0.failing_since;
        lane.to = Some(Arc::new(to));
        lane.fill(fresh, retries);
        lane.end_taking();
        lane.has_more = has_more;
        lane.taken_at = Some(now);
        if lease_until.is_some() {
            lane.lease_until = lease_until;
        }
        self.offer(key);
        self.consider(key, now);
    }

    /// Handles a lane that another dispatcher owns or that has nothing to send. Deliveries in flight continue.
    pub(super) fn not_taken(&mut self, key: &Key) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        lane.end_taking();
        lane.has_more = false;
        lane.lease_until = None;
        lane.forget();
        if lane.is_idle() {
            self.lanes.remove(key);
        }
    }

    /// Handles a lane that could not be read or signed for: it is retried after a pause.
    pub(super) fn put_off(&mut self, key: &Key, pause: Option<Duration>, now: Instant) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        lane.end_taking();
        lane.is_wanted = true;
        lane.lease_until = None;
        lane.forget();
        lane.not_before = Some(now + pause.unwrap_or(PAUSE));
    }

    /// Queues a lane for sending if it has deliveries ready.
    fn offer(&mut self, key: &Key) {
        let Some(lane) = self.lanes.get_mut(key) else { return };
        let most = if lane.breaker.is_open() { 1 } else { self.limits.subscription };
        let is_behind = lane.unrecorded() >= UNRECORDED;
        if lane.is_queued || lane.ready() == 0 || lane.in_flight >= most || is_behind {
            return;
        }
        lane.is_queued = true;
        let turns = self.tenants.entry(key.tenant.clone()).or_default();
        turns.queue.push_back(key.subscription.clone());
        self.enqueue_tenant(&key.tenant);
    }

    fn enqueue_tenant(&mut self, tenant: &TenantId) {
        let Some(turns) = self.tenants.get_mut(tenant) else { return };
        if !turns.is_in_ring && !turns.queue.is_empty() && turns.in_flight < self.limits.tenant {
            turns.is_in_ring = true;
            self.ring.push_back(tenant.clone());
        }
    }

    /// Returns the next delivery to send: tenants take turns, and so do the subscriptions of each tenant.
    pub(super) fn next_send(&mut self, now: Instant, time: Timestamp) -> Option<SendInProgress> {
        while self.in_flight() < self.limits.total {
            let tenant = self.ring.pop_front()?;
            let Some(turns) = self.tenants.get_mut(&tenant) else { continue };
            turns.is_in_ring = false;
            let Some(subscription) = turns.queue.pop_front() else { continue };
            let key = Key { tenant, subscription };
            let sending = self.send(&key, now, time);
            self.enqueue_tenant(&key.tenant);
            if sending.is_some() {
                return sending;
            }
        }
        None
    }

    fn send(&mut self, key: &Key, now: Instant, time: Timestamp) -> Option<SendInProgress> {
        let share = self.limits.total - self.limits.total / 5;
        let (room_for_fresh, room_for_retries) = (self.fresh < share, self.retries < share);
        let lane = self.lanes.get_mut(key)?;
        lane.is_queued = false;
        lane.touched = Some(now);
        let lasts = time.plus_millis(ATTEMPT);
        let is_stale = lane.taken_at.is_none_or(|at| now.duration_since(at) > STALE);
        if is_stale || lane.lease_until.is_none_or(|until| until < lasts) {
            lane.forget();
            lane.is_wanted = true;
            self.consider(key, now);
            return None;
        }
        let wait = self.limits.rate.and_then(|rate| lane.rate.wait(rate.get(), now));
        if let Some(at) = wait {
            self.later.insert((at, key.clone()));
            return None;
        }
        let to = Arc::clone(lane.to.as_ref()?);
        let Some(attempt) = lane.next(room_for_fresh, room_for_retries) else {
            self.parked.push(key.clone());
            return None;
        };
        if let Some(rate) = self.limits.rate {
            lane.rate.take(rate.get(), now);
        }
        lane.in_flight += 1;
        if attempt.is_fresh {
            self.fresh += 1;
        } else {
            self.retries += 1;
        }
        if let Some(turns) = self.tenants.get_mut(&key.tenant) {
            turns.in_flight += 1;
        }
        self.offer(key);
        self.consider(key, now);
        Some(SendInProgress { key: key.clone(), to, attempt })
    }

    /// Handles the outcome of an attempt, which frees capacity.
    pub(super) fn done(&mut self, key: &Key, is_fresh: bool, outcome: &Outcome) {
        if is_fresh {
            self.fresh -= 1;
        } else {
            self.retries -= 1;
        }
        if let Some(turns) = self.tenants.get_mut(&key.tenant) {
            turns.in_flight -= 1;
            if turns.in_flight == 0 && turns.queue.is_empty() && !turns.is_in_ring {
                self.tenants.remove(&key.tenant);
            }
        }
        if let Some(lane) = self.lanes.get_mut(key) {
            lane.in_flight -= 1;
            lane.breaker.note(outcome);
        }
        self.offer(key);
        self.enqueue_tenant(&key.tenant);
        for key in std::mem::take(&mut self.parked) {
            self.offer(&key);
        }
    }

    /// Handles an outcome that has been recorded.
    pub(super) fn recorded(&mut self, key: &Key, id: &crate::DeliveryId, now: Instant) {
        if let Some(lane) = self.lanes.get_mut(key) {
            lane.settle(id);
        }
        self.offer(key);
        self.consider(key, now);
    }

    /// Returns when the next rate-limited lane may send again.
    pub(super) fn next_later(&self) -> Option<Instant> {
        self.later.first().map(|(at, _)| *at)
    }

    /// Queues the rate-limited lanes that may send again.
    pub(super) fn wake_due_lanes(&mut self, now: Instant) {
        while let Some((at, key)) = self.later.pop_first() {
            if at > now {
                self.later.insert((at, key));
                return;
            }
            self.offer(&key);
        }
    }

    /// Reads postponed lanes again, and removes lanes that were idle for so long that their leases have expired.
    pub(super) fn release_idle_lanes(&mut self, now: Instant) {
        let put_off = self.lanes.iter().filter(|(_, lane)| lane.is_wanted);
        for key in put_off.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.consider(&key, now);
        }
        let is_over = |lane: &Lane| lane.touched.is_none_or(|at| now.duration_since(at) > IDLE);
        self.lanes.retain(|_, lane| !(lane.is_idle() && is_over(lane)));
        // A tenant with queued lanes is in the ring, unless it has reached its limit of deliveries in flight.
        self.tenants.retain(|_, turns| turns.in_flight > 0 || turns.is_in_ring);
    }

    /// Returns the lanes whose lease is ours.
    pub(super) fn owned_lanes(&self) -> Vec<Key> {
        let leased = self.lanes.iter().filter(|(_, lane)| lane.lease_until.is_some());
        leased.map(|(key, _)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests;
