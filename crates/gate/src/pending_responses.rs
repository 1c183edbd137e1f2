//! Limits the memory of responses that clients have not read yet.
//!
//! A client may request large responses and read none. Their memory is counted by client address. When it is full,
//! the address that uses the most loses its oldest response, and the connection is closed early.

use std::{
    collections::{BTreeMap, HashMap},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use actix_web::{
    body::{BodySize, BoxBody, MessageBody},
    web::Bytes,
};

use metrics::{Counter, Gauge, counter, gauge};

use super::{
    event_tally::EventTally,
    meter::{UNSENT_BYTES, UNSENT_CUT, count},
};

/// Responses up to this size in bytes are not counted, because they fit into the operating system's buffers.
const SMALL: u64 = 64 * 1024;
/// Bytes passed on at a time, so that the rest is known to be unsent.
const PIECE: usize = 32 * 1024;
/// Maximum size of all unsent responses, in bytes.
pub(crate) const MEMORY: usize = 128 * 1024 * 1024;

/// Large responses that are not sent yet.
pub(crate) struct PendingResponses {
    memory: usize,
    pending: Mutex<PendingBytes>,
    meter: UnsentMeter,
    cut: EventTally,
}

#[derive(Default)]
struct PendingBytes {
    next_id: u64,
    bytes: usize,
    addresses: HashMap<Arc<str>, Address>,
}

/// The unsent responses of one client address, oldest first.
#[derive(Default)]
struct Address {
    bytes: usize,
    responses: BTreeMap<u64, PendingResponse>,
}

struct PendingResponse {
    size: usize,
    rest: Shared,
}

/// Returns whether a response is counted.
pub(crate) fn is_large(body: &BoxBody) -> bool {
    matches!(body.size(), BodySize::Sized(size) if size > SMALL)
}

/// The content of a response; `None` once it was dropped.
type Shared = Arc<Mutex<Option<Bytes>>>;

impl PendingResponses {
    /// Creates an account of this many bytes.
    pub(crate) fn new(memory: usize) -> Arc<Self> {
        Arc::new(Self {
            memory,
            pending: Mutex::default(),
            meter: UnsentMeter::new(),
            cut: EventTally::default(),
        })
    }

    /// Counts a response until it is sent. A streamed response is not counted.
    pub(crate) fn count(self: &Arc<Self>, address: Arc<str>, body: BoxBody) -> BoxBody {
        match body.try_into_bytes() {
            Ok(bytes) => BoxBody::new(self.track(address, bytes)),
            Err(body) => body,
        }
    }

    fn track(self: &Arc<Self>, address: Arc<str>, bytes: Bytes) -> TrackedBody {
        let size = bytes.len();
        let rest = Arc::new(Mutex::new(Some(bytes)));
        let mut pending = lock(&self.pending);
        while pending.bytes + size > self.memory && pending.drop_oldest(&address, size) {
            self.meter.cut();
            if let Some(answers) = self.cut.add() {
                tracing::warn!(answers, "dropped responses that clients did not read, to free memory");
            }
        }
        let id = pending.add(&address, PendingResponse { size, rest: Arc::clone(&rest) });
        drop(pending);
        TrackedBody { unsent: Arc::clone(self), address, id, size, sent: 0, rest }
    }

    /// Updates the gauge.
    pub(crate) fn measure(&self) {
        self.meter.measure(lock(&self.pending).bytes);
    }
}

impl PendingBytes {
    fn add(&mut self, address: &Arc<str>, response: PendingResponse) -> u64 {
        self.next_id += 1;
        self.bytes += response.size;
        let of_address = self.addresses.entry(Arc::clone(address)).or_default();
        of_address.bytes += response.size;
        of_address.responses.insert(self.next_id, response);
        self.next_id
    }

    /// Drops the oldest response of the address that uses the most, counting the new one of `size` bytes. An address
    /// whose only response is the new one keeps it: another address loses its oldest. Returns `false` if there is none.
    fn drop_oldest(&mut self, new: &Arc<str>, size: usize) -> bool {
        let of_new = self.addresses.get(new).map_or(0, |address| address.bytes) + size;
        let Some((most, address)) = self.addresses.iter().max_by_key(|(_, address)| address.bytes) else {
            return false;
        };
        let is_new_address = !self.addresses.contains_key(new);
        let loser = if is_new_address || address.bytes > of_new { most } else { new };
        let loser = Arc::clone(loser);
        let oldest = self.addresses.get(&loser).and_then(|address| address.responses.keys().next().copied());
        oldest
            .and_then(|id| self.remove(&loser, id))
            .is_some_and(|response| lock(&response.rest).take().is_some())
    }

    fn remove(&mut self, address: &Arc<str>, id: u64) -> Option<PendingResponse> {
        let of_address = self.addresses.get_mut(address)?;
        let response = of_address.responses.remove(&id)?;
        of_address.bytes -= response.size;
        self.bytes -= response.size;
        if of_address.responses.is_empty() {
            self.addresses.remove(address);
        }
        Some(response)
    }
}

/// A response that is sent in pieces.
struct TrackedBody {
    unsent: Arc<PendingResponses>,
    address: Arc<str>,
    id: u64,
    size: usize,
    sent: usize,
    rest: Shared,
}

/// The response was dropped to free memory.
#[derive(Debug, thiserror::Error)]
#[error("the client did not read the response, and its memory was needed")]
struct Evicted;

impl MessageBody for TrackedBody {
    type Error = Evicted;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.size as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Evicted>>> {
        let piece = {
            let rest = lock(&self.rest);
            let Some(bytes) = rest.as_ref() else { return Poll::Ready(Some(Err(Evicted))) };
            // A copy, because a slice would keep the whole response in memory.
            let piece = bytes.get(self.sent..(self.sent + PIECE).min(bytes.len())).unwrap_or_default();
            Bytes::copy_from_slice(piece)
        };
        if piece.is_empty() {
            return Poll::Ready(None);
        }
        self.sent += piece.len();
        Poll::Ready(Some(Ok(piece)))
    }
}

impl Drop for TrackedBody {
    fn drop(&mut self) {
        lock(&self.unsent.pending).remove(&self.address, self.id);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Metrics of large unsent responses.
struct UnsentMeter {
    bytes: Gauge,
    cut: Counter,
}

impl UnsentMeter {
    fn new() -> Self {
        Self { bytes: gauge!(UNSENT_BYTES), cut: counter!(UNSENT_CUT) }
    }

    /// Updates the gauge.
    fn measure(&self, bytes: usize) {
        self.bytes.set(count(bytes));
    }

    /// Counts a dropped response.
    fn cut(&self) {
        self.cut.increment(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(unsent: &Arc<PendingResponses>, address: &str, size: usize) -> TrackedBody {
        unsent.track(address.into(), Bytes::from(vec![7; size]))
    }

    fn next(body: &mut TrackedBody) -> Option<Result<Bytes, Evicted>> {
        match Pin::new(body).poll_next(&mut Context::from_waker(std::task::Waker::noop())) {
            Poll::Ready(piece) => piece,
            Poll::Pending => panic!("the body is never pending"),
        }
    }

    #[test]
    fn response_is_sent_in_pieces_and_then_released() {
        let unsent = PendingResponses::new(MEMORY);
        let mut body = body(&unsent, "a", 2 * PIECE + 1);
        let mut sizes = Vec::new();
        while let Some(piece) = next(&mut body) {
            sizes.push(piece.unwrap().len());
        }
        assert_eq!(sizes, [PIECE, PIECE, 1]);
        assert_eq!(lock(&unsent.pending).bytes, 2 * PIECE + 1);
        drop(body);
        let pending = lock(&unsent.pending);
        assert_eq!((pending.bytes, pending.addresses.len()), (0, 0));
    }

    #[test]
    fn address_using_the_most_loses_its_oldest_response() {
        let unsent = PendingResponses::new(10 * PIECE);
        let mut of_others = body(&unsent, "other", 2 * PIECE);
        let mut bodies: Vec<_> = (0..8).map(|_| body(&unsent, "attacker", PIECE)).collect();
        // Another client is served, and the attacker loses its oldest response.
        let mut new = body(&unsent, "new", PIECE);
        assert!(matches!(next(&mut bodies[0]), Some(Err(Evicted))));
        assert!(matches!(next(&mut bodies[1]), Some(Ok(_))));
        // The attacker's next response replaces one of its own.
        bodies.push(body(&unsent, "attacker", PIECE));
        assert!(matches!(next(&mut bodies[1]), Some(Err(Evicted))));
        assert!(matches!((next(&mut of_others), next(&mut new)), (Some(Ok(_)), Some(Ok(_)))));
        assert_eq!(lock(&unsent.pending).bytes, 10 * PIECE);
        bodies.clear();
        assert_eq!(lock(&unsent.pending).bytes, 3 * PIECE);
    }

    #[test]
    fn many_addresses_with_one_response_each_stay_within_the_memory() {
        let unsent = PendingResponses::new(10 * PIECE);
        let bodies: Vec<_> = (0..50).map(|one| body(&unsent, &format!("address {one}"), PIECE)).collect();
        assert_eq!(lock(&unsent.pending).bytes, 10 * PIECE);
        // A response that is larger than that of every other address.
        let mut large = body(&unsent, "large", 9 * PIECE);
        assert!(lock(&unsent.pending).bytes <= 10 * PIECE && matches!(next(&mut large), Some(Ok(_))));
        drop(bodies);
        assert_eq!(lock(&unsent.pending).bytes, 9 * PIECE);
    }

    #[test]
    fn response_larger_than_the_memory_is_kept_if_none_can_be_dropped() {
        let unsent = PendingResponses::new(0);
        let size = usize::try_from(SMALL).unwrap();
        assert!(!is_large(&BoxBody::new(vec![7; size])));
        let large = BoxBody::new(vec![7; size + 1]);
        assert!(is_large(&large));
        let body = unsent.count("a".into(), large);
        assert_eq!((body.size(), lock(&unsent.pending).bytes), (BodySize::Sized(SMALL + 1), size + 1));
    }
}
