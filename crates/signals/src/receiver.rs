//! Receivers that an administrator permits to have a stream.

use std::net::IpAddr;

use kernel::{Ctx, Id, Kind, Timestamp, not_null};
use serde::{Deserialize, Serialize};
use tokens::{RawToken, TokenHash, TokenKind};
use webhooks::MAX_NAME;

use crate::{Error, EventType, SignalStore, Stream, StreamState};

/// Marks ids of receivers.
#[derive(Debug, Clone, Copy)]
pub enum ReceiverKind {}
impl Kind for ReceiverKind {
    const PREFIX: &'static str = "rcv";
}
/// `rcv_…`
pub type ReceiverId = Id<ReceiverKind>;

/// Maximum number of receivers of a tenant.
pub const MAX_RECEIVERS: usize = 20;
/// Maximum length of an audience.
pub(crate) const MAX_AUDIENCE: usize = 500;

/// How tokens name accounts (RFC 9493).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SubjectFormat {
    /// By the issuer and the ID of the user.
    IssSub,
    /// By the email address. Accounts without one are named by the issuer and the ID.
    Email,
}

/// A receiver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// `rcv_…`
    pub id: ReceiverId,
    /// The display name.
    pub name: String,
    /// The audience of its tokens.
    pub audience: String,
    /// The types of events that it may receive.
    pub event_types: Vec<EventType>,
    /// How its tokens name accounts.
    pub subject_format: SubjectFormat,
    /// Whether it may receive events.
    pub enabled: bool,
    /// SHA-256 of its access token.
    pub hash: TokenHash,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// When its access token was last used, to the minute.
    pub last_used_at: Option<Timestamp>,
    /// The address it was last used from.
    pub last_used_ip: Option<IpAddr>,
}

/// A receiver, and its stream if it has created one.
pub type ReceiverWithStream = (Receiver, Option<(Stream, StreamState)>);

/// The schema of a name. The host describes it as `TrimmedName`.
#[cfg(feature = "openapi")]
pub(crate) fn name_schema() -> utoipa::openapi::Ref {
    let schema = utoipa::openapi::schema::RefBuilder::new().ref_location_from_schema_name("TrimmedName");
    schema.description(Some("1 to 100 printable characters.")).build()
}

/// The receiver to add.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = SignalReceiverBody))]
pub struct New {
    /// 1 to 100 printable characters.
    #[cfg_attr(feature = "openapi", schema(schema_with = name_schema))]
    name: String,
    /// The audience (`aud`) of its tokens, which the receiver checks: usually its URL.
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 500, pattern = "^[!-~]+$"))]
    audience: String,
    /// URIs of the event types that it may receive. Default: all.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<EventType>, max_items = 20))]
    event_types: Vec<String>,
    /// How tokens name accounts. Default: `ISS_SUB`.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    subject_format: Option<SubjectFormat>,
}

/// Changes of a receiver.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = SignalReceiverChange))]
pub struct Change {
    /// 1 to 100 printable characters.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(schema_with = name_schema))]
    name: Option<String>,
    /// URIs of the event types that it may receive. Empty: all.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<EventType>>, nullable = false, max_items = 20))]
    event_types: Option<Vec<String>>,
    /// How tokens name accounts.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    subject_format: Option<SubjectFormat>,
    /// Whether it may receive events. Otherwise its stream is disabled, and events of this time are not sent later.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    enabled: Option<bool>,
}

/// Returns a receiver with its stream, locked until the end of a unit of work that writes.
pub async fn find(store: &mut dyn SignalStore, id: &ReceiverId) -> Result<ReceiverWithStream, Error> {
    let receiver = store.receiver(id).await?.ok_or(Error::NotFound)?;
    let mut stream = store.stream_of(id).await?;
    if let Some((stream, state)) = &mut stream {
        state.pending = store.count_events(&stream.id).await?;
    }
    Ok((receiver, stream))
}

