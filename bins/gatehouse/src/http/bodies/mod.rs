//! Request bodies: how long the server waits for them, and how much memory they hold, for each client address and
//! in all.
//!
//! A body that is waited for is counted apart from the requests that are worked on, so slow clients take no slot.
//! When the memory for bodies is full, the address whose waiting bodies hold the most gives way.

mod incoming;
mod ranking;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

pub(super) use self::incoming::{Incoming, Kept, receive};
use self::ranking::{Body, Shares};
use super::{errors::Problem, meter::BodyMeter, tally::Tally};

/// What a body may be, and how it has to arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BodyLimit {
    /// Its bytes at most.
    pub(super) bytes: usize,
    /// The time for all of it.
    pub(super) within: Duration,
}

/// Any body.
const USUAL: BodyLimit = BodyLimit { bytes: 1024 * 1024, within: Duration::from_secs(30) };
/// A body that anybody may send before they are known: a credential, never a document.
const SIGN_IN: BodyLimit = BodyLimit { bytes: 16 * 1024, within: Duration::from_secs(5) };
/// The first look at how fast a body arrives, and the time between two of them.
const WINDOW: Duration = Duration::from_secs(5);
/// What has to arrive in that time: 1 KiB a second.
const LEAST: usize = 5 * 1024;

/// What the buffers of a connection hold that waits for a body: 8 KiB to read and 8 KiB to write.
const CONNECTION: usize = 16 * 1024;
/// The part of the memory that one address may hold.
const ADDRESS_PART: usize = 4;
/// When an address may try again that has too many bodies under way, in seconds: by then the slow ones have ended.
const RETRY_AFTER: u64 = 5;

impl BodyLimit {
    fn of(path: &str) -> Self {
        if path.starts_with("/api/auth/") { SIGN_IN } else { USUAL }
    }
}

/// Why a body was refused, as `/metrics` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    /// Its address has too many, or holds too much: 429.
    Address,
    /// The memory for bodies is full, and this address holds the most: 503.
    Memory,
    /// It arrives too slowly: 400.
    Slow,
    /// It is too large: 413.
    TooLarge,
}

impl Refused {
    /// All of them.
    pub(super) const ALL: [Self; 4] = [Self::Address, Self::Memory, Self::Slow, Self::TooLarge];

    /// Its label.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Memory => "memory",
            Self::Slow => "slow",
            Self::TooLarge => "too_large",
        }
    }

    fn problem(self, limit: BodyLimit) -> Problem {
        match self {
            Self::Address => {
                Problem::busy("your address has too many unfinished request bodies", RETRY_AFTER)
            }
            Self::Memory => Problem::unavailable(),
            Self::Slow => Problem::invalid_syntax(format!(
                "the body did not arrive in time: send it within {} s, and 1 KiB or more each second",
                limit.within.as_secs()
            )),
            Self::TooLarge => Problem::payload_too_large(limit.bytes),
        }
    }
}

/// The memory of all request bodies.
pub(super) struct Bodies {
    shares: Mutex<Shares>,
    meter: BodyMeter,
    refusals: Tally,
}

impl Bodies {
    /// With `memory` bytes in all, and `waiting` bodies that one address may keep waiting.
    pub(super) fn new(memory: usize, waiting: usize) -> Arc<Self> {
        let shares = Shares::new(memory, memory / ADDRESS_PART, waiting);
        Arc::new(Self {
            shares: Mutex::new(shares),
            meter: BodyMeter::new(memory),
            refusals: Tally::default(),
        })
    }

    /// Brings the gauges up to date.
    pub(super) fn measure(&self) {
        let (waiting, bytes) = self.with(|shares| (shares.waiting(), shares.bytes()));
        self.meter.measure(waiting, bytes);
    }

    fn with<T>(&self, work: impl FnOnce(&mut Shares) -> T) -> T {
        work(&mut self.shares.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a refusal, and tells the log of it once a second at most.
    fn refuse(&self, reason: Refused, address: &str) {
        self.meter.refused(reason);
        if let Some(refused) = self.refusals.add() {
            let (waiting, bytes) = self.with(|shares| (shares.waiting(), shares.bytes()));
            let reason = reason.as_str();
            tracing::warn!(refused, reason, address, waiting, bytes, "request bodies are refused");
        }
    }
}

/// The memory of one request body: given back when dropped, which is when its request is answered.
struct BodyMemory {
    bodies: Arc<Bodies>,
    address: Arc<str>,
    id: u64,
    /// What is counted for it.
    bytes: usize,
    is_waiting: bool,
    /// Notified when the body gives way to another.
    evicted: Arc<Notify>,
}

impl BodyMemory {
    fn new(bodies: Arc<Bodies>, address: Arc<str>) -> Self {
        let id = bodies.with(Shares::next_id);
        Self { bodies, address, id, bytes: 0, is_waiting: false, evicted: Arc::new(Notify::new()) }
    }

    /// Counts so many bytes more.
    fn grow(&mut self, bytes: usize) -> Result<(), Refused> {
        self.count(|shares, body, evicted| shares.grow(body, bytes, evicted))?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts it among the bodies that are waited for.
    fn start_waiting(&mut self) -> Result<(), Refused> {
        let bytes = (self.bytes, CONNECTION);
        self.count(|shares, body, evicted| shares.start_waiting(body, bytes, &self.evicted, evicted))?;
        self.bytes += CONNECTION;
        self.is_waiting = true;
        Ok(())
    }

    fn count(
        &self,
        work: impl FnOnce(&mut Shares, &Body<'_>, &mut Vec<Arc<Notify>>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        let body = Body { address: &self.address, id: self.id, is_waiting: self.is_waiting };
        let mut evicted = Vec::new();
        let counted = self.bodies.with(|shares| work(shares, &body, &mut evicted));
        for one in evicted {
            one.notify_one();
        }
        counted
    }

    /// Counts it as arrived, unless it had to give way.
    fn finish_waiting(&mut self) -> Result<(), Refused> {
        if self.is_waiting {
            self.is_waiting = false;
            let finished =
                self.bodies.with(|shares| shares.finish_waiting(&self.address, self.id, CONNECTION));
            // After an eviction nothing is counted any more.
            self.bytes = finished.map_or(0, |()| self.bytes.saturating_sub(CONNECTION));
            return finished.ok_or(Refused::Memory);
        }
        Ok(())
    }
}

impl Drop for BodyMemory {
    fn drop(&mut self) {
        let (address, id, bytes, is_waiting) = (&self.address, self.id, self.bytes, self.is_waiting);
        self.bodies.with(|shares| {
            if is_waiting {
                shares.abandon(address, id);
            } else {
                shares.give_back(address, bytes);
            }
        });
    }
}
