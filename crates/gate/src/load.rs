//! Limits concurrent requests. Excess requests are rejected at once instead of waiting, and on shutdown requests in
//! progress are finished.

use std::{
    cell::RefCell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::sleep,
};

use metrics::{Counter, Gauge, counter, gauge};

use super::{
    event_tally::EventTally,
    meter::{DRAINING, IN_FLIGHT, REFUSED, WORKING, WORKING_MAX, count},
    slot_shares::{CallerKey, SlotShares},
};

/// How long a load above the sustained limit counts as a burst, which is accepted.
const BURST: Duration = Duration::from_millis(100);
/// How long after a rejection no burst is accepted, in milliseconds.
const NO_BURST: u64 = 1000;
/// The sustained limit is this fraction of the limit (1/4), so that accepted requests are answered quickly. By default it
/// is three times the number of database connections.
const SUSTAINED: usize = 4;

/// Delay before a rejection.
const PAUSE: Duration = Duration::from_millis(100);
/// Rejections that may be delayed at the same time, as a multiple of the limit. More are sent at once.
const DELAYED_REJECTIONS: usize = 16;

/// Requests that may wait for something other than storage or their client, as a multiple of the limit.
const WAITING: usize = 4;
/// Requests that may queue for their turn, as a multiple of the limit.
const QUEUE: usize = 4;
/// Requests that may have their turn at the same time.
const TURNS: usize = 8;

/// The load, shared by all workers.
pub struct Load {
    limit: usize,
    /// Milliseconds from the server's start to the last moment of low load.
    calm: AtomicU64,
    /// Milliseconds from the server's start until which a rejection is remembered.
    no_burst_until: AtomicU64,
    /// Requests that are not answered yet.
    answering: AtomicUsize,
    /// Requests that hold a slot.
    working: AtomicUsize,
    /// Requests that wait for something other than storage or their client.
    waiting: AtomicUsize,
    /// Requests that queue for their turn.
    queued: AtomicUsize,
    /// Rejections that are not sent yet.
    refusing: AtomicUsize,
    turns: Arc<Semaphore>,
    /// The slots of each caller.
    pub(crate) shares: SlotShares,
    draining: AtomicBool,
    idle: Notify,
    started: Instant,
    refusals: EventTally,
    meter: LoadMeter,
}

/// Counts a request as in progress until it is dropped.
pub struct Answering(Arc<Load>);

/// One of the limited slots for working on requests, released on drop.
pub(crate) struct WorkSlot {
    load: Arc<Load>,
    caller: CallerKey,
}

/// Counts a rejection as pending until it is dropped.
struct PendingRefusal(Arc<Load>);

/// Counts a request as waiting until it is dropped.
struct WaitingRequest(Arc<Load>);

/// Counts a request as queued until it is dropped.
struct QueuedRequest(Arc<Load>);

/// A request's slot. The request releases it while it waits for its client, so that a few clients with slow bodies
/// cannot occupy all slots.
#[derive(Clone)]
pub(crate) struct RequestSlot(Rc<SlotState>);

struct SlotState {
    load: Arc<Load>,
    caller: CallerKey,
    work: RefCell<Option<Rc<WorkSlot>>>,
}

