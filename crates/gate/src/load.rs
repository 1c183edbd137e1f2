//! How much is being answered: more than the server can bear is refused at once instead of waiting, and at the
//! end everything that was begun is finished.

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
};

/// How long more than a sustained load is a burst, which is worked off.
const BURST: Duration = Duration::from_millis(100);
/// How long after a refusal no burst is let in, in milliseconds.
const TENSE: u64 = 1000;
/// What a sustained load may be, as a part of the limit: then those admitted are answered quickly.
const SUSTAINED: usize = 8;

/// How long a refusal waits.
const PAUSE: Duration = Duration::from_millis(100);
/// How many times the limit may wait to be refused; more are refused at once.
const REFUSING: usize = 16;

/// How many times the limit may wait for something that is neither storage nor their client.
const WAITING: usize = 4;
/// How many times the limit may wait for their turn.
const QUEUE: usize = 4;
/// Requests that have their turn at the same time.
const TURNS: usize = 8;

/// What all workers share about the load.
pub struct Load {
    limit: usize,
    /// Milliseconds from the start of the server to the last moment in which little was worked on.
    calm: AtomicU64,
    /// Milliseconds from the start until which a refusal is remembered.
    tense_until: AtomicU64,
    /// Requests that have arrived and are not answered yet.
    answering: AtomicUsize,
    /// Those of them that hold a slot.
    working: AtomicUsize,
    /// Those of them that wait for something that is neither storage nor their client.
    waiting: AtomicUsize,
    /// Those of them that wait for their turn.
    queued: AtomicUsize,
    /// Refusals that are not sent yet.
    refusing: AtomicUsize,
    turns: Arc<Semaphore>,
    draining: AtomicBool,
    idle: Notify,
    started: Instant,
    refusals: EventTally,
    meter: LoadMeter,
}

/// A request that is being answered, until it is dropped.
pub struct Answering(Arc<Load>);

/// One of the limited number of slots for requests that are worked on; given up when dropped.
pub(crate) struct WorkSlot(Arc<Load>);

/// A refusal that is not sent yet, until it is dropped.
struct PendingRefusal(Arc<Load>);

/// A request that waits for something else, until it is dropped.
struct WaitingRequest(Arc<Load>);

/// A request that waits for its turn, until it is dropped.
struct QueuedRequest(Arc<Load>);

/// The slot of a request. The request gives it up while it waits for its client: otherwise a few clients that
/// send their bodies slowly would keep everybody out.
#[derive(Clone)]
pub(crate) struct RequestSlot(Rc<SlotState>);

struct SlotState {
    load: Arc<Load>,
    work: RefCell<Option<Rc<WorkSlot>>>,
}

impl Load {
    /// Takes `limit` requests at the same time.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            calm: AtomicU64::new(0),
            tense_until: AtomicU64::new(0),
            answering: AtomicUsize::new(0),
            working: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            queued: AtomicUsize::new(0),
            refusing: AtomicUsize::new(0),
            turns: Arc::new(Semaphore::new(TURNS)),
            draining: AtomicBool::new(false),
            idle: Notify::new(),
            started: Instant::now(),
            refusals: EventTally::default(),
            meter: LoadMeter::new(limit),
        })
    }

    /// Notes that a request has arrived.
    pub fn arrived(self: &Arc<Self>) -> Answering {
        self.answering.fetch_add(1, Ordering::AcqRel);
        self.meter.answering.increment(1.0);
        Answering(Arc::clone(self))
    }

    /// How long a refusal may wait, if it may: in an overload that lasts, clients that are refused at once come back
    /// at once, and refusing them takes what those admitted need.
    pub(crate) async fn before_refusal(self: &Arc<Self>) {
        let _refusing = PendingRefusal(Arc::clone(self));
        if self.refusing.fetch_add(1, Ordering::AcqRel) < self.limit * REFUSING && !self.is_draining() {
            sleep(PAUSE).await;
        }
    }

    /// A slot for a request, unless all are taken.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<RequestSlot> {
        let before = self.working.load(Ordering::Acquire);
        if before < self.limit_now(before) {
            return Some(self.slot(Some(self.work())));
        }
        self.refuse();
        None
    }

    /// A slot for a request that takes its place in the queue when it has everything it needs
    /// ([`RequestSlot::in_turn`]). Until then it costs no more than its connection and what has arrived of its body.
    pub(crate) fn admit_patient(self: &Arc<Self>) -> RequestSlot {
        self.slot(None)
    }

    fn slot(self: &Arc<Self>, work: Option<WorkSlot>) -> RequestSlot {
        let work = RefCell::new(work.map(Rc::new));
        RequestSlot(Rc::new(SlotState { load: Arc::clone(self), work }))
    }

    fn refuse(&self) {
        self.meter.refused.increment(1);
        self.tense_until.store(self.millis() + TENSE, Ordering::Relaxed);
        if let Some(refused) = self.refusals.add() {
            tracing::warn!(refused, limit = self.limit, "overloaded: requests are refused with 503");
        }
    }

    /// A burst may fill all slots; a load that stays is let in only as far as it is worked off without waiting,
    /// or everybody would wait as long as the slots allow.
    fn limit_now(&self, working: usize) -> usize {
        let sustained = (self.limit / SUSTAINED).max(1);
        let now = self.millis();
        // Those refused come back: between two of their waves nothing is calm yet.
        if now < self.tense_until.load(Ordering::Relaxed) {
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

    fn work(self: &Arc<Self>) -> WorkSlot {
        self.working.fetch_add(1, Ordering::AcqRel);
        self.meter.working.increment(1.0);
        WorkSlot(Arc::clone(self))
    }

    /// From now on, clients are told to go elsewhere.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        self.meter.draining.set(1.0);
    }

    /// Whether the server is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    /// How many requests are being answered.
    pub(crate) fn answering(&self) -> usize {
        self.answering.load(Ordering::Acquire)
    }

    /// Waits until nothing is being answered.
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
    /// Gives it up for good: the answer is made, and its client may read it as slowly as it likes.
    pub(crate) fn free(&self) {
        self.0.work.borrow_mut().take();
    }

    /// Waits for the request's turn: few of those that wait are worked on at the same time. `None` where too many
    /// wait already, and when the server ends.
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
        *self.0.work.borrow_mut() = Some(Rc::new(load.work()));
        Some(turn)
    }

    /// For what goes on when the request's client is gone: it is worked on as before.
    pub(crate) fn work_slot(&self) -> Option<Rc<WorkSlot>> {
        self.0.work.borrow().clone()
    }

    /// Waits for the client without holding the slot, and then takes it again, also where others have taken it
    /// meanwhile: a request that was admitted is not refused later. [`super::bodies::Bodies`] bounds how many wait.
    pub(crate) async fn released<T>(&self, waiting: impl Future<Output = T>) -> T {
        let was_working = self.0.work.borrow_mut().take().is_some();
        let arrived = waiting.await;
        if was_working {
            *self.0.work.borrow_mut() = Some(Rc::new(self.0.load.work()));
        }
        arrived
    }

    /// The same for something that is neither storage nor the client. `None` where too many wait already.
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
        self.0.meter.working.decrement(1.0);
        self.0.working.fetch_sub(1, Ordering::AcqRel);
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

