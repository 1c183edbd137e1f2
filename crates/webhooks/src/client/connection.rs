//! A connection with a write timeout.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use hyper_util::client::legacy::connect::{self, Connected};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// TCP, with or without TLS.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Whether a connection has delivered a response before. Attached to the connection's responses and errors.
#[derive(Debug, Clone, Default)]
pub(super) struct ConnectionUse(Arc<AtomicBool>);

impl ConnectionUse {
    pub(super) fn mark(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_marked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The stream that hyper reads from and writes to.
///
/// When a request is abandoned, hyper first writes out its buffer before closing the connection. A receiver that does
/// not read would keep the connection and its task alive forever, so writes fail after a time limit.
pub(super) struct Connection {
    stream: Pin<Box<dyn Stream>>,
    limit: Duration,
    stuck: Option<Pin<Box<Sleep>>>,
    used: ConnectionUse,
}

impl Connection {
    pub(super) fn new(stream: Box<dyn Stream>, limit: Duration) -> Self {
        Self { stream: stream.into(), limit, stuck: None, used: ConnectionUse::default() }
    }

    /// Starts the timeout when a write blocks. It runs until everything is flushed, however slow the progress.
    fn in_time<T>(
        &mut self,
        context: &mut Context<'_>,
        done: Poll<io::Result<T>>,
        is_all: bool,
    ) -> Poll<io::Result<T>> {
        if done.is_ready() {
            if is_all {
                self.stuck = None;
            }
            return done;
        }
        let limit = self.limit;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(limit)));
        stuck.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl connect::Connection for Connection {
    fn connected(&self) -> Connected {
        Connected::new().extra(self.used.clone())
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.get_mut().stream.as_mut().poll_read(context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let done = this.stream.as_mut().poll_write_vectored(context, pieces);
        this.in_time(context, done, false)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let done = this.stream.as_mut().poll_flush(context);
        this.in_time(context, done, true)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let done = this.stream.as_mut().poll_shutdown(context);
        this.in_time(context, done, true)
    }
}

#[cfg(test)]
mod tests {
    use std::{io, time::Duration};

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        time::{advance, timeout},
    };

    use super::Connection;

    const LIMIT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn write_fails_if_nothing_is_read_for_the_limit() {
        let (ours, _theirs) = duplex(4);
        let mut connection = Connection::new(Box::new(ours), LIMIT);
        let written = timeout(2 * LIMIT, connection.write_all(b"four and more")).await;
        assert_eq!(written.unwrap().unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn limit_begins_again_after_everything_is_flushed() {
        let (ours, mut theirs) = duplex(4);
        let mut connection = Connection::new(Box::new(ours), LIMIT);
        for _ in 0..3 {
            let (written, read) = tokio::join!(connection.write_all(b"four and"), async {
                advance(LIMIT / 2).await;
                theirs.read_exact(&mut [0; 8]).await
            });
            assert_eq!((written.unwrap(), read.unwrap()), ((), 8));
            connection.flush().await.unwrap();
            advance(LIMIT).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn shutdown_reaches_the_stream() {
        let (ours, mut theirs) = duplex(4);
        let mut connection = Connection::new(Box::new(ours), LIMIT);
        connection.shutdown().await.unwrap();
        assert_eq!(theirs.read(&mut [0; 1]).await.unwrap(), 0);
    }
}
