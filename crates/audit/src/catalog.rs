//! The registry of event kinds.

use serde_json::{Value, json};
use utoipa::PartialSchema;

use crate::EventData;

/// What the catalog says about one kind of event.
#[derive(Debug, Clone)]
pub struct EventSpec {
    /// The audit code, which is also the event type of webhooks.
    pub code: &'static str,
    /// What has happened, in one sentence for people.
    pub description: &'static str,
    /// The type of the resource it is about.
    pub resource_type: &'static str,
    /// JSON Schema of a whole payload.
    pub schema: Value,
    /// A whole payload.
    pub example: Value,
}

impl EventSpec {
    /// Reads everything from the kind itself.
    pub fn of<D: EventData>() -> Self {
        Self {
            code: D::CODE,
            description: D::DESCRIPTION,
            resource_type: D::RESOURCE_TYPE,
            schema: payload_schema(D::CODE, D::RESOURCE_TYPE, <D as PartialSchema>::schema()),
            example: json!({
                "id": "evt_01jz3q4v5w6x7y8z9a0b1c2d3e",
                "type": D::CODE,
                "createdAt": "2026-01-31T09:30:00.000Z",
                "tenantId": "ten_01jz0000000000000000000000",
                "actor": { "id": D::EXAMPLE_ACTOR.0, "type": D::EXAMPLE_ACTOR.1 },
                "resource": { "type": D::RESOURCE_TYPE, "id": D::EXAMPLE_ID },
                "data": D::example(),
            }),
        }
    }
}

fn payload_schema(code: &str, resource_type: &str, data: impl serde::Serialize) -> Value {
    let text = || json!({ "type": "string" });
    json!({
        "type": "object",
        "required": ["id", "type", "createdAt", "tenantId", "actor", "resource", "data"],
        "properties": {
            "id": text(),
            "type": { "type": "string", "const": code },
            "createdAt": { "type": "string", "format": "date-time" },
            "tenantId": text(),
            "actor": {
                "type": ["object", "null"],
                "required": ["id", "type"],
                "properties": {
                    "id": text(),
                    "type": { "type": "string", "enum": ["USER", "SCIM", "SYSTEM", "SAML"] },
                },
            },
            "resource": {
                "type": "object",
                "required": ["type", "id"],
                "properties": { "type": { "type": "string", "const": resource_type }, "id": text() },
            },
            "data": data,
        },
    })
}

/// All kinds of events a service can enter, in the order they were added.
#[derive(Debug, Clone, Default)]
pub struct Catalog(Vec<EventSpec>);

impl Catalog {
    /// An empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a kind.
    #[must_use]
    pub fn with<D: EventData>(mut self) -> Self {
        self.0.push(EventSpec::of::<D>());
        self
    }

    /// The code of each kind.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|spec| spec.code)
    }

    /// Every event kind, ordered by code.
    pub fn specs(&self) -> &[EventSpec] {
        &self.0
    }
}
