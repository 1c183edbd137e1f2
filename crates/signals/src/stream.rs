//! Streams (SSF 1.0, section 8).

use kernel::{Ctx, Id, Kind, Timestamp, not_null};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::{
    ControlEvent, Error, EventType, Problem, Receiver, ReceiverId, SignalStore, event_type::STREAM_UPDATED,
};

/// Marks ids of streams.
#[derive(Debug, Clone, Copy)]
pub enum StreamKind {}
impl Kind for StreamKind {
    const PREFIX: &'static str = "sst";
}
/// `sst_…`
pub type StreamId = Id<StreamKind>;

/// Shortest time between two verification requests of a stream, in seconds.
pub const MIN_VERIFICATION_INTERVAL: i64 = 10;
/// Maximum number of subjects that a receiver can remove from a stream.
pub const MAX_REMOVED_SUBJECTS: i64 = 10_000;
/// The method of push delivery (RFC 8935).
pub const PUSH: &str = "urn:ietf:rfc:8935";
/// The method of poll delivery (RFC 8936).
pub const POLL: &str = "urn:ietf:rfc:8936";

/// How a stream delivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delivery {
    /// Each token is posted to this URL (RFC 8935).
    Push(String),
    /// The receiver polls (RFC 8936).
    Poll,
}

/// Whether a stream delivers events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", schema(as = SignalStreamStatus))]
pub enum Status {
    /// Events are delivered.
    Enabled,
    /// Events are held until the stream is enabled, for at most seven days.
    Paused,
    /// There are no events.
    Disabled,
}

impl Status {
    /// Returns the name in the protocol and in storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Paused => "paused",
            Self::Disabled => "disabled",
        }
    }

    /// Returns the status with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Enabled, Self::Paused, Self::Disabled].into_iter().find(|one| one.as_str() == name)
    }
}

/// A stream of a receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stream {
    /// `sst_…`
    pub id: StreamId,
    /// Its receiver.
    pub receiver: ReceiverId,
    /// How it delivers.
    pub delivery: Delivery,
    /// The encrypted value of the header `Authorization` of pushes.
    pub sealed: Option<String>,
    /// The event types that the receiver has requested. `None`: all.
    pub requested: Option<Vec<String>>,
    /// The receiver's description.
    pub description: Option<String>,
    /// Whether it delivers.
    pub status: Status,
    /// Why it has this status.
    pub reason: Option<String>,
    /// When the receiver last requested a verification event.
    pub verified_at: Option<Timestamp>,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

/// How far a stream is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamState {
    /// Events that wait, up to [`MAX_COUNTED`](crate::MAX_COUNTED). 0 unless they were counted.
    pub pending: i64,
    /// When the receiver last accepted an event.
    pub delivered_at: Option<Timestamp>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// The last failure, while the stream fails, or the last refusal of a token since the receiver accepted one.
    pub problem: Option<Problem>,
    /// When the next attempt is due, while the stream fails.
    pub next_attempt_at: Option<Timestamp>,
}

impl Stream {
    /// Returns the event types that it delivers: those that the receiver has requested and may receive. None if it is
    /// disabled.
    pub fn delivered(&self, receiver: &Receiver) -> Vec<EventType> {
        if self.status == Status::Disabled { Vec::new() } else { self.agreed(receiver) }
    }

    /// Whether events about accounts and resources are delivered now.
    pub fn is_delivering(&self) -> bool {
        self.status == Status::Enabled
    }

    /// Returns the event types that the receiver has requested and may receive.
    pub fn agreed(&self, receiver: &Receiver) -> Vec<EventType> {
        let wants = |one: &EventType| {
            self.requested.as_ref().is_none_or(|uris| uris.iter().any(|uri| uri == one.uri()))
        };
        receiver.event_types.iter().copied().filter(wants).collect()
    }

    /// Disables the stream of a disabled receiver, or enables it, and announces it on the stream.
    pub(crate) async fn follow_receiver(
        &mut self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        receiver: &Receiver,
    ) -> Result<(), Error> {
        self.status = if receiver.enabled { Status::Enabled } else { Status::Disabled };
        self.reason = Some("Changed by an administrator.".to_owned());
        self.updated_at = ctx.now;
        let mut payload = Map::new();
        payload.insert("status".into(), self.status.as_str().into());
        payload.insert("reason".into(), Value::from(self.reason.clone()));
        store
            .queue_control(ctx, &self.id, &ControlEvent { event_type: STREAM_UPDATED.into(), payload })
            .await?;
        Ok(())
    }
}

/// The delivery of a stream in a request.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalDeliveryBody))]
pub struct DeliveryBody {
    /// `urn:ietf:rfc:8935` (push) or `urn:ietf:rfc:8936` (poll).
    pub method: String,
    /// Push: the `https` URL at a public address that tokens are posted to.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false, format = "uri"))]
    pub endpoint_url: Option<String>,
    /// Push: the value of the header `Authorization` of each request. Never shown.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 8_000))]
    pub authorization_header: Option<String>,
}

/// The configuration of a stream in a request.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = SignalStreamBody))]
pub struct StreamBody {
    /// `sst_…`; required to change a stream.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub stream_id: Option<String>,
    /// Must be the issuer, if present.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub iss: Option<String>,
    /// Must be the audience, if present.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>))]
    pub aud: Option<Value>,
    /// URIs of event types. Unknown ones are ignored. Default of a new stream: all.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_items = 100))]
    pub events_requested: Option<Vec<String>>,
    /// Must be the delivered event types, if present.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub events_delivered: Option<Vec<String>>,
    /// How to deliver. Default of a new stream: poll.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub delivery: Option<DeliveryBody>,
    /// What the stream is for. `null` removes it.
    #[serde(default, deserialize_with = "present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, max_length = 500))]
    pub description: Option<Option<String>>,
}

/// Distinguishes a member that is `null` from one that is absent.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// A subject that a receiver names (RFC 9493, and RFC 9967 for `scim`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "format", rename_all = "snake_case", try_from = "SubjectMembers")]
#[cfg_attr(feature = "openapi", schema(as = SignalSubject))]
pub enum Subject {
    /// By issuer and ID of the user.
    IssSub {
        /// The issuer of the tenant.
        iss: String,
        /// `usr_…`
        sub: String,
    },
    /// By email address.
    Email {
        /// The address.
        email: String,
    },
    /// By its place in the SCIM API.
    Scim {
        /// `/Users/usr_…`
        uri: String,
    },
}

/// The members of a subject. An enum would accept an array instead of an object.
#[derive(Deserialize)]
struct SubjectMembers {
    format: String,
    iss: Option<String>,
    sub: Option<String>,
    email: Option<String>,
    uri: Option<String>,
}

impl TryFrom<SubjectMembers> for Subject {
    type Error = &'static str;

    fn try_from(members: SubjectMembers) -> Result<Self, &'static str> {
        let SubjectMembers { format, iss, sub, email, uri } = members;
        let subject = match format.as_str() {
            "iss_sub" => iss.zip(sub).map(|(iss, sub)| Self::IssSub { iss, sub }),
            "email" => email.map(|email| Self::Email { email }),
            "scim" => uri.map(|uri| Self::Scim { uri }),
            _ => return Err("the format is not iss_sub, email or scim"),
        };
        subject.ok_or("a member of this format is missing")
    }
}
