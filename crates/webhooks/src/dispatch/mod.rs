//! The dispatcher: reads due deliveries, sends them and records their outcomes, all independently.
//!
//! One task owns the [`Schedule`]. Reading, sending and recording run in tasks of their own that report to it by
//! messages, so nothing but a lease is held while waiting for a receiver.

use crate::store::Queue;
mod board;
mod http;
mod lane;
mod queue;
mod reports;

use std::{collections::HashSet, pin::pin, sync::Arc, time::Duration};

use kernel::{Env, Id, Kind, StoreResult, Timestamp};
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};

pub use self::{
    board::Limits,
    http::{HttpDeliver, sent},
    queue::{
        Batch, Deliverer, DisabledSubscription, DispatchObserver, Key, Lease, LeaseOutcome, Receiver,
        Recorded, Wakeups,
    },
};
use self::{
    board::{Schedule, SendInProgress},
    reports::Reports,
};
use crate::{
    delivery::{Attempt, Outcome},
    subscription::SubscriptionId,
};

/// How often storage is polled for deliveries without a notification.
const EVERY: Duration = Duration::from_secs(1);
/// How often the dispatcher is seen by others.
const SEEN: Duration = Duration::from_secs(2);
/// Maximum number of concurrent lane reads.
const TAKES: usize = 4;
/// Delay before a failed recording is retried.
const AGAIN: Duration = Duration::from_millis(200);
/// Pause of a lane whose deliveries cannot be signed.
const UNSIGNED: Duration = Duration::from_secs(30);
/// Maximum number of messages handled before sending continues.
const MESSAGES: usize = 256;
/// Time limit for deliveries in flight at shutdown.
const LAST: Duration = Duration::from_secs(10);

/// Marks ids of dispatchers.
enum DispatcherKind {}
impl Kind for DispatcherKind {
    const PREFIX: &'static str = "dsp";
}

/// Sends due deliveries until it is shut down.
pub struct Dispatcher {
    /// The queue of deliveries.
    pub queue: Arc<dyn Queue>,
    /// Signs and sends deliveries.
    pub deliver: Arc<dyn Deliverer>,
    /// Receives events for metrics and logs.
    pub seen: Arc<dyn DispatchObserver>,
    /// Time and randomness.
    pub env: Arc<dyn Env>,
    /// Limits of concurrency and rate.
    pub limits: Limits,
    /// Notifications from this process, which are passed on to other dispatchers.
    pub news: Wakeups,
    /// Notifications from other processes, which are not passed on.
    pub heard: Wakeups,
}

/// A message of a task to the dispatcher.
enum Message {
    Due(StoreResult<Vec<Key>>),
    Taken { key: Key, lease_until: Option<Timestamp>, taken: StoreResult<LeaseOutcome> },
    Done { key: Key, attempt: Attempt, outcome: Outcome, attempted_at: Timestamp },
    Recorded(Batch, StoreResult<Recorded>),
}

/// A running dispatcher.
struct RunningDispatcher {
    parts: Dispatcher,
    owner: String,
    board: Schedule,
    reports: Reports,
    /// Subscriptions with a notification from another process.
    hearsay: HashSet<Key>,
    takes: usize,
    is_looking: bool,
    is_ending: bool,
    tell: mpsc::UnboundedSender<Message>,
}

