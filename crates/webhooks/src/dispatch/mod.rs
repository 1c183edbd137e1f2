//! Delivering: what is due is read, sent and recorded, each without waiting for the others.
//!
//! One task keeps the [`Schedule`]; reading, sending and recording are tasks of their own that tell it what came of them. So
//! nothing but a lease is held while a receiver thinks.

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
    queue::{Batch, Deliverer, DispatchObserver, Key, Lease, LeaseOutcome, Receiver, Wakeups},
};
use self::{
    board::{Schedule, SendInProgress},
    reports::Reports,
};
use crate::delivery::{Attempt, Outcome};

/// How often is looked for what nobody has told of.
const EVERY: Duration = Duration::from_secs(1);
/// Lanes that are read at the same time.
const TAKES: usize = 4;
/// How long to wait before what could not be recorded is tried again.
const AGAIN: Duration = Duration::from_millis(200);
/// How long a lane rests whose deliveries cannot be signed.
const UNSIGNED: Duration = Duration::from_secs(30);
/// Messages that are handled before anything is sent.
const MESSAGES: usize = 256;
/// How long what is being sent may take when the end has come.
const LAST: Duration = Duration::from_secs(10);

/// Marks ids of dispatchers.
enum DispatcherKind {}
impl Kind for DispatcherKind {
    const PREFIX: &'static str = "dsp";
}

/// Delivers what is due, until it is told to end.
pub struct Dispatcher {
    /// Where deliveries wait.
    pub queue: Arc<dyn Queue>,
    /// What sends them.
    pub deliver: Arc<dyn Deliverer>,
    /// Who looks on.
    pub seen: Arc<dyn DispatchObserver>,
    /// Time and randomness.
    pub env: Arc<dyn Env>,
    /// How much at the same time.
    pub limits: Limits,
    /// What is new, by who commits it in this process.
    pub news: Wakeups,
    /// What is new, by others: it is not told on.
    pub heard: Wakeups,
}

/// What a task tells.
enum Message {
    Due(StoreResult<Vec<Key>>),
    Taken { key: Key, most: usize, lease_until: Option<Timestamp>, taken: StoreResult<LeaseOutcome> },
    Done { key: Key, attempt: Attempt, outcome: Outcome, attempted_at: Timestamp },
    Recorded(Batch, StoreResult<()>),
}

/// A dispatcher at work.
struct RunningDispatcher {
    parts: Dispatcher,
    owner: String,
    board: Schedule,
    reports: Reports,
    /// What others have told of.
    hearsay: HashSet<Key>,
    takes: usize,
    is_looking: bool,
    is_ending: bool,
    tell: mpsc::UnboundedSender<Message>,
}

impl Dispatcher {
    /// Delivers until `end`, then finishes what is being sent, if that takes no longer than ten seconds, and gives back
    /// what it holds.
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
        loop {
            let wake = work.pump();
            tokio::select! {
                Some(message) = inbox.recv() => work.handle_messages(message, &mut inbox),
                keys = news.next() => {
                    for (key, has_changed) in keys {
                        work.hearsay.remove(&key);
                        if has_changed {
                            // Whoever else delivers to it has to know.
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
                }
            }
        };
        // What is cut off has no outcome: it is sent again by whoever comes next.
        let _in_time = timeout(LAST, finish).await;
        work.release(&work.board.owned_lanes()).await;
    }
}

impl RunningDispatcher {
    /// Starts what can be started; when to look again.
    fn pump(&mut self) -> Option<Instant> {
        let (now, time) = (Instant::now(), self.parts.env.now());
        self.board.wake_due_lanes(now);
        self.take_all(time);
        while !self.is_ending {
            let Some(sending) = self.board.next_send(now, time) else { break };
            self.send(sending);
        }
        // Sending may have found that a lane has to be read first.
        self.take_all(time);
        while let Some(batch) = self.reports.next(now) {
            self.record(batch, Duration::ZERO);
        }
        self.parts.seen.at_work(self.board.in_flight(), self.board.len());
        [self.board.next_later(), self.reports.next_due()].into_iter().flatten().min()
    }

    fn lease(&self) -> Lease {
        let now = self.parts.env.now();
        Lease { owner: self.owner.clone(), now, until: now.plus_millis(Lease::LENGTH) }
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
            let _ended = tell.send(Message::Taken { key, most, lease_until, taken });
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

    /// Hears what has been told, and what has been told meanwhile.
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
                    Err(error) => self.parts.seen.failed("looking for what is due", &error),
                }
            }
            Message::Taken { key, most, lease_until, taken } => {
                self.takes -= 1;
                self.lane_read(&key, most, lease_until, taken, now);
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
                Ok(()) => {
                    self.reports.recorded(&batch.tenant);
                    for (subscription, report) in &batch.reports {
                        let key = Key { tenant: batch.tenant.clone(), subscription: subscription.clone() };
                        self.board.recorded(&key, &report.attempt.id, now);
                    }
                }
                Err(error) => {
                    self.parts.seen.failed("recording what came of deliveries", &error);
                    self.record(batch, AGAIN);
                }
            },
        }
    }

    fn lane_read(
        &mut self,
        key: &Key,
        most: usize,
        lease_until: Option<Timestamp>,
        taken: StoreResult<LeaseOutcome>,
        now: Instant,
    ) {
        let is_hearsay = self.hearsay.remove(key);
        match taken {
            Ok(LeaseOutcome::Ours { receiver, fresh, retries }) => {
                match self.parts.deliver.signers(key, &receiver, self.parts.env.now()) {
                    Ok(signers) => {
                        let has_more = fresh.len() >= most || retries.len() >= most;
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
                // Who has told knows that already.
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

    /// Looks for what nobody has told of.
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

    /// Somebody else may have what signs.
    fn give_back(&self, keys: Vec<Key>) {
        let (queue, owner, now) = (Arc::clone(&self.parts.queue), self.owner.clone(), self.parts.env.now());
        let seen = Arc::clone(&self.parts.seen);
        tokio::spawn(async move {
            if let Err(error) = queue.release(&keys, &owner, now).await {
                seen.failed("giving leases back", &error);
            }
        });
    }

    async fn release(&self, keys: &[Key]) {
        if keys.is_empty() {
            return;
        }
        if let Err(error) = self.parts.queue.release(keys, &self.owner, self.parts.env.now()).await {
            self.parts.seen.failed("giving leases back", &error);
        }
    }
}
