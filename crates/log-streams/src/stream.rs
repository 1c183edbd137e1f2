//! Streams and the operations on them.

use kernel::{Ctx, Id, Kind, Secret, Timestamp, not_null};
use serde::Deserialize;
use webhooks::{EventFilter, MAX_FILTERS, MAX_NAME, client::AddressGuard};

use crate::{
    Destination, DestinationType, Error, LogStreamStore, Problem,
    send::{is_client_key, read_certificates},
};

/// Marks ids of streams.
#[derive(Debug, Clone, Copy)]
pub enum LogStreamKind {}
impl Kind for LogStreamKind {
    const PREFIX: &'static str = "lst";
}
/// `lst_…`
pub type LogStreamId = Id<LogStreamKind>;

/// Maximum number of streams of a tenant.
pub const MAX_STREAMS: usize = 20;
/// Maximum length of a secret, in characters.
const MAX_SECRET: usize = 16_000;

/// Encrypts the secrets of streams.
pub trait SealSecret {
    /// Encrypts the secret of a stream.
    fn seal(&self, stream: &LogStreamId, secret: &Secret<String>) -> Result<String, SecretError>;
    /// Decrypts the secret of a stream.
    fn open(&self, stream: &LogStreamId, sealed: &str) -> Result<Secret<String>, SecretError>;
}

/// The reason a secret cannot be encrypted or decrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the secret of a log stream cannot be {0}")]
pub struct SecretError(pub &'static str);

/// A stream of a tenant's audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogStream {
    /// `lst_…`
    pub id: LogStreamId,
    /// The display name.
    pub name: String,
    /// Where it sends to.
    pub destination: Destination,
    /// The encrypted secret.
    pub sealed: Option<String>,
    /// Filters of event types; never empty.
    pub event_filters: Vec<EventFilter>,
    /// Whether entries are sent.
    pub enabled: bool,
    /// Creation time.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
}

impl LogStream {
    /// Returns whether any filter matches this event type.
    pub fn wants(&self, event_type: &str) -> bool {
        self.event_filters.iter().any(|filter| filter.matches(event_type))
    }

    /// Returns whether there are events that the stream leaves out.
    pub fn is_filtered(&self) -> bool {
        !self.event_filters.contains(&EventFilter::all())
    }
}

/// How far a stream is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamState {
    /// Position of the next entry to send.
    pub position: u64,
    /// When the receiver last accepted a batch.
    pub delivered_at: Option<Timestamp>,
    /// The first failure since the last success.
    pub failing_since: Option<Timestamp>,
    /// The last failure, while the stream fails.
    pub problem: Option<Problem>,
    /// When the next attempt is due, while the stream fails.
    pub next_attempt_at: Option<Timestamp>,
}

/// The schema of a name. The host describes it as `TrimmedName`.
#[cfg(feature = "openapi")]
fn name_schema() -> utoipa::openapi::Ref {
    let schema = utoipa::openapi::schema::RefBuilder::new().ref_location_from_schema_name("TrimmedName");
    schema.description(Some("1 to 100 printable characters.")).build()
}

/// The stream to add.
#[derive(Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = LogStreamBody))]
pub struct New {
    /// 1 to 100 printable characters.
    #[cfg_attr(feature = "openapi", schema(schema_with = name_schema))]
    name: String,
    /// The protocol. It cannot be changed later.
    #[serde(rename = "type")]
    kind: DestinationType,
    /// `https` URL at a public address. `SPLUNK_HEC` and `OTLP` add their usual path if it has none. `SYSLOG`:
    /// `syslog+tls://host:6514`.
    #[cfg_attr(feature = "openapi", schema(format = "uri"))]
    url: String,
    /// `SPLUNK_HEC`: the token. `S3`: the secret access key. `HTTPS` and `OTLP`: the value of `header`. `SYSLOG`: the
    /// private key of `clientCertificate` in PEM. Never shown.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 16_000))]
    secret: Option<String>,
    /// `HTTPS` and `OTLP`: the header that contains `secret`.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    header: Option<String>,
    /// `S3`: the bucket.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    bucket: Option<String>,
    /// `S3`: the region.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    region: Option<String>,
    /// `S3`: the beginning of the names of files.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    prefix: Option<String>,
    /// `S3`: the ID of the access key.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    access_key_id: Option<String>,
    /// `SYSLOG`: certificates in PEM to trust instead of public ones.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 64_000))]
    ca_certificates: Option<String>,
    /// `SYSLOG`: the certificate chain that the server presents to the receiver, in PEM.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 64_000))]
    client_certificate: Option<String>,
    /// Up to 50 patterns of event types, each up to 128 characters. Default: all events.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<EventFilter>, max_items = 50))]
    event_filters: Vec<String>,
    /// Position in the audit log of the first entry to send; 0 sends the whole log. Default: only entries that are
    /// sealed from now on.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    from: Option<u64>,
}

