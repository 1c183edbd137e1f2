//! Sends batches.

mod certificates;
mod http;
mod s3;
mod syslog;

use audit::ocsf::Source;
use kernel::{Secret, Timestamp};
use webhooks::client::{Client, Failure};

pub use self::certificates::ParseCertificatesError;
pub(crate) use self::certificates::{is_client_key, read_certificates};
use crate::{Batch, DestinationType, LogStream, Problem, encode::BatchLimits};

/// Milliseconds between two files of a stream, unless there are enough entries for a full one.
const FILE_EVERY: i64 = 60_000;
/// Limits of a batch that a request contains. Receivers accept a megabyte by default.
const REQUEST: BatchLimits = BatchLimits { entries: 1_000, bytes: 1_000_000 };
/// Limits of a file.
const FILE: BatchLimits = BatchLimits { entries: 2_000, bytes: 8_000_000 };

/// Why a batch was not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendError {
    /// The problem that administrators see.
    pub problem: Problem,
    /// When the receiver wants the next attempt, in milliseconds from now.
    pub retry_after: Option<i64>,
}

impl SendError {
    pub(crate) fn new(problem: Problem) -> Self {
        Self { problem, retry_after: None }
    }

    /// The settings cannot be used.
    pub(crate) fn settings() -> Self {
        Self::new(Problem::new("SETTINGS"))
    }

    /// Whether the receiver accepts smaller batches only.
    pub(crate) fn is_too_large(&self) -> bool {
        self.problem.status == Some(413)
    }
}

impl From<Failure> for SendError {
    fn from(failure: Failure) -> Self {
        Self::new(Problem::new(failure.as_str()))
    }
}

/// What all streams send with.
#[derive(Clone)]
pub struct Sending {
    /// Connects to public addresses only.
    pub client: Client,
    /// The name of this server in messages.
    pub host: String,
    /// `User-Agent` of requests.
    pub user_agent: &'static str,
}

/// Sends the batches of one stream.
pub struct Sender<'s> {
    sending: &'s Sending,
    stream: &'s LogStream,
    secret: Option<Secret<String>>,
    source: &'s Source,
}

impl<'s> Sender<'s> {
    /// Creates the sender of a stream with its decrypted secret.
    pub fn new(
        sending: &'s Sending,
        stream: &'s LogStream,
        secret: Option<Secret<String>>,
        source: &'s Source,
    ) -> Self {
        Self { sending, stream, secret, source }
    }

    /// Sends a batch. The receiver may have got it even if this fails.
    pub async fn send(&self, batch: &Batch, now: Timestamp) -> Result<(), SendError> {
        match self.stream.destination.kind {
            DestinationType::Https | DestinationType::SplunkHec | DestinationType::Otlp => {
                self.send_http(batch, now).await
            }
            DestinationType::Syslog => self.send_syslog(batch).await,
            DestinationType::S3 => self.send_file(batch).await,
        }
    }
}

impl DestinationType {
    pub(crate) fn limits(self) -> BatchLimits {
        if self == Self::S3 { FILE } else { REQUEST }
    }

    /// Milliseconds to collect entries for a batch that is not full.
    pub(crate) fn collects(self) -> i64 {
        if self == Self::S3 { FILE_EVERY } else { 0 }
    }

    /// Whether the protocol does not confirm that the receiver has stored a batch.
    pub(crate) fn is_unconfirmed(self) -> bool {
        self == Self::Syslog
    }
}