impl Dispatcher {
    /// Runs until `end` completes, then waits up to ten seconds for deliveries in flight and releases its leases.
    pub async fn run(self, end: impl Future<Output = ()>) {
        let (news, heard) = (self.news.clone(), self.heard.clone());
        let (tell, mut inbox) = mpsc::unbounded_channel();
        let owner = Id::<DispatcherKind>::new(&*self.env).to_string();
        let board = Schedule::new(self.limits);
        let (reports, is_looking, is_ending) = (Reports::default(), false, false);
        let mut work = RunningDispatcher {
            parts: self,
            owner,
            board,
            reports,
            hearsay: HashSet::new(),
            takes: 0,
            is_looking,
            is_ending,
            tell,
        };
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut end = pin!(end);
        let mut being_seen = pin!(be_seen(
            work.parts.queue.clone(),
            work.parts.seen.clone(),
            work.parts.env.clone(),
            work.owner.clone()
        ));
        loop {
            let wake = work.pump();
            tokio::select! {
                Some(message) = inbox.recv() => work.handle_messages(message, &mut inbox),
                keys = news.next() => {
                    for (key, has_changed) in keys {
                        work.hearsay.remove(&key);
                        if has_changed {
                            // Another dispatcher may own the subscription and has to know.
                            work.parts.seen.elsewhere(&key, true);
                        }
                        work.board.want(&key, has_changed, Instant::now());
                    }
                }
                keys = heard.next() => {
                    for (key, has_changed) in keys {
                        work.board.want(&key, has_changed, Instant::now());
                        work.hearsay.insert(key);
                    }
                }
                _ = ticks.tick() => work.poll_due(),
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
                () = &mut being_seen => {}
                () = &mut end => break,
            }
        }
        work.is_ending = true;
        let finish = async {
            while work.board.in_flight() > 0 || !work.reports.is_empty() {
                let wake = work.pump();
                tokio::select! {
                    Some(message) = inbox.recv() => work.handle_messages(message, &mut inbox),
                    () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
                    () = &mut being_seen => {}
                }
            }
        };
        // Deliveries that are cut off have no outcome, so the next owner sends them again.
        let _in_time = timeout(LAST, finish).await;
        work.release(&work.board.owned_lanes()).await;
    }
}

/// Lets other dispatchers see this one. Independent of polling, which may take long. Never returns.
async fn be_seen(
    queue: Arc<dyn Queue>,
    observer: Arc<dyn DispatchObserver>,
    env: Arc<dyn Env>,
    owner: String,
) {
    let mut ticks = interval(SEEN);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(error) = queue.be_seen(&Lease::new(&owner, env.now())).await {
            observer.failed("being seen by other dispatchers", &error);
        }
    }
}

impl RunningDispatcher {
    /// Starts all work that is possible now. Returns when to call it again.
    fn pump(&mut self) -> Option<Instant> {
        let (now, time) = (Instant::now(), self.parts.env.now());
        self.board.wake_due_lanes(now);
        self.take_all(time);
        while !self.is_ending {
            let Some(sending) = self.board.next_send(now, time) else { break };
            self.send(sending);
        }
        // Sending may have found a lane that must be read again first.
        self.take_all(time);
        while let Some(batch) = self.reports.next(now) {
            self.record(batch, Duration::ZERO);
        }
        self.parts.seen.at_work(self.board.in_flight(), self.board.len());
        [self.board.next_later(), self.reports.next_due()].into_iter().flatten().min()
    }

    fn lease(&self) -> Lease {
        Lease::new(&self.owner, self.parts.env.now())
    }

    fn take_all(&mut self, time: Timestamp) {
        while !self.is_ending && self.takes < TAKES {
            let Some((key, is_held, most)) = self.board.next_take(time) else { break };
            self.take(key, is_held, most);
        }
    }

    fn take(&mut self, key: Key, is_held: bool, most: usize) {
        self.takes += 1;
        let (queue, lease, tell) = (Arc::clone(&self.parts.queue), self.lease(), self.tell.clone());
        tokio::spawn(async move {
            let taken = queue.take(&key, &lease, is_held, most).await;
            let lease_until = (!is_held).then_some(lease.until);
            let _ended = tell.send(Message::Taken { key, lease_until, taken });
        });
    }

    fn send(&self, SendInProgress { key, to, attempt }: SendInProgress) {
        let (deliver, tell) = (Arc::clone(&self.parts.deliver), self.tell.clone());
        let attempted_at = self.parts.env.now();
        tokio::spawn(async move {
            let (receiver, signers) = &*to;
            let outcome = deliver.deliver(receiver, signers, &attempt).await;
            let _ended = tell.send(Message::Done { key, attempt, outcome, attempted_at });
        });
    }

    fn record(&self, batch: Batch, pause: Duration) {
        let (queue, tell) = (Arc::clone(&self.parts.queue), self.tell.clone());
        tokio::spawn(async move {
            tokio::time::sleep(pause).await;
            let recorded = queue.record(&batch).await;
            let _ended = tell.send(Message::Recorded(batch, recorded));
        });
    }

    /// Handles a message and those that have arrived in the meantime.
    fn handle_messages(&mut self, first: Message, inbox: &mut mpsc::UnboundedReceiver<Message>) {
        let mut next = Some(first);
        for _ in 0..MESSAGES {
            let Some(message) = next else { return };
            self.handle_message(message);
            next = inbox.try_recv().ok();
        }
        if let Some(message) = next {
            self.handle_message(message);
        }
    }