impl Load {
    /// Allows `limit` concurrent requests.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            calm: AtomicU64::new(0),
            no_burst_until: AtomicU64::new(0),
            answering: AtomicUsize::new(0),
            working: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            refusing: AtomicUsize::new(0),
            turns: Arc::new(Semaphore::new(TURNS)),
            shares: SlotShares::default(),
            draining: AtomicBool::new(false),
            idle: Notify::new(),
            started: Instant::now(),
            refusals: EventTally::default(),
            meter: LoadMeter::new(limit),
        })
    }

    /// Records the arrival of a request.
    pub fn arrived(self: &Arc<Self>) -> Answering {
        self.answering.fetch_add(1, Ordering::AcqRel);
        self.meter.answering.increment(1.0);
        Answering(Arc::clone(self))
    }

    /// Delays a rejection. In a lasting overload, clients that are rejected at once retry at once, and rejecting them
    /// uses capacity that accepted requests need.
    pub(crate) async fn before_refusal(self: &Arc<Self>) {
        let _refusing = PendingRefusal(Arc::clone(self));
        if self.refusing.fetch_add(1, Ordering::AcqRel) < self.limit * DELAYED_REJECTIONS
            && !self.is_draining()
        {
            sleep(PAUSE).await;
        }
    }

    /// Returns a slot for a request, or `None` if the limit is reached. Under sustained load, a caller without a slot
    /// still gets one while another caller holds most of them.
    pub(crate) fn admit(self: &Arc<Self>, caller: CallerKey) -> Option<RequestSlot> {
        let before = self.working.load(Ordering::Acquire);
        if before < self.limit_now(before) || (before < self.limit && self.shares.are_unfair_to(caller)) {
            return Some(self.slot(caller, Some(self.work(caller))));
        }
        self.refuse();
        None
    }

    /// Returns a slot for a request that queues once it has everything it needs ([`RequestSlot::in_turn`]). Until
    /// then it uses only its connection and the received part of its body.
    pub(crate) fn admit_queued(self: &Arc<Self>, caller: CallerKey) -> RequestSlot {
        self.slot(caller, None)
    }

    fn slot(self: &Arc<Self>, caller: CallerKey, work: Option<WorkSlot>) -> RequestSlot {
        let work = RefCell::new(work.map(Rc::new));
        RequestSlot(Rc::new(SlotState { load: Arc::clone(self), caller, work }))
    }

    fn refuse(&self) {
        self.meter.refused.increment(1);
        self.no_burst_until.store(self.millis() + NO_BURST, Ordering::Relaxed);
        if let Some(refused) = self.refusals.add() {
            tracing::warn!(refused, limit = self.limit, "overloaded: rejecting requests with 503");
        }
    }

    /// Returns the current limit. A burst may use all slots, while a sustained load gets fewer, so that requests do
    /// not wait for each other.
    fn limit_now(&self, working: usize) -> usize {
        let sustained = (self.limit / SUSTAINED).max(1);
        let now = self.millis();
        // Rejected clients retry, so the load is not low between two waves of retries.
        if now < self.no_burst_until.load(Ordering::Relaxed) {
            return sustained;
        }
        if working <= sustained / 2 {
            self.calm.store(now, Ordering::Relaxed);
            return self.limit;
        }
        let busy_for = now.saturating_sub(self.calm.load(Ordering::Relaxed));
        if u128::from(busy_for) < BURST.as_millis() { self.limit } else { sustained }
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn work(self: &Arc<Self>, caller: CallerKey) -> WorkSlot {
        self.working.fetch_add(1, Ordering::AcqRel);
        self.shares.take(caller);
        self.meter.working.increment(1.0);
        WorkSlot { load: Arc::clone(self), caller }
    }

    /// Starts draining: clients are asked to close their connections.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.meter.draining.set(1.0);
    }

    /// Returns whether the server is shutting down.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// Returns the number of requests in progress.
    pub(crate) fn answering(&self) -> usize {
        self.answering.load(Ordering::Acquire)
    }

    /// Waits until no request is in progress.
    pub(crate) async fn until_idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.answering() == 0 {
                return;
            }
            idle.await;
        }
    }
}

impl RequestSlot {
    /// Releases the slot for good. The response is complete, and its client may read it slowly.
    pub(crate) fn free(&self) {
        self.0.work.borrow_mut().take();
    }

    /// Waits for the request's turn. Returns `None` if the queue is full.
    pub(crate) async fn in_turn(&self) -> Option<OwnedSemaphorePermit> {
        let load = &self.0.load;
        let place = QueuedRequest(Arc::clone(load));
        if load.queued.fetch_add(1, Ordering::AcqRel) >= load.limit * QUEUE {
            drop(place);
            load.refuse();
            load.before_refusal().await;
            return None;
        }
        let turn = Arc::clone(&load.turns).acquire_owned().await.ok()?;
        drop(place);
        *self.0.work.borrow_mut() = Some(Rc::new(load.work(self.0.caller)));
        Some(turn)
    }

    /// Returns the slot for work that continues after the request's client is gone.
    pub(crate) fn work_slot(&self) -> Option<Rc<WorkSlot>> {
        self.0.work.borrow().clone()
    }

    /// Awaits the client without the slot and then takes the slot again, even above the limit, because an accepted
    /// request is not rejected later. [`super::bodies::Bodies`] limits how many wait.
    pub(crate) async fn released<T>(&self, waiting: impl Future<Output = T>) -> T {
        let was_working = self.0.work.borrow_mut().take().is_some();
        let arrived = waiting.await;
        if was_working {
            *self.0.work.borrow_mut() = Some(Rc::new(self.0.load.work(self.0.caller)));
        }
        arrived
    }

    /// Awaits something other than storage or the client without the slot. Returns `None` if too many requests wait
    /// already.
    pub(crate) async fn yielded<T>(&self, waiting: impl Future<Output = T>) -> Option<T> {
        let load = Arc::clone(&self.0.load);
        let place = WaitingRequest(Arc::clone(&load));
        if load.waiting.fetch_add(1, Ordering::AcqRel) >= load.limit * WAITING {
            return None;
        }
        let done = self.released(waiting).await;
        drop(place);
        Some(done)
    }
}

