//! Reasons for a missing response.

use std::{error::Error, io};

use super::connect::ConnectError;

/// The reason a request got no response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The whole exchange, from DNS lookup to response, exceeded the time limit.
    #[error("the receiver did not respond in time")]
    Timeout,
    /// No connection: the name is unknown, or the port is closed.
    #[error("the receiver could not be reached")]
    Connect,
    /// TLS failed, or the certificate is not trusted.
    #[error("TLS with the receiver failed, or its certificate is not valid")]
    Tls,
    /// The address guard blocks the receiver's address.
    #[error("the receiver's address is not public")]
    Blocked,
    /// The response exceeds the size limit.
    #[error("the response is too large")]
    TooLarge,
    /// The connection broke, or the response was not HTTP.
    #[error("the receiver did not respond with HTTP")]
    Protocol,
}

impl Failure {
    /// Returns the code that clients see. A broken connection has the same code as a failed one, because the remedy
    /// is the same.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "TIMEOUT",
            Self::Connect | Self::Protocol => "CONNECT",
            Self::Tls => "TLS",
            Self::Blocked => "BLOCKED",
            Self::TooLarge => "TOO_LARGE",
        }
    }

    /// Determines the cause of a hyper error by searching its source chain.
    pub(super) fn of(error: &(dyn Error + 'static)) -> Self {
        let found = chain(error).find_map(|cause| {
            if let Some(cause) = cause.downcast_ref::<ConnectError>() {
                return Some(Self::from(cause));
            }
            let inner = cause.downcast_ref::<io::Error>()?.get_ref()?;
            // In TLS 1.3, a server can reject the handshake after we consider it complete; then reading fails.
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

/// Returns whether the peer closed the connection instead of responding.
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

/// Formats an error and its sources on one line, for the log.
pub(super) fn chain_text(error: &(dyn Error + 'static)) -> String {
    chain(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{ConnectError, Failure, chain_text, is_closed};

    #[test]
    fn each_failure_has_a_code() {
        let codes = [
            (Failure::Timeout, "TIMEOUT"),
            (Failure::Connect, "CONNECT"),
            (Failure::Protocol, "CONNECT"),
            (Failure::Tls, "TLS"),
            (Failure::Blocked, "BLOCKED"),
            (Failure::TooLarge, "TOO_LARGE"),
        ];
        for (failure, code) in codes {
            assert_eq!(failure.as_str(), code);
        }
    }

    #[test]
    fn only_errors_of_a_closed_connection_count_as_closed() {
        for kind in [
            io::ErrorKind::BrokenPipe,
            io::ErrorKind::ConnectionAborted,
            io::ErrorKind::ConnectionReset,
            io::ErrorKind::UnexpectedEof,
        ] {
            assert!(is_closed(&io::Error::from(kind)), "{kind}");
        }
        for kind in [io::ErrorKind::TimedOut, io::ErrorKind::InvalidData] {
            assert!(!is_closed(&io::Error::from(kind)), "{kind}");
        }
        assert!(!is_closed(&ConnectError::Timeout));
    }

    #[test]
    fn log_has_an_error_with_its_sources() {
        let name = ConnectError::Name(io::Error::other("no answer"));
        assert_eq!(chain_text(&name), "the name was not found: no answer");
        assert_eq!(Failure::of(&name), Failure::Connect);
    }
}
