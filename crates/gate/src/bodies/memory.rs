//! Accounts for the memory of request bodies.

use std::sync::{Arc, Mutex, PoisonError};

use metrics::{Counter, Gauge, counter, gauge};
use tokio::sync::Notify;

use super::{
    limit::BodyRefusal,
    ranking::{Body, MemoryShares},
};
use crate::{
    event_tally::EventTally,
    meter::{BODIES_BYTES, BODIES_BYTES_MAX, BODIES_REFUSED, BODIES_WAITING, count},
};

/// Memory of a connection's buffers while its body is pending: 8 KiB to read and 8 KiB to write.
const CONNECTION: usize = 16 * 1024;
/// One address may use at most this fraction of the memory: 1/4.
const ADDRESS_FRACTION: usize = 4;
/// The memory of all request bodies.
pub(crate) struct Bodies {
    shares: Mutex<MemoryShares>,
    meter: BodyMeter,
    refusals: EventTally,
}

impl Bodies {
    /// Creates an account of `memory` bytes, in which one address may have `waiting` pending bodies.
    pub(crate) fn new(memory: usize, waiting: usize) -> Arc<Self> {
        let shares = MemoryShares::new(memory, memory / ADDRESS_FRACTION, waiting);
        Arc::new(Self {
            shares: Mutex::new(shares),
            meter: BodyMeter::new(memory),
            refusals: EventTally::default(),
        })
    }

    /// Updates the gauges.
    pub(crate) fn measure(&self) {
        let (waiting, bytes) = self.with(|shares| (shares.waiting(), shares.bytes()));
        self.meter.measure(waiting, bytes);
    }

    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut MemoryShares) -> T) -> T {
        work(&mut self.shares.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a rejected body, and logs rejections at most once per second.
    pub(crate) fn refuse(&self, reason: BodyRefusal, address: &str) {
        self.meter.refused(reason);
        if let Some(refused) = self.refusals.add() {
            let (waiting, bytes) = self.with(|shares| (shares.waiting(), shares.bytes()));
            let reason = reason.as_str();
            tracing::warn!(refused, reason, address, waiting, bytes, "rejecting request bodies");
        }
    }
}

/// The memory of one request body, released on drop after the response.
pub(crate) struct BodyMemory {
    bodies: Arc<Bodies>,
    address: Arc<str>,
    id: u64,
    /// The bytes counted for this body.
    bytes: usize,
    is_waiting: bool,
    /// Notified when the body is evicted.
    pub(crate) evicted: Arc<Notify>,
}

impl BodyMemory {
    pub(crate) fn new(bodies: Arc<Bodies>, address: Arc<str>) -> Self {
        let id = bodies.with(MemoryShares::next_id);
        Self { bodies, address, id, bytes: 0, is_waiting: false, evicted: Arc::new(Notify::new()) }
    }

    /// Counts additional bytes.
    pub(crate) fn grow(&mut self, bytes: usize) -> Result<(), BodyRefusal> {
        self.count(|shares, body, evicted| shares.grow(body, bytes, evicted))?;
        self.bytes += bytes;
        Ok(())
    }

    /// Counts the body as pending.
    pub(crate) fn start_waiting(&mut self) -> Result<(), BodyRefusal> {
        let bytes = (self.bytes, CONNECTION);
        self.count(|shares, body, evicted| shares.start_waiting(body, bytes, &self.evicted, evicted))?;
        self.bytes += CONNECTION;
        self.is_waiting = true;
        Ok(())
    }

    fn count(
        &self,
        work: impl FnOnce(&mut MemoryShares, &Body<'_>, &mut Vec<Arc<Notify>>) -> Result<(), BodyRefusal>,
    ) -> Result<(), BodyRefusal> {
        let body = Body { address: &self.address, id: self.id, is_waiting: self.is_waiting };
        let mut evicted = Vec::new();
        let counted = self.bodies.with(|shares| work(shares, &body, &mut evicted));
        for one in evicted {
            one.notify_one();
        }
        counted
    }

    /// Counts the body as received. Returns an error if it was evicted.
    pub(crate) fn finish_waiting(&mut self) -> Result<(), BodyRefusal> {
        if self.is_waiting {
            self.is_waiting = false;
            let finished =
                self.bodies.with(|shares| shares.finish_waiting(&self.address, self.id, CONNECTION));
            // An eviction has already released the bytes.
            self.bytes = finished.map_or(0, |()| self.bytes.saturating_sub(CONNECTION));
            return finished.ok_or(BodyRefusal::Memory);
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

/// Metrics of request bodies.
struct BodyMeter {
    waiting: Gauge,
    bytes: Gauge,
    refused: [(BodyRefusal, Counter); BodyRefusal::ALL.len()],
}

impl BodyMeter {
    /// Creates the metrics for this memory limit.
    fn new(memory: usize) -> Self {
        gauge!(BODIES_BYTES_MAX).set(count(memory));
        let refused =
            BodyRefusal::ALL.map(|reason| (reason, counter!(BODIES_REFUSED, "reason" => reason.as_str())));
        Self { waiting: gauge!(BODIES_WAITING), bytes: gauge!(BODIES_BYTES), refused }
    }

    /// Sets the gauges.
    fn measure(&self, waiting: usize, bytes: usize) {
        self.waiting.set(count(waiting));
        self.bytes.set(count(bytes));
    }

    /// Counts a rejected body.
    fn refused(&self, reason: BodyRefusal) {
        if let Some((_, counter)) = self.refused.iter().find(|(known, _)| *known == reason) {
            counter.increment(1);
        }
    }
}
