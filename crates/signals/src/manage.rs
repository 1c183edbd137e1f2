//! The management of streams by their receivers (SSF 1.0, section 8).

use kernel::{Ctx, Secret, UserId};
use serde_json::Value;
use webhooks::client::AddressGuard;

use crate::{
    ControlEvent, Delivery, DeliveryBody, Error, MAX_REMOVED_SUBJECTS, MIN_VERIFICATION_INTERVAL, POLL, PUSH,
    Receiver, SealSecret, SignalStore, Status, Stream, StreamBody, StreamId, StreamState, Subject,
};

/// Maximum number of requested event types.
const MAX_REQUESTED: usize = 100;
/// Maximum length of a URI, a description or a reason.
const MAX_TEXT: usize = 500;
/// Maximum length of the value of a header.
const MAX_HEADER: usize = 8_000;
/// Maximum length of the state of a verification event.
const MAX_STATE: usize = 1_000;

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
        // Locked, so that two requests at the same time do not create two.
        let receiver = self.locked(store).await?;
        require_enabled(&receiver)?;
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
        store.insert_stream(&stream, &stream.delivered(&receiver)).await?;
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
        let receiver = self.locked(store).await?;
        let was = self.find(store, id).await?;
        self.require_own(&receiver, &was, &body)?;
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
            if stream.delivery != delivery || replaces {
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
            store.update_stream(&stream, &stream.delivered(&receiver)).await?;
        }
        Ok((stream, has_changed))
    }

    /// Deletes the receiver's stream with its pending events.
    pub async fn delete(&self, store: &mut dyn SignalStore, id: &str) -> Result<Stream, Error> {
        let stream = self.find(store, id).await?;
        store.delete_stream(&stream.id).await?;
        Ok(stream)
    }

    /// Changes the status and its reason. Returns the stream, and whether anything changed.
    pub async fn set_status(
        &self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        (id, status, reason): (&str, Status, Option<String>),
    ) -> Result<(Stream, bool), Error> {
        let reason = reason.map(|text| checked_text(text, "reason")).transpose()?;
        let receiver = self.locked(store).await?;
        let mut stream = self.find(store, id).await?;
        if status != Status::Disabled {
            require_enabled(&receiver)?;
        }
        let has_changed = stream.status != status || stream.reason != reason;
        if has_changed {
            (stream.status, stream.reason, stream.updated_at) = (status, reason, ctx.now);
            store.update_stream(&stream, &stream.delivered(&receiver)).await?;
        }
        Ok((stream, has_changed))
    }

    /// Queues a verification event with the receiver's `state`. It is delivered while the stream is enabled.
    pub async fn verify(
        &self,
        ctx: &Ctx,
        store: &mut dyn SignalStore,
        (id, state): (&str, Option<String>),
    ) -> Result<(), Error> {
        if state.as_ref().is_some_and(|state| state.len() > MAX_STATE) {
            return Err(Error::TooLong("state"));
        }
        self.locked(store).await?;
        let stream = self.find(store, id).await?;
        let again_at = stream.verified_at.map(|at| at.plus_millis(MIN_VERIFICATION_INTERVAL * 1_000));
        let left = again_at.map_or(0, |at| at.unix_millis() - ctx.now.unix_millis());
        if left > 0 {
            return Err(Error::VerifiedJustNow(u64::try_from(left).unwrap_or(0).div_ceil(1_000)));
        }
        store.note_verification(&stream, ctx.now).await?;
        if stream.status != Status::Disabled {
            store.queue_control(ctx, &stream.id, &ControlEvent::verification(state)).await?;
        }
        Ok(())
    }

    /// Stops events about a subject, or resumes them. Returns whether anything changed. An unknown subject is accepted, so that a receiver cannot find
    /// out who has an account (SSF 1.0, section 9.1).
    pub async fn set_subject(
        &self,
        store: &mut dyn SignalStore,
        (id, subject, is_wanted): (&str, &Subject, bool),
    ) -> Result<bool, Error> {
        let stream = self.find(store, id).await?;
        if !is_wanted && store.count_removed_subjects(&stream.id).await? >= MAX_REMOVED_SUBJECTS {
            return Err(Error::TooManySubjects);
        }
        let user = match subject {
            Subject::IssSub { iss, sub } if iss == self.issuer => sub.parse::<UserId>().ok(),
            Subject::Email { email } => store.user_with_address(email).await?,
            Subject::Scim { uri } => uri.strip_prefix("/Users/").and_then(|id| id.parse().ok()),
            Subject::IssSub { .. } => None,
        };
        Ok(match user {
            Some(user) if is_wanted => store.include_subject(&stream.id, &user).await?,
            Some(user) => store.exclude_subject(&stream.id, &user).await?,
            None => false,
        })
    }

    /// Returns the receiver as it is now, locked until the end of the unit of work.
    async fn locked(&self, store: &mut dyn SignalStore) -> Result<Receiver, Error> {
        store.receiver(&self.receiver.id).await?.ok_or(Error::NotFound)
    }

    /// Members that only the transmitter sets must have their values.
    fn require_own(&self, receiver: &Receiver, stream: &Stream, body: &StreamBody) -> Result<(), Error> {
        let is_audience = |aud: &Value| match aud {
            Value::Array(all) => all.len() == 1 && all.iter().all(|one| *one == receiver.audience.as_str()),
            one => *one == receiver.audience.as_str(),
        };
        let is_delivered = |uris: &Vec<String>| {
            let agreed = stream.agreed(receiver);
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

fn require_enabled(receiver: &Receiver) -> Result<(), Error> {
    if receiver.enabled { Ok(()) } else { Err(Error::Disabled) }
}
