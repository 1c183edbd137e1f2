//! Streams, and their management by receivers (SSF 1.0, section 8).

use kernel::{Ctx, Id, Kind, Secret, Timestamp, UserId, not_null};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use webhooks::client::AddressGuard;

use crate::{
    ControlEvent, Error, EventType, Problem, Receiver, ReceiverId, SealSecret, SignalStore,
    event_type::STREAM_UPDATED,
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
/// Maximum number of requested event types.
const MAX_REQUESTED: usize = 100;
/// Maximum length of a URI, a description or a reason.
const MAX_TEXT: usize = 500;
/// Maximum length of the value of a header.
const MAX_HEADER: usize = 8_000;
/// Maximum length of the state of a verification event.
const MAX_STATE: usize = 1_000;

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
    /// Events that wait.
    pub pending: i64,
    /// When the receiver last accepted an event.
    pub delivered_at: Option<Timestamp>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// The last failure, while the stream fails.
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

    fn is_elsewhere(&self, delivery: &Delivery) -> bool {
        self.delivery != *delivery
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

/// The value of a header, which may be a secret.
type HeaderValue = Secret<Vec<u8>>;

/// What the host adds to requests about streams.
pub struct Manager<'m> {
    /// The receiver that sends the request.
    pub receiver: &'m Receiver,
    /// The issuer of the tenant.
    pub issuer: &'m str,
    /// Checks URLs of receivers.
    pub guard: &'m AddressGuard,
    /// Encrypts headers.
    pub seal: &'m dyn SealSecret,
}

impl Manager<'_> {
    /// Returns the receiver's stream.
    pub async fn stream(&self, store: &mut dyn SignalStore) -> Result<Option<(Stream, StreamState)>, Error> {
        Ok(store.stream_of(&self.receiver.id).await?)
    }

    /// Returns the receiver's stream if it has this ID.
    pub async fn find(&self, store: &mut dyn SignalStore, id: &str) -> Result<Stream, Error> {
        let found = self.stream(store).await?.map(|(stream, _)| stream);
        found.filter(|stream| stream.id.as_str() == id).ok_or(Error::NoStream)
    }

    /// Creates the stream of the receiver, which has at most one.
    pub async fn create(
        &self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        body: StreamBody,
    ) -> Result<Stream, Error> {
        self.require_enabled()?;
        // Locked, so that two requests at the same time do not create two.
        store.receiver(&self.receiver.id).await?.ok_or(Error::NotFound)?;
        if self.stream(store).await?.is_some() {
            return Err(Error::HasStream);
        }
        let id = StreamId::new(&*ctx.env);
        let delivery = body.delivery.unwrap_or(DeliveryBody {
            method: POLL.to_owned(),
            endpoint_url: None,
            authorization_header: None,
        });
        let (delivery, header) = self.checked_delivery(delivery)?;
        let sealed = header.map(|header| self.seal.seal(id.as_str(), &header)).transpose()?;
        let stream = Stream {
            id,
            receiver: self.receiver.id.clone(),
            delivery,
            sealed,
            requested: checked_requested(body.events_requested)?,
            description: body
                .description
                .flatten()
                .map(|text| checked_text(text, "description"))
                .transpose()?,
            status: Status::Enabled,
            reason: None,
            verified_at: None,
            created_at: ctx.now,
            updated_at: ctx.now,
        };
        store.insert_stream(&stream, &stream.delivered(self.receiver)).await?;
        Ok(stream)
    }

    /// Changes the members that are present, or with `replaces` all of them. Returns the stream, and whether anything
    /// changed.
    pub async fn change(
        &self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        body: StreamBody,
        replaces: bool,
    ) -> Result<(Stream, bool), Error> {
        let id = body.stream_id.as_deref().ok_or(Error::Missing("stream_id"))?;
        let was = self.find(store, id).await?;
        self.require_own(&was, &body)?;
        let mut stream = was.clone();
        if body.events_requested.is_some() || replaces {
            stream.requested = checked_requested(body.events_requested)?;
        }
        if body.description.is_some() || replaces {
            let text = body.description.flatten();
            stream.description = text.map(|text| checked_text(text, "description")).transpose()?;
        }
        if let Some(delivery) = body.delivery {
            let (delivery, header) = self.checked_delivery(delivery)?;
            // A header is for one URL: it is not sent elsewhere.
            if stream.is_elsewhere(&delivery) || replaces {
                stream.sealed = None;
            }
            stream.delivery = delivery;
            if let Some(header) = header {
                stream.sealed = Some(self.seal.seal(stream.id.as_str(), &header)?);
            }
        } else if replaces {
            return Err(Error::Missing("delivery"));
        }
        let has_changed = stream != was;
        if has_changed {
            stream.updated_at = ctx.now;
            store.update_stream(&stream, &stream.delivered(self.receiver)).await?;
        }
        Ok((stream, has_changed))
    }

    /// Deletes the receiver's stream with its pending events.
    pub async fn delete(&self, store: &mut dyn SignalStore, id: &str) -> Result<Stream, Error> {
        let stream = self.find(store, id).await?;
        store.delete_stream(&stream.id).await?;
        Ok(stream)
    }

    /// Changes the status. Returns the stream, and whether the status changed.
    pub async fn set_status(
        &self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        (id, status, reason): (&str, Status, Option<String>),
    ) -> Result<(Stream, bool), Error> {
        let reason = reason.map(|text| checked_text(text, "reason")).transpose()?;
        let mut stream = self.find(store, id).await?;
        if status != Status::Disabled {
            self.require_enabled()?;
        }
        let has_changed = stream.status != status;
        if has_changed || stream.reason != reason {
            (stream.status, stream.reason, stream.updated_at) = (status, reason, ctx.now);
            store.update_stream(&stream, &stream.delivered(self.receiver)).await?;
        }
        Ok((stream, has_changed))
    }

    /// Queues a verification event with the receiver's `state`.
    pub async fn verify(
        &self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        (id, state): (&str, Option<String>),
    ) -> Result<(), Error> {
        if state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
            return Err(Error::TooLong("state"));
        }
        let mut stream = self.find(store, id).await?;
        let again_at = stream.verified_at.map(|at| at.plus_millis(MIN_VERIFICATION_INTERVAL * 1_000));
        let left = again_at.map_or(0, |at| at.unix_millis() - ctx.now.unix_millis());
        if left > 0 {
            return Err(Error::VerifiedJustNow(u64::try_from(left).unwrap_or(0).div_ceil(1_000)));
        }
        stream.verified_at = Some(ctx.now);
        store.update_stream(&stream, &stream.delivered(self.receiver)).await?;
        store.queue_control(ctx, &stream.id, &ControlEvent::verification(state)).await?;
        Ok(())
    }

    /// Stops events about a subject, or resumes them. An unknown subject is accepted, so that a receiver cannot find
    /// out who has an account (SSF 1.0, section 9.1).
    pub async fn set_subject(
        &self,
        store: &mut dyn SignalStore,
        (id, subject, is_wanted): (&str, &Subject, bool),
    ) -> Result<(), Error> {
        let stream = self.find(store, id).await?;
        let user = match subject {
            Subject::IssSub { iss, sub } if iss == self.issuer => sub.parse::<UserId>().ok(),
            Subject::Email { email } => store.user_with_address(email).await?,
            Subject::Scim { uri } => uri.strip_prefix("/Users/").and_then(|id| id.parse().ok()),
            Subject::IssSub { .. } => None,
        };
        match user {
            Some(user) if is_wanted => store.include_subject(&stream.id, &user).await?,
            Some(user) => {
                if store.count_removed_subjects(&stream.id).await? >= MAX_REMOVED_SUBJECTS {
                    return Err(Error::TooManySubjects);
                }
                store.exclude_subject(&stream.id, &user).await?;
            }
            None => {}
        }
        Ok(())
    }

    fn require_enabled(&self) -> Result<(), Error> {
        if self.receiver.enabled { Ok(()) } else { Err(Error::Disabled) }
    }

    /// Members that only the transmitter sets must have their values.
    fn require_own(&self, stream: &Stream, body: &StreamBody) -> Result<(), Error> {
        let is_audience = |aud: &Value| match aud {
            Value::Array(all) => {
                all.len() == 1 && all.iter().all(|one| *one == self.receiver.audience.as_str())
            }
            one => *one == self.receiver.audience.as_str(),
        };
        let is_delivered = |uris: &Vec<String>| {
            let agreed = stream.agreed(self.receiver);
            uris.len() == agreed.len() && agreed.iter().all(|one| uris.iter().any(|uri| uri == one.uri()))
        };
        let fixed = [
            ("iss", body.iss.as_ref().is_none_or(|iss| iss == self.issuer)),
            ("aud", body.aud.as_ref().is_none_or(is_audience)),
            ("events_delivered", body.events_delivered.as_ref().is_none_or(is_delivered)),
        ];
        match fixed.into_iter().find(|(_, is_own)| !is_own) {
            Some((name, _)) => Err(Error::Fixed(name)),
            None => Ok(()),
        }
    }

    fn checked_delivery(&self, body: DeliveryBody) -> Result<(Delivery, Option<HeaderValue>), Error> {
        if body.method == POLL {
            return Ok((Delivery::Poll, None));
        }
        if body.method != PUSH {
            return Err(Error::Method);
        }
        let url = body.endpoint_url.ok_or(Error::Missing("delivery.endpoint_url"))?;
        let target = self.guard.target(&url)?;
        if !self.guard.check_literal(&target) {
            return Err(Error::NotPublic);
        }
        let header = body.authorization_header.filter(|header| !header.is_empty());
        let is_sound = |header: &String| {
            header.len() <= MAX_HEADER && header.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        };
        if header.as_ref().is_some_and(|header| !is_sound(header)) {
            return Err(Error::Header);
        }
        Ok((
            Delivery::Push(target.as_str().to_owned()),
            header.map(|header| Secret::new(header.into_bytes())),
        ))
    }
}

/// A subject that a receiver names (RFC 9493, and RFC 9967 for `scim`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "format", rename_all = "snake_case")]
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

fn checked_requested(uris: Option<Vec<String>>) -> Result<Option<Vec<String>>, Error> {
    let Some(mut uris) = uris else { return Ok(None) };
    if uris.len() > MAX_REQUESTED || uris.iter().any(|uri| uri.len() > MAX_TEXT) {
        return Err(Error::TooLong("events_requested"));
    }
    let mut known = std::collections::HashSet::new();
    uris.retain(|uri| known.insert(uri.clone()));
    Ok(Some(uris))
}

fn checked_text(text: String, member: &'static str) -> Result<String, Error> {
    if text.len() > MAX_TEXT {
        return Err(Error::TooLong(member));
    }
    Ok(text)
}