/// Changes of a stream. An empty text removes a member.
#[derive(Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(feature = "openapi", schema(as = LogStreamChange))]
pub struct Change {
    /// 1 to 100 printable characters.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(schema_with = name_schema))]
    name: Option<String>,
    /// The URL of the receiver. If it changes, `secret` is needed again.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, format = "uri"))]
    url: Option<String>,
    /// A new secret.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 16_000))]
    secret: Option<String>,
    /// `HTTPS` and `OTLP`: the header that contains `secret`.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    header: Option<String>,
    /// `S3`: the bucket.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    bucket: Option<String>,
    /// `S3`: the region.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    region: Option<String>,
    /// `S3`: the beginning of the names of files.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    prefix: Option<String>,
    /// `S3`: the ID of the access key.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 2_000))]
    access_key_id: Option<String>,
    /// `SYSLOG`: certificates in PEM to trust instead of public ones.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 64_000))]
    ca_certificates: Option<String>,
    /// `SYSLOG`: the certificate chain that the server presents to the receiver, in PEM.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false, max_length = 64_000))]
    client_certificate: Option<String>,
    /// Up to 50 patterns of event types, each up to 128 characters. Empty: all events.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<EventFilter>>, nullable = false, max_items = 50))]
    event_filters: Option<Vec<String>>,
    /// Whether entries are sent. A disabled stream continues where it stopped once it is enabled.
    #[serde(default, deserialize_with = "not_null")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    enabled: Option<bool>,
}

/// Returns the stream with this id.
pub async fn find(
    store: &mut dyn LogStreamStore,
    id: &LogStreamId,
) -> Result<(LogStream, StreamState), Error> {
    store.log_stream(id).await?.ok_or(Error::NotFound)
}

/// Creates a stream.
pub async fn create(
    ctx: &Ctx,
    store: &mut dyn LogStreamStore,
    (guard, keys): (&AddressGuard, &dyn SealSecret),
    new: New,
) -> Result<(LogStream, StreamState), Error> {
    let name = checked_name(new.name)?;
    let event_filters = checked_filters(&new.event_filters)?;
    let destination = Destination {
        kind: new.kind,
        url: new.url,
        header: new.header,
        bucket: new.bucket,
        region: new.region,
        prefix: new.prefix,
        access_key_id: new.access_key_id,
        ca_certificates: new.ca_certificates,
        client_certificate: new.client_certificate,
    };
    let secret = new.secret.filter(|secret| !secret.is_empty()).map(Secret::new);
    let destination = destination.checked(guard, secret.is_some())?;
    if let Some(secret) = &secret {
        check_secret(&destination, secret)?;
    }
    if store.count_log_streams().await? >= MAX_STREAMS {
        return Err(Error::TooMany);
    }
    let size = store.log_size().await?;
    let position = checked_position(new.from.unwrap_or(size), size)?;
    let id = LogStreamId::new(&*ctx.env);
    let sealed = secret.map(|secret| keys.seal(&id, &secret)).transpose()?;
    let stream = LogStream {
        id,
        name,
        destination,
        sealed,
        event_filters,
        enabled: true,
        created_at: ctx.now,
        updated_at: ctx.now,
    };
    store.insert_log_stream(&stream, position).await?;
    Ok((stream, StreamState { position, ..StreamState::default() }))
}

