//! Why there was no answer.

use std::{error::Error, io};

use super::connect::ConnectError;

/// Why there was no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Failure {
    /// It did not end in time: look-up, connection, TLS, answer and all.
    #[error("the receiver did not answer in time")]
    Timeout,
    /// There was no connection: no such name, nobody listening.
    #[error("the receiver could not be reached")]
    Connect,
    /// There was a connection but no TLS, or a certificate that proves nothing.
    #[error("the receiver's TLS or its certificate is not in order")]
    Tls,
    /// It is not to be talked to.
    #[error("the receiver's address is not one that may be talked to")]
    Blocked,
    /// There was more of an answer than is read.
    #[error("the answer is too large")]
    TooLarge,
    /// There was a connection but no answer: it broke, or what came was not HTTP.
    #[error("the receiver did not answer with HTTP")]
    Protocol,
}

impl Failure {
    /// What it is called where clients see it. They can do the same about a broken connection as about none, so both
    /// have one name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "TIMEOUT",
            Self::Connect | Self::Protocol => "CONNECT",
            Self::Tls => "TLS",
            Self::Blocked => "BLOCKED",
            Self::TooLarge => "TOO_LARGE",
        }
    }

    /// What an error of hyper's comes from. The reason is somewhere down the chain, below errors that say little.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        let found = chain(error).find_map(|cause| {
            if let Some(cause) = cause.downcast_ref::<ConnectError>() {
                return Some(Self::from(cause));
            }
            let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
            // In TLS 1.3 a server can refuse after we are done, and then it is reading that fails.
            inner.is::<rustls::Error>().then_some(Self::Tls)
        });
        found.unwrap_or(Self::Protocol)
    }
}

impl From<&ConnectError> for Failure {
    fn from(error: &ConnectError) -> Self {
        match error {
            ConnectError::Scheme | ConnectError::Blocked(_) => Self::Blocked,
            ConnectError::Timeout => Self::Timeout,
            ConnectError::Tls(_) => Self::Tls,
            ConnectError::Host | ConnectError::Name(_) | ConnectError::NoAddress | ConnectError::Tcp(_) => {
                Self::Connect
            }
        }
    }
}

/// Whether the other side closed instead of answering.
pub(super) fn is_closed(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(|cause| {
        let hyper = cause.downcast_ref::<hyper::Error>();
        let io = cause.downcast_ref::<io::Error>();
        hyper.is_some_and(hyper::Error::is_incomplete_message)
            || io.is_some_and(|error| {
                use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
                matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
            })
    })
}

/// An error and everything below it in one line, for the log.
pub(super) fn chain_text(error: &(dyn Error + 'static)) -> String {
    chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}