/// Adds a receiver. Returns it with its access token, which exists only in the returned value.
pub async fn create(ctx: &Ctx, store: &mut dyn SignalStore, new: New) -> Result<(Receiver, RawToken), Error> {
    let name = checked_name(new.name)?;
    let event_types = checked_types(&new.event_types)?;
    let audience = checked_audience(new.audience)?;
    if store.count_receivers().await? >= MAX_RECEIVERS {
        return Err(Error::TooMany);
    }
    let raw = RawToken::mint(&*ctx.env, TokenKind::Signals, &ctx.tenant);
    let receiver = Receiver {
        id: ReceiverId::new(&*ctx.env),
        name,
        audience,
        event_types,
        subject_format: new.subject_format.unwrap_or(SubjectFormat::IssSub),
        enabled: true,
        hash: raw.hash(),
        created_at: ctx.now,
        updated_at: ctx.now,
        last_used_at: None,
        last_used_ip: None,
    };
    store.insert_receiver(&receiver).await?;
    Ok((receiver, raw))
}

/// Changes a receiver. Returns the names of the changed members.
pub async fn change(
    ctx: &Ctx,
    store: &mut dyn SignalStore,
    id: &ReceiverId,
    change: Change,
) -> Result<(ReceiverWithStream, Vec<&'static str>), Error> {
    let name = change.name.map(checked_name).transpose()?;
    let event_types = change.event_types.map(|types| checked_types(&types)).transpose()?;
    let (mut receiver, mut stream) = find(store, id).await?;
    let mut changed = Vec::new();
    set(&mut receiver.name, name, "name", &mut changed);
    set(&mut receiver.event_types, event_types, "eventTypes", &mut changed);
    set(&mut receiver.subject_format, change.subject_format, "subjectFormat", &mut changed);
    set(&mut receiver.enabled, change.enabled, "enabled", &mut changed);
    if changed.is_empty() {
        return Ok(((receiver, stream), changed));
    }
    receiver.updated_at = ctx.now;
    store.update_receiver(&receiver).await?;
    if let Some((stream, _)) = &mut stream {
        if changed.contains(&"enabled") {
            stream.follow_receiver(ctx, store, &receiver).await?;
        }
        if changed != ["name"] {
            store.update_stream(stream, &stream.delivered(&receiver)).await?;
        }
    }
    Ok(((receiver, stream), changed))
}

/// Removes a receiver with its stream and pending events. Returns it as it was.
pub async fn remove(store: &mut dyn SignalStore, id: &ReceiverId) -> Result<Receiver, Error> {
    let (receiver, stream) = find(store, id).await?;
    if let Some((stream, _)) = stream {
        store.delete_stream(&stream.id).await?;
    }
    store.delete_receiver(id).await?;
    Ok(receiver)
}

/// Replaces the access token of a receiver. The previous one is refused at once.
pub async fn replace_token(
    ctx: &Ctx,
    store: &mut dyn SignalStore,
    id: &ReceiverId,
) -> Result<(ReceiverWithStream, RawToken), Error> {
    let (mut receiver, stream) = find(store, id).await?;
    let raw = RawToken::mint(&*ctx.env, TokenKind::Signals, &ctx.tenant);
    receiver.hash = raw.hash();
    receiver.updated_at = ctx.now;
    store.update_receiver(&receiver).await?;
    Ok(((receiver, stream), raw))
}

pub(crate) fn set<T: PartialEq>(
    field: &mut T,
    to: Option<T>,
    name: &'static str,
    changed: &mut Vec<&'static str>,
) {
    if let Some(to) = to.filter(|to| to != field) {
        *field = to;
        changed.push(name);
    }
}

pub(crate) fn checked_name(name: String) -> Result<String, Error> {
    let length = name.chars().count();
    let is_sound =
        (1..=MAX_NAME).contains(&length) && name.trim() == name && !name.chars().any(char::is_control);
    is_sound.then_some(name).ok_or(Error::Name)
}

pub(crate) fn checked_audience(audience: String) -> Result<String, Error> {
    let is_sound =
        (1..=MAX_AUDIENCE).contains(&audience.len()) && audience.bytes().all(|byte| byte.is_ascii_graphic());
    is_sound.then_some(audience).ok_or(Error::Audience)
}

/// Reads URIs of event types. None stand for all.
fn checked_types(uris: &[String]) -> Result<Vec<EventType>, Error> {
    if uris.is_empty() {
        return Ok(EventType::ALL.to_vec());
    }
    let read = |(index, uri): (usize, &String)| EventType::from_uri(uri).ok_or(Error::EventType(index));
    let mut types = uris.iter().enumerate().map(read).collect::<Result<Vec<_>, _>>()?;
    types.sort_unstable();
    types.dedup();
    Ok(types)
}