impl Drop for WorkSlot {
    fn drop(&mut self) {
        self.load.meter.working.decrement(1.0);
        self.load.shares.release(self.caller);
        self.load.working.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for PendingRefusal {
    fn drop(&mut self) {
        self.0.refusing.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for QueuedRequest {
    fn drop(&mut self) {
        self.0.queued.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.meter.answering.decrement(1.0);
        if self.0.answering.fetch_sub(1, Ordering::AcqRel) == 1 && self.0.is_draining() {
            self.0.idle.notify_waiters();
        }
    }
}

/// Metrics of the load.
struct LoadMeter {
    answering: Gauge,
    working: Gauge,
    refused: Counter,
    draining: Gauge,
}

impl LoadMeter {
    /// Creates the metrics for this limit.
    fn new(limit: usize) -> Self {
        gauge!(WORKING_MAX).set(count(limit));
        let draining = gauge!(DRAINING);
        draining.set(0.0);
        Self { answering: gauge!(IN_FLIGHT), working: gauge!(WORKING), refused: counter!(REFUSED), draining }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use futures_util::FutureExt;

    use super::*;

    /// Two callers.
    const A: CallerKey = CallerKey(1);
    const B: CallerKey = CallerKey(2);

    #[test]
    fn requests_above_the_limit_are_rejected_until_one_ends() {
        let load = Load::new(2);
        let both = (load.admit(A).unwrap(), load.admit(A).unwrap());
        assert!(load.admit(A).is_none());
        drop(both);
        assert!(load.admit(A).is_some());
    }

    #[test]
    fn sustained_load_gets_the_lower_limit() {
        let load = Load::new(8);
        let wait_for = |limit: usize, working: usize| {
            let start = Instant::now();
            while load.limit_now(working) != limit {
                assert!(start.elapsed() < Duration::from_secs(5));
            }
        };
        let mut slots: Vec<_> = (0..8).filter_map(|_| load.admit(A)).collect();
        assert_eq!(slots.len(), 8, "a burst fills all slots");
        wait_for(2, 8);
        slots.truncate(2);
        assert!(load.admit(A).is_none(), "sustained load gets two slots");
        slots.clear();
        assert_eq!(load.limit_now(0), 2, "a rejection delays the next burst");
        wait_for(8, 0);
        let again: Vec<_> = std::iter::from_fn(|| load.admit(A)).collect();
        assert_eq!(again.len(), 8, "after the load ends, a burst fills all slots again");
    }

    #[test]
    fn caller_without_a_slot_is_admitted_while_another_holds_most() {
        let load = Load::new(8);
        let mut slots: Vec<_> = (0..8).filter_map(|_| load.admit(A)).collect();
        assert!(load.admit(A).is_none());
        assert!(load.admit(B).is_none(), "the full limit is never exceeded");
        slots.truncate(4);
        assert!(load.admit(A).is_none(), "after a rejection the sustained limit applies");
        let of_other = load.admit(B).unwrap();
        assert!(load.admit(B).is_none(), "the other caller has its slot");
        drop(of_other);
        assert!(load.admit(B).is_some());
    }

    #[tokio::test]
    async fn request_waiting_for_its_body_holds_no_slot() {
        let load = Load::new(1);
        let slot = load.admit(A).unwrap();
        let other = slot.released(async { load.admit(A) }).await.unwrap();
        assert!(load.admit(A).is_none());
        drop(other);
        assert!(load.admit(A).is_none(), "the first request has the slot again");
        drop(slot);
        assert!(load.admit(A).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn queued_requests_hold_no_slot_and_are_limited() {
        let load = Load::new(4);
        let mut turns = Vec::new();
        for _ in 0..TURNS {
            turns.push(load.admit_queued(A).in_turn().await.unwrap());
        }
        let slots: Vec<_> = (0..4 * QUEUE).map(|_| load.admit_queued(A)).collect();
        let mut waiting: Vec<_> = slots.iter().map(|slot| Box::pin(slot.in_turn())).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        assert!(load.admit_queued(A).in_turn().await.is_none(), "the queue is full");
        drop(waiting);
        let next = load.admit_queued(A);
        let mut turn = Box::pin(next.in_turn());
        assert!((&mut turn).now_or_never().is_none(), "no turn is free");
        drop(turns.pop());
        assert!(turn.await.is_some());
    }

    #[tokio::test]
    async fn requests_waiting_for_their_bodies_are_not_queued() {
        let load = Load::new(1);
        let slow: Vec<_> = (0..100).map(|_| load.admit_queued(A)).collect();
        let mut bodies: Vec<_> = slow.iter().map(|slot| Box::pin(slot.released(pending::<()>()))).collect();
        for body in &mut bodies {
            assert!(body.now_or_never().is_none());
        }
        assert!(load.admit_queued(A).in_turn().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_waits_for_the_last_response() {
        let load = Load::new(2);
        load.until_idle().await;
        let last = load.arrived();
        load.drain();
        let waiting = tokio::spawn({
            let load = Arc::clone(&load);
            async move { load.until_idle().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(last);
        waiting.await.unwrap();
    }
}