/// What counts the load.
struct LoadMeter {
    answering: Gauge,
    working: Gauge,
    refused: Counter,
    draining: Gauge,
}

impl LoadMeter {
    /// For a server that takes this many requests at the same time.
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

    #[test]
    fn one_more_than_the_limit_is_refused_until_another_ends() {
        let load = Load::new(2);
        let both = (load.admit().unwrap(), load.admit().unwrap());
        assert!(load.admit().is_none());
        drop(both);
        assert!(load.admit().is_some());
    }

    #[test]
    fn what_lasts_is_let_in_as_far_as_it_is_worked_off() {
        let load = Load::new(8);
        let wait_for = |limit: usize, working: usize| {
            let start = Instant::now();
            while load.limit_now(working) != limit {
                assert!(start.elapsed() < Duration::from_secs(5));
            }
        };
        let mut held: Vec<_> = (0..8).filter_map(|_| load.admit()).collect();
        assert_eq!(held.len(), 8, "a burst fills all slots");
        wait_for(1, 8);
        held.truncate(1);
        assert!(load.admit().is_none(), "one is all that a lasting load may have");
        held.clear();
        assert_eq!(load.limit_now(0), 1, "also for a moment after a refusal");
        wait_for(8, 0);
        let again: Vec<_> = std::iter::from_fn(|| load.admit()).collect();
        assert_eq!(again.len(), 8, "when it is over, a burst fills them again");
    }

    #[tokio::test]
    async fn who_waits_for_a_body_holds_no_slot() {
        let load = Load::new(1);
        let slot = load.admit().unwrap();
        let other = slot.released(async { load.admit() }).await.unwrap();
        assert!(load.admit().is_none());
        drop(other);
        assert!(load.admit().is_none(), "the first holds it again");
        drop(slot);
        assert!(load.admit().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_wait_for_their_turn_hold_no_slot_and_have_a_bound() {
        let load = Load::new(4);
        let mut turns = Vec::new();
        for _ in 0..TURNS {
            turns.push(load.admit_patient().in_turn().await.unwrap());
        }
        let slots: Vec<_> = (0..4 * QUEUE).map(|_| load.admit_patient()).collect();
        let mut waiting: Vec<_> = slots.iter().map(|slot| Box::pin(slot.in_turn())).collect();
        for one in &mut waiting {
            assert!(one.now_or_never().is_none());
        }
        assert!(load.admit_patient().in_turn().await.is_none(), "the queue is full");
        drop(waiting);
        let next = load.admit_patient();
        let mut turn = Box::pin(next.in_turn());
        assert!((&mut turn).now_or_never().is_none(), "no turn is free");
        drop(turns.pop());
        assert!(turn.await.is_some());
    }

    #[tokio::test]
    async fn requests_that_wait_for_their_bodies_take_no_place_in_the_queue() {
        let load = Load::new(1);
        let slow: Vec<_> = (0..100).map(|_| load.admit_patient()).collect();
        let mut bodies: Vec<_> = slow.iter().map(|slot| Box::pin(slot.released(pending::<()>()))).collect();
        for body in &mut bodies {
            assert!(body.now_or_never().is_none());
        }
        assert!(load.admit_patient().in_turn().await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_the_last_answer() {
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
