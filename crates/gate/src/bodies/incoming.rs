//! Receives request bodies.

use std::time::Duration;
use std::{
    cell::{Cell, RefCell},
    future::pending,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use actix_web::{
    HttpMessage, HttpRequest,
    body::{BodySize, BoxBody, MessageBody},
    dev::{Payload, ServiceRequest},
    error::PayloadError,
    http::header,
    web::Bytes,
};
use futures_util::{FutureExt, Stream, StreamExt};
use tokio::time::{Instant, timeout_at};

use super::{
    limit::{BodyLimit, BodyRefusal},
    memory::{Bodies, BodyMemory},
};
use crate::{errors::Problem, load::RequestSlot};

/// Interval between checks of a body's speed.
const WINDOW: Duration = Duration::from_secs(5);
/// Bytes that must arrive per interval: 1 KiB per second.
const MIN_BYTES: usize = 5 * 1024;

/// The unread body of a request.
#[derive(Clone)]
pub(crate) struct Incoming {
    bodies: Arc<Bodies>,
    address: Arc<str>,
    payload: SharedPayload,
    /// Whether the connection is HTTP/1, which carries one request after another.
    is_http1: bool,
}

/// A payload shared by the handler, which reads it, and the response. While the response holds it, the HTTP library
/// sees an unread body and closes the connection instead of reading on.
#[derive(Clone)]
struct SharedPayload(Rc<Inner>);

struct Inner {
    payload: RefCell<Payload>,
    has_ended: Cell<bool>,
}

impl Incoming {
    /// Takes the request's body, if it has one, and counts it for the client's address.
    pub(crate) fn of(
        request: &mut ServiceRequest,
        bodies: &Arc<Bodies>,
        address: impl FnOnce() -> String,
    ) -> Option<Self> {
        let payload = request.take_payload();
        if let Payload::None = payload {
            return None;
        }
        let is_http1 = matches!(payload, Payload::H1 { .. });
        let inner = Inner { payload: RefCell::new(payload), has_ended: Cell::new(false) };
        let payload = SharedPayload(Rc::new(inner));
        request.set_payload(Payload::Stream { payload: Box::pin(payload.clone()) });
        let incoming = Self { bodies: Arc::clone(bodies), address: address().into(), payload, is_http1 };
        request.extensions_mut().insert(incoming.clone());
        Some(incoming)
    }

    /// Returns a guard for the response that closes the connection, if the body was not read completely.
    pub(crate) fn unread(self) -> Option<UnreadBody> {
        (self.is_http1 && !self.payload.0.has_ended.get()).then_some(UnreadBody { _payload: self.payload })
    }
}

impl Stream for SharedPayload {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.0.payload.borrow_mut().poll_next_unpin(context);
        if let Poll::Ready(None) = polled {
            self.0.has_ended.set(true);
        }
        polled
    }
}

/// A body that was not read completely.
pub(crate) struct UnreadBody {
    _payload: SharedPayload,
}

/// A response body that keeps another value alive until it is sent.
pub(crate) struct BodyWith<T> {
    body: BoxBody,
    _kept: T,
}

impl<T: Unpin + 'static> BodyWith<T> {
    pub(crate) fn with(guard: T, body: BoxBody) -> BoxBody {
        BoxBody::new(Self { body, _kept: guard })
    }
}

impl<T: Unpin> MessageBody for BodyWith<T> {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_next(context)
    }
}

/// Receives the complete body of a request. Its memory is counted until the request is answered.
pub(crate) async fn receive(request: &HttpRequest, mut payload: Payload) -> Result<Vec<u8>, Problem> {
    let incoming = request.extensions().get::<Incoming>().cloned();
    let slot = request.extensions().get::<RequestSlot>().cloned();
    let limit = BodyLimit::of(request.path());
    let memory =
        incoming.as_ref().map(|body| BodyMemory::new(Arc::clone(&body.bodies), Arc::clone(&body.address)));
    let mut buffer = Buffer::new(request, limit, memory);
    match buffer.fill(&mut payload, slot.as_ref()).await {
        Ok(()) => {
            if let Some(memory) = buffer.memory {
                request.extensions_mut().insert(memory);
            }
            Ok(buffer.bytes)
        }
        Err(ReceiveError::Refused(reason)) => {
            if let Some(body) = &incoming {
                body.bodies.refuse(reason, &body.address);
            }
            Err(reason.problem(limit))
        }
        Err(ReceiveError::Broken(error)) => {
            Err(Problem::invalid_syntax(format!("The body could not be read: {error}")))
        }
    }
}

