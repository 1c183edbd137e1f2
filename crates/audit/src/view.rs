//! Entries as the API and exports write them.

use kernel::Timestamp;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::ListedEntry;

/// The actor of an entry.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ShownActor))]
struct ActorView {
    /// `usr_…`, `sct_…`, `sso_…`, or the name of an operator's command.
    id: String,
    /// `USER`, `SCIM`, `SYSTEM` or `SAML`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(value_type = kernel::ActorKind))]
    kind: String,
    /// Current name, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    name: Option<String>,
}

/// An audit entry.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", schema(as = ShownEntry))]
pub struct EntryView {
    /// `aud_…`
    id: String,
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = "date-time"))]
    timestamp: Timestamp,
    actor: ActorView,
    /// As in `/api/developers/events.json`.
    action: String,
    resource_type: String,
    resource_id: String,
    /// Client address, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    ip: Option<String>,
    /// IDs, and names of changed fields.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    metadata: Box<RawValue>,
    /// With `order=sequence`: index in the log, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(nullable = false))]
    sequence: Option<u64>,
}

impl EntryView {
    /// Returns the view of a sealed entry in the order of the log.
    pub fn sealed(sequence: u64, listed: ListedEntry) -> Result<Self, serde_json::Error> {
        Ok(Self { sequence: Some(sequence), ..Self::try_from(listed)? })
    }
}

impl TryFrom<ListedEntry> for EntryView {
    type Error = serde_json::Error;

    /// Fails if the stored payload is not JSON.
    fn try_from(ListedEntry { entry, actor_name }: ListedEntry) -> Result<Self, serde_json::Error> {
        Ok(Self {
            metadata: RawValue::from_string(entry.metadata)?,
            actor: ActorView { id: entry.actor_id, kind: entry.actor_type, name: actor_name },
            id: entry.id,
            timestamp: entry.timestamp,
            action: entry.action,
            resource_type: entry.resource_type,
            resource_id: entry.resource_id,
            ip: entry.ip,
            sequence: None,
        })
    }
}
