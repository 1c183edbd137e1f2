//! Turns pending events into signed tokens, and delivers them by poll (RFC 8936).

use std::collections::BTreeMap;

use kernel::{StoreResult, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    Envelope, Error, EventContent, KeyError, KeyStore, Problem, QueuedEvent, Receiver, SealSecret,
    SignalStore, SigningKey, StoredKey, Stream, StreamId, TokenError,
};

/// Maximum number of tokens in the response to a poll, and the default.
pub const MAX_POLLED: i64 = 100;
/// Maximum number of tokens that a poll can acknowledge.
const MAX_ACKNOWLEDGED: usize = 200;

/// A poll (RFC 8936, section 2.2).
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignalPoll))]
pub struct Poll {
    /// Maximum number of tokens in the response, at most 100. 0: acknowledge only. Default: 100.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false, minimum = 0))]
    pub max_events: Option<i64>,
    /// Whether to answer at once, also without tokens. Otherwise the response waits for the first token for up to 20 seconds.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    pub return_immediately: Option<bool>,
    /// IDs of tokens that the receiver has stored. They are not sent again.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(max_items = 200))]
    pub ack: Vec<String>,
    /// Tokens that the receiver does not accept, by their IDs. They are not sent again.
    #[serde(default)]
    pub set_errs: BTreeMap<String, TokenError>,
}

/// The response to a poll (RFC 8936, section 2.3).
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = SignalTokens))]
pub struct Polled {
    /// Signed tokens by their IDs, until they are acknowledged.
    pub sets: BTreeMap<String, String>,
    /// Whether there are more.
    pub more_available: bool,
}

/// Events to sign, after a poll.
#[derive(Debug, Clone)]
pub struct Pending {
    /// The first events.
    pub events: Vec<QueuedEvent>,
    /// Whether there are more.
    pub more_available: bool,
}

/// Records what the receiver has stored or refused. Returns how many tokens it has stored, and how many it has refused.
pub async fn acknowledge(
    store: &mut dyn SignalStore,
    stream: &StreamId,
    poll: &Poll,
    now: Timestamp,
) -> Result<(usize, usize), Error> {
    if poll.ack.len() + poll.set_errs.len() > MAX_ACKNOWLEDGED {
        return Err(Error::TooLong("ack"));
    }
    // In one order, so that requests at the same time do not wait for each other in a circle.
    let mut stored = poll.ack.clone();
    stored.sort();
    let accepted = store.delete_events(stream, &stored).await?;
    let refused_ids: Vec<_> = poll.set_errs.keys().cloned().collect();
    let refused = store.delete_events(stream, &refused_ids).await?;
    let last = poll.set_errs.values().last().filter(|_| refused > 0).map(Problem::of_refusal);
    if accepted > 0 || last.is_some() {
        store.note_polled(stream, (accepted > 0).then_some(now), last.as_ref()).await?;
    }
    Ok((accepted, refused))
}

/// Returns the events of the next response.
pub async fn pending(store: &mut dyn SignalStore, stream: &Stream, max: i64) -> StoreResult<Pending> {
    let mut events = store.pending_events(&stream.id, stream.is_delivering(), max + 1).await?;
    let max = usize::try_from(max).unwrap_or(0);
    let more_available = events.len() > max;
    events.truncate(max);
    Ok(Pending { events, more_available })
}

/// The claims of tokens by ID, and the IDs of events that result in none.
pub type Prepared = (Vec<(String, serde_json::Value)>, Vec<String>);

/// Makes the claims of events.
pub fn prepare(receiver: &Receiver, stream: &Stream, issuer: &str, events: &[QueuedEvent]) -> Prepared {
    let envelope = Envelope { issuer, audience: &receiver.audience, format: receiver.subject_format };
    let agreed = stream.agreed(receiver);
    let (mut tokens, mut without) = (Vec::new(), Vec::new());
    for event in events {
        // A change may have queued an event while an administrator took its type away.
        let claims = match &event.content {
            Some(EventContent::Source(source)) if agreed.contains(&source.event_type) => {
                source.claims(&envelope)
            }
            Some(EventContent::Control(control)) => {
                Some(control.claims(&envelope, (&event.jti, stream.id.as_str()), event.at))
            }
            Some(EventContent::Source(_)) | None => None,
        };
        match claims {
            Some(claims) => tokens.push((event.jti.clone(), claims)),
            None => without.push(event.jti.clone()),
        }
    }
    (tokens, without)
}

/// Signs claims, in their order. Returns each token with its ID.
pub fn sign(
    key: &SigningKey,
    claims: Vec<(String, serde_json::Value)>,
) -> Result<Vec<(String, String)>, KeyError> {
    claims.into_iter().map(|(jti, claims)| Ok((jti, key.sign(&claims)?))).collect()
}

/// Returns the key that signs, if the tenant has one.
pub async fn current_key(store: &mut dyn KeyStore) -> StoreResult<Option<StoredKey>> {
    Ok(store.signing_keys().await?.into_iter().find(|key| key.replaced_at.is_none()))
}

/// Decrypts the header `Authorization` of pushes.
pub(crate) fn open_header(stream: &Stream, seal: &dyn SealSecret) -> Result<Option<String>, KeyError> {
    let opened = stream.sealed.as_ref().map(|sealed| seal.open(stream.id.as_str(), sealed)).transpose()?;
    let read = |secret: kernel::Secret<Vec<u8>>| String::from_utf8(secret.expose().clone());
    opened.map(read).transpose().map_err(|_| KeyError("decrypted: it is not text"))
}