/// Why a body could not be received.
enum ReceiveError {
    Refused(BodyRefusal),
    Broken(PayloadError),
}

impl From<BodyRefusal> for ReceiveError {
    fn from(reason: BodyRefusal) -> Self {
        Self::Refused(reason)
    }
}

/// The bytes received so far.
struct Buffer {
    bytes: Vec<u8>,
    announced: usize,
    limit: BodyLimit,
    /// Counts the buffer's memory. `None` in unit tests of extractors.
    memory: Option<BodyMemory>,
}

impl Buffer {
    fn new(request: &HttpRequest, limit: BodyLimit, memory: Option<BodyMemory>) -> Self {
        let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
        let announced = length.and_then(|text| text.parse().ok()).unwrap_or(0);
        Self { bytes: Vec::new(), announced, limit, memory }
    }

    async fn fill(&mut self, payload: &mut Payload, slot: Option<&RequestSlot>) -> Result<(), ReceiveError> {
        if self.announced > self.limit.bytes {
            return Err(BodyRefusal::TooLarge.into());
        }
        // Takes what has arrived together with the head, without waiting.
        while let Some(next) = payload.next().now_or_never() {
            match next {
                Some(chunk) => self.push(&chunk.map_err(ReceiveError::Broken)?)?,
                None => return Ok(()),
            }
        }
        if let Some(memory) = &mut self.memory {
            memory.start_waiting()?;
        }
        match slot {
            Some(slot) => slot.released(self.wait(payload)).await?,
            None => self.wait(payload).await?,
        }
        if let Some(memory) = &mut self.memory {
            memory.finish_waiting()?;
        }
        Ok(())
    }

    async fn wait(&mut self, payload: &mut Payload) -> Result<(), ReceiveError> {
        let evicted = self.memory.as_ref().map(|memory| Arc::clone(&memory.evicted));
        let last = Instant::now() + self.limit.within;
        let (mut window, mut arrived) = (Instant::now() + WINDOW, 0);
        loop {
            let next = timeout_at(window.min(last), payload.next());
            let next = tokio::select! {
                biased;
                () = notified(evicted.as_deref()) => return Err(BodyRefusal::Memory.into()),
                next = next => next,
            };
            match next {
                Ok(None) => return Ok(()),
                Ok(Some(chunk)) => {
                    let chunk = chunk.map_err(ReceiveError::Broken)?;
                    arrived += chunk.len();
                    self.push(&chunk)?;
                }
                Err(_) if arrived < MIN_BYTES || Instant::now() >= last => {
                    return Err(BodyRefusal::Slow.into());
                }
                Err(_) => (window, arrived) = (window + WINDOW, 0),
            }
        }
    }