/// Changes a stream. Returns the names of the changed members.
pub async fn change(
    ctx: &Ctx,
    store: &mut dyn LogStreamStore,
    (guard, keys): (&AddressGuard, &dyn SealSecret),
    id: &LogStreamId,
    change: Change,
) -> Result<(LogStream, StreamState, Vec<&'static str>), Error> {
    let name = change.name.map(checked_name).transpose()?;
    let filters = change.event_filters.map(|filters| checked_filters(&filters)).transpose()?;
    let (mut stream, mut state) = find(store, id).await?;
    let was = stream.destination.clone();
    let mut changed = Vec::new();
    set(&mut stream.name, name, "name", &mut changed);
    set(&mut stream.event_filters, filters, "eventFilters", &mut changed);
    set(&mut stream.enabled, change.enabled, "enabled", &mut changed);
    let mut next = was.clone();
    next.url = change.url.unwrap_or(next.url);
    let members = [
        (&mut next.header, change.header),
        (&mut next.bucket, change.bucket),
        (&mut next.region, change.region),
        (&mut next.prefix, change.prefix),
        (&mut next.access_key_id, change.access_key_id),
        (&mut next.ca_certificates, change.ca_certificates),
        (&mut next.client_certificate, change.client_certificate),
    ];
    for (member, to) in members {
        *member = to.or_else(|| member.take());
    }
    let removes_secret = change.secret.as_deref() == Some("");
    let secret = change.secret.filter(|secret| !secret.is_empty()).map(Secret::new);
    let has_secret = secret.is_some() || (stream.sealed.is_some() && !removes_secret);
    let next = next.checked(guard, has_secret)?;
    changed.extend(differences(&was, &next));
    // Otherwise, somebody who does not know the secret could have it sent elsewhere.
    let is_elsewhere = was.url != next.url || was.ca_certificates != next.ca_certificates;
    if is_elsewhere && stream.sealed.is_some() && secret.is_none() && !removes_secret {
        return Err(Error::SecretAgain);
    }
    stream.destination = next;
    if let Some(secret) = &secret {
        check_secret(&stream.destination, secret)?;
        stream.sealed = Some(keys.seal(id, secret)?);
        changed.push("secret");
    } else if removes_secret && stream.sealed.take().is_some() {
        changed.push("secret");
    } else if let (true, Some(sealed)) = (changed.contains(&"clientCertificate"), &stream.sealed) {
        let secret = keys.open(id, sealed).map_err(|_| Error::SecretAgain)?;
        check_secret(&stream.destination, &secret)?;
    }
    if !changed.is_empty() {
        stream.updated_at = ctx.now;
        store.update_log_stream(&stream).await?;
        state.next_attempt_at = state.next_attempt_at.map(|_| ctx.now);
    }
    Ok((stream, state, changed))
}

/// Deletes a stream and returns it as it was.
pub async fn remove(store: &mut dyn LogStreamStore, id: &LogStreamId) -> Result<LogStream, Error> {
    let (stream, _) = find(store, id).await?;
    store.delete_log_stream(id).await?;
    Ok(stream)
}

/// Continues a stream at another position of the log, for example to send it again from the beginning.
pub async fn resend(
    ctx: &Ctx,
    store: &mut dyn LogStreamStore,
    id: &LogStreamId,
    from: u64,
) -> Result<(LogStream, StreamState), Error> {
    let (stream, state) = find(store, id).await?;
    let position = checked_position(from, store.log_size().await?)?;
    store.move_log_stream(id, position, ctx.now).await?;
    let next_attempt_at = None;
    Ok((stream, StreamState { position, problem: None, failing_since: None, next_attempt_at, ..state }))
}

fn set<T: PartialEq>(field: &mut T, to: Option<T>, name: &'static str, changed: &mut Vec<&'static str>) {
    if let Some(to) = to.filter(|to| to != field) {
        *field = to;
        changed.push(name);
    }
}

/// Returns the names of the members that differ.
fn differences(was: &Destination, next: &Destination) -> impl Iterator<Item = &'static str> {
    let members = [
        ("url", was.url != next.url),
        ("header", was.header != next.header),
        ("bucket", was.bucket != next.bucket),
        ("region", was.region != next.region),
        ("prefix", was.prefix != next.prefix),
        ("accessKeyId", was.access_key_id != next.access_key_id),
        ("caCertificates", was.ca_certificates != next.ca_certificates),
        ("clientCertificate", was.client_certificate != next.client_certificate),
    ];
    members.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name)
}

fn checked_position(from: u64, size: u64) -> Result<u64, Error> {
    if from <= size { Ok(from) } else { Err(Error::Position(size)) }
}

fn checked_name(name: String) -> Result<String, Error> {
    let is_fit = (1..=MAX_NAME).contains(&name.chars().count())
        && !name.chars().any(char::is_control)
        && name.trim() == name;
    if is_fit { Ok(name) } else { Err(Error::Name) }
}

fn checked_filters(filters: &[String]) -> Result<Vec<EventFilter>, Error> {
    if filters.len() > MAX_FILTERS {
        return Err(Error::Filters);
    }
    if filters.is_empty() {
        return Ok(vec![EventFilter::all()]);
    }
    let one =
        |(index, text): (usize, &String)| text.parse().map_err(|problem| Error::Filter { index, problem });
    filters.iter().enumerate().map(one).collect()
}

/// Checks that the secret can be used with its destination.
fn check_secret(destination: &Destination, secret: &Secret<String>) -> Result<(), Error> {
    let text = secret.expose();
    let is_fit = match (destination.kind, &destination.client_certificate) {
        (DestinationType::Syslog, Some(certificate)) => {
            let chain =
                read_certificates(certificate).map_err(|_| Error::Certificates("clientCertificate"))?;
            is_client_key(chain, text)
        }
        _ => text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') && text.trim() == text,
    };
    if is_fit && text.len() <= MAX_SECRET { Ok(()) } else { Err(Error::Secret) }
}
