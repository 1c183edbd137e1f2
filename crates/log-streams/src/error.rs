//! Errors of changing streams.

use kernel::StoreError;
use webhooks::{MAX_FILTERS, MAX_NAME, ParseEventFilterError, client::UrlError};

use crate::{MAX_STREAMS, SecretError};

/// The reason a stream cannot be created or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is empty, too long or not printable.
    #[error("name: write 1 to {MAX_NAME} printable characters, no space at either end")]
    Name,
    /// The URL is invalid.
    #[error("url: {0}")]
    Url(#[from] UrlError),
    /// The URL of a receiver with another protocol than HTTPS is invalid.
    #[error("url: {0}")]
    UrlForm(&'static str),
    /// The URL's address is not public.
    #[error("url: streams go to public addresses only")]
    NotPublic,
    /// The type needs this member.
    #[error("{0}: is missing")]
    Missing(&'static str),
    /// The type does not have this member.
    #[error("{0}: this type of stream has no such member")]
    Unknown(&'static str),
    /// A text is too long.
    #[error("{0}: is too long")]
    TooLong(&'static str),
    /// A text has a space, or characters other than those of ASCII.
    #[error("{0}: write printable ASCII characters without spaces")]
    Text(&'static str),
    /// The name of the header is invalid.
    #[error("header: write the name of a header, such as Authorization")]
    Header,
    /// The secret is invalid for its type.
    #[error(
        "secret: write printable ASCII characters; for syslog a private key in PEM that fits clientCertificate"
    )]
    Secret,
    /// The receiver changes, but the secret was not written again.
    #[error("secret: write it again, because the receiver changes")]
    SecretAgain,
    /// Certificates are not PEM.
    #[error("{0}: write certificates in PEM")]
    Certificates(&'static str),
    /// A filter is malformed.
    #[error("eventFilters[{index}]: {problem}")]
    Filter {
        /// The filter's index, from 0.
        index: usize,
        /// The correction to make.
        problem: ParseEventFilterError,
    },
    /// There are too many filters.
    #[error("eventFilters: write at most {MAX_FILTERS} filters")]
    Filters,
    /// The position is after the end of the log.
    #[error("from: the audit log has {0} entries")]
    Position(u64),
    /// The tenant has the maximum number of streams.
    #[error("This tenant already has {MAX_STREAMS} log streams, the maximum. Remove one first.")]
    TooMany,
    /// The tenant has no stream with this id.
    #[error("There is no log stream with this ID.")]
    NotFound,
    /// The secret cannot be encrypted or decrypted.
    #[error(transparent)]
    Key(#[from] SecretError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
