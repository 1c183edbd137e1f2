//! Errors of receivers and streams.

use kernel::StoreError;
use webhooks::{MAX_NAME, client::UrlError};

use crate::{KeyError, receiver::MAX_RECEIVERS, stream::MAX_REMOVED_SUBJECTS, trusted::MAX_TRANSMITTERS};

/// The reason a receiver or stream cannot be created or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is empty, too long or not printable.
    #[error("name: write 1 to {MAX_NAME} printable characters, no space at either end")]
    Name,
    /// The audience is empty, too long or not printable.
    #[error("audience: write 1 to 500 printable ASCII characters without spaces")]
    Audience,
    /// The event type at this index is unknown.
    #[error("eventTypes[{0}]: this server has no such event type")]
    EventType(usize),
    /// The tenant has the maximum number of receivers.
    #[error("This tenant already has {MAX_RECEIVERS} receivers of signals, the maximum. Remove one first.")]
    TooMany,
    /// The tenant has no receiver with this id.
    #[error("There is no receiver of signals with this ID.")]
    NotFound,
    /// The tenant has the maximum number of transmitters.
    #[error(
        "This tenant already has {MAX_TRANSMITTERS} transmitters of signals, the maximum. Remove one first."
    )]
    TooManyTransmitters,
    /// The tenant has no transmitter with this id.
    #[error("There is no transmitter of signals with this ID.")]
    NoTransmitter,
    /// The issuer or the URL of a key set is invalid.
    #[error("{0}")]
    Issuer(String),
    /// The transmitter has no token that could be required.
    #[error("requiresAuthorization: replace the token of the transmitter to require one again")]
    ReplaceToken,
    /// The receiver has no stream with this id.
    #[error("This receiver has no stream with this ID.")]
    NoStream,
    /// The receiver has a stream.
    #[error("This receiver already has a stream. Change or delete it.")]
    HasStream,
    /// An administrator has disabled the receiver.
    #[error("An administrator has disabled this receiver.")]
    Disabled,
    /// A member is missing.
    #[error("{0}: is missing")]
    Missing(&'static str),
    /// A member is too long or has too many elements.
    #[error("{0}: is too long")]
    TooLong(&'static str),
    /// A member that only the transmitter sets has another value.
    #[error("{0}: only the transmitter sets it, and it has another value")]
    Fixed(&'static str),
    /// The delivery method is unknown.
    #[error("delivery.method: write urn:ietf:rfc:8935 or urn:ietf:rfc:8936")]
    Method,
    /// The URL is invalid.
    #[error("delivery.endpoint_url: {0}")]
    Url(#[from] UrlError),
    /// The URL's address is not public.
    #[error("delivery.endpoint_url: tokens go to public addresses only")]
    NotPublic,
    /// The header's value is invalid.
    #[error("delivery.authorization_header: write at most 8,000 printable ASCII characters")]
    Header,
    /// The last verification request was a moment ago. Another one is accepted after this many seconds.
    #[error("The last verification was requested a moment ago")]
    VerifiedJustNow(u64),
    /// The receiver has removed the maximum number of subjects.
    #[error("At most {MAX_REMOVED_SUBJECTS} subjects can be removed from a stream.")]
    TooManySubjects,
    /// The key or secret cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