    fn handle_message(&mut self, message: Message) {
        let now = Instant::now();
        match message {
            Message::Due(found) => {
                self.is_looking = false;
                match found {
                    Ok(keys) => {
                        for key in keys {
                            self.board.want(&key, false, now);
                        }
                    }
                    Err(error) => self.parts.seen.failed("finding due deliveries", &error),
                }
            }
            Message::Taken { key, lease_until, taken } => {
                self.takes -= 1;
                self.lane_read(&key, lease_until, taken, now);
            }
            Message::Done { key, attempt, outcome, attempted_at } => {
                self.board.done(&key, attempt.is_fresh, &outcome);
                let Some(lane) = self.board.lane(&key) else { return };
                let before = lane.failing_since;
                let done = self.reports.add(&*self.parts.env, &key, (attempt, outcome, attempted_at), before);
                lane.failing_since = done.failing_since;
                if done.ends {
                    lane.forget();
                }
                self.parts.seen.attempted(&key, &done.report);
            }
            Message::Recorded(batch, result) => match result {
                Ok(Recorded { disabled, released }) => {
                    self.reports.recorded(&batch.tenant);
                    let key = |subscription: &SubscriptionId| Key {
                        tenant: batch.tenant.clone(),
                        subscription: subscription.clone(),
                    };
                    for (subscription, report) in &batch.reports {
                        self.board.recorded(&key(subscription), &report.attempt.id, now);
                    }
                    for subscription in released {
                        self.board.want(&key(&subscription), false, now);
                    }
                    for (subscription, reason) in disabled {
                        self.parts.seen.disabled(&key(&subscription), reason);
                    }
                }
                Err(error) => {
                    self.parts.seen.failed("recording outcomes of deliveries", &error);
                    self.record(batch, AGAIN);
                }
            },
        }
    }

    fn lane_read(
        &mut self,
        key: &Key,
        lease_until: Option<Timestamp>,
        taken: StoreResult<LeaseOutcome>,
        now: Instant,
    ) {
        let is_hearsay = self.hearsay.remove(key);
        match taken {
            Ok(LeaseOutcome::Ours { receiver, fresh, retries, has_more }) => {
                match self.parts.deliver.signers(key, &receiver, self.parts.env.now()) {
                    Ok(signers) => {
                        let found = (fresh, retries);
                        self.board.lane_read(key, (*receiver, signers), found, (has_more, lease_until), now);
                    }
                    Err(error) => {
                        self.parts.seen.unsigned(key, &error);
                        self.board.put_off(key, Some(UNSIGNED), now);
                        self.give_back(vec![key.clone()]);
                    }
                }
            }
            Ok(LeaseOutcome::Nothing) => self.board.not_taken(key),
            Ok(LeaseOutcome::Elsewhere) => {
                // The process that sent the notification already knows.
                if !is_hearsay {
                    self.parts.seen.elsewhere(key, false);
                }
                self.board.not_taken(key);
            }
            Err(error) => {
                self.parts.seen.failed("reading deliveries", &error);
                self.board.put_off(key, None, now);
            }
        }
    }

    /// Polls for deliveries without a notification.
    fn poll_due(&mut self) {
        self.board.release_idle_lanes(Instant::now());
        if self.is_looking {
            return;
        }
        self.is_looking = true;
        let (queue, lease, tell) = (Arc::clone(&self.parts.queue), self.lease(), self.tell.clone());
        tokio::spawn(async move {
            let _ended = tell.send(Message::Due(queue.due(&lease).await));
        });
    }

    /// Releases leases in the background, because another dispatcher may have the signing key.
    fn give_back(&self, keys: Vec<Key>) {
        let (queue, owner, now) = (Arc::clone(&self.parts.queue), self.owner.clone(), self.parts.env.now());
        let seen = Arc::clone(&self.parts.seen);
        tokio::spawn(async move {
            if let Err(error) = queue.release(&keys, &owner, now).await {
                seen.failed("returning leases", &error);
            }
        });
    }

    async fn release(&self, keys: &[Key]) {
        if keys.is_empty() {
            return;
        }
        if let Err(error) = self.parts.queue.release(keys, &self.owner, self.parts.env.now()).await {
            self.parts.seen.failed("returning leases", &error);
        }
    }
}