    /// Grows the buffer for received bytes, not for the announced length. The capacity doubles up to the maximum, so
    /// that bytes are rarely copied.
    fn push(&mut self, chunk: &[u8]) -> Result<(), BodyRefusal> {
        let length = self.bytes.len() + chunk.len();
        if length > self.limit.bytes {
            return Err(BodyRefusal::TooLarge);
        }
        let before = self.bytes.capacity();
        if length > before {
            let most = if self.announced > 0 { self.announced } else { self.limit.bytes };
            let capacity = (2 * before).max(1024).min(most).max(length);
            if let Some(memory) = &mut self.memory {
                memory.grow(capacity - before)?;
            }
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }
}

async fn notified(evicted: Option<&tokio::sync::Notify>) {
    match evicted {
        Some(evicted) => evicted.notified().await,
        None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use actix_web::{ResponseError, http::StatusCode, test::TestRequest};
    use futures_util::stream;
    use tokio::time::sleep;

    use super::*;

    const KIB: usize = 1024;

    /// Creates a payload of `count` chunks, one every `pause`, that ends or stays open after the last.
    fn payload(count: usize, bytes: usize, pause: Duration, ends: bool) -> Payload {
        let chunks = stream::unfold(0, move |sent| async move {
            if sent == count && !ends {
                pending::<()>().await;
            }
            if sent == count {
                return None;
            }
            sleep(pause).await;
            Some((Ok(Bytes::from(vec![b'a'; bytes])), sent + 1))
        });
        Payload::Stream { payload: Box::pin(chunks) }
    }

    /// Returns the number of bytes or the status, and the seconds it took.
    async fn received(path: &str, payload: Payload) -> (Result<usize, StatusCode>, u64) {
        let request = TestRequest::post().uri(path).to_http_request();
        let start = Instant::now();
        let outcome = receive(&request, payload).await;
        (outcome.map(|bytes| bytes.len()).map_err(|problem| problem.status_code()), start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn stalled_body_fails_after_five_seconds() {
        let late = Err(StatusCode::BAD_REQUEST);
        let byte = || payload(1, 1, Duration::ZERO, false);
        assert_eq!(received("/api/auth/sign-in", byte()).await, (late, 5));
        assert_eq!(received("/api/scim/v2/Users", byte()).await, (late, 5));
        // Bytes that arrived earlier do not count for later intervals.
        let burst = payload(1, 900 * KIB, Duration::from_millis(1), false);
        assert_eq!(received("/api/scim/v2/Users", burst).await, (late, 10));
    }

    #[tokio::test(start_paused = true)]
    async fn body_needs_one_kibibyte_per_second() {
        let second = Duration::from_secs(1);
        let path = "/api/scim/v2/Users";
        assert_eq!(received(path, payload(20, 1400, second, true)).await, (Ok(20 * 1400), 20));
        assert_eq!(received(path, payload(20, 900, second, true)).await, (Err(StatusCode::BAD_REQUEST), 5));
        assert_eq!(received(path, payload(40, 1400, second, true)).await, (Err(StatusCode::BAD_REQUEST), 30));
    }

    #[tokio::test(start_paused = true)]
    async fn sign_in_body_is_limited_to_five_seconds_and_16_kib() {
        let (second, path) = (Duration::from_secs(1), "/api/auth/sign-in");
        assert_eq!(received(path, payload(8, 1500, second, true)).await, (Err(StatusCode::BAD_REQUEST), 5));
        assert_eq!(received(path, payload(16, KIB, Duration::ZERO, true)).await.0, Ok(16 * KIB));
        let large = payload(17, KIB, Duration::ZERO, true);
        assert_eq!(received(path, large).await.0, Err(StatusCode::PAYLOAD_TOO_LARGE));
    }

    #[tokio::test(start_paused = true)]
    async fn body_memory_is_counted_until_the_response_and_evictable() {
        let bodies = Bodies::new(4 * 1024 * KIB, 100);
        let send = |address: &'static str, payload: Payload| {
            let mut request = TestRequest::post().to_srv_request();
            request.set_payload(payload);
            let incoming = Incoming::of(&mut request, &bodies, || address.to_owned());
            let payload = request.take_payload();
            (request, incoming, payload)
        };
        let (request, _, body) = send("a", payload(1, 100 * KIB, Duration::ZERO, true));
        receive(request.request(), body).await.unwrap();
        let use_after = bodies.with(|shares| (shares.waiting(), shares.bytes()));
        assert_eq!(use_after, (0, 100 * KIB));
        drop(request);
        assert_eq!(bodies.with(|shares| (shares.waiting(), shares.bytes())), (0, 0));
        // Five addresses fill the memory, each with less than its quarter.
        let mut slow = Vec::new();
        for address in ["a", "b", "c", "d", "e"] {
            let (request, _, body) = send(address, payload(1, 780 * KIB, Duration::ZERO, false));
            slow.push(receiving(request, body));
        }
        for one in &mut slow {
            assert!(one.as_mut().now_or_never().is_none(), "the body is still pending");
        }
        sleep(Duration::from_millis(1)).await;
        for one in &mut slow {
            assert!(one.as_mut().now_or_never().is_none(), "the body is still pending");
        }
        let (request, _, body) = send("honest", payload(1, 300 * KIB, Duration::from_millis(1), true));
        receive(request.request(), body).await.unwrap();
        let first = slow.first_mut().unwrap().as_mut().now_or_never().unwrap();
        assert_eq!(first.unwrap_err().status_code(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(bodies.with(|shares| shares.bytes()) <= 4 * 1024 * KIB);
    }

    type ReceiveFuture = Pin<Box<dyn Future<Output = Result<Vec<u8>, Problem>>>>;

    fn receiving(request: ServiceRequest, body: Payload) -> ReceiveFuture {
        Box::pin(async move { receive(request.request(), body).await })
    }
}
