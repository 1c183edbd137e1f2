//! The registry of event types.

use serde::Serialize;
use serde_json::{Value, json};

use crate::EventData;

/// The description of an event type.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EventSpec {
    /// The audit code, which is also the webhook event type.
    #[serde(rename = "type")]
    pub code: &'static str,
    /// A sentence that says what happened.
    pub description: &'static str,
    /// The type of the affected resource.
    pub resource_type: &'static str,
    /// JSON Schema of the complete payload.
    pub schema: Value,
    /// An example of the complete payload.
    pub example: Value,
}

impl EventSpec {
    /// Collects the description from the event type.
    pub fn of<D: EventData>() -> Self {
        Self {
            code: D::CODE,
            description: D::DESCRIPTION,
            resource_type: D::RESOURCE_TYPE,
            schema: payload_schema(D::CODE, D::RESOURCE_TYPE, &D::schema()),
            example: json!({
                "id": "evt_01jz3q4v5w6x7y8z9a0b1c2d3e",
                "type": D::CODE,
                "createdAt": "2026-01-31T09:30:00.000Z",
                "tenantId": "ten_01jz0000000000000000000000",
                "actor": { "id": D::EXAMPLE_ACTOR.0, "type": D::EXAMPLE_ACTOR.1 },
                "resource": { "type": D::RESOURCE_TYPE, "id": D::EXAMPLE_ID },
                "data": D::example().map_or_else(|| json!({}), |example| json!(example)),
            }),
        }
    }
}

fn payload_schema(code: &str, resource_type: &str, data: &Value) -> Value {
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
                    "type": { "type": "string", "enum": ["USER", "SCIM", "SYSTEM", "SAML", "OIDC"] },
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

/// All event types of a service, in the order they were added.
#[derive(Debug, Clone, Default)]
pub struct Catalog(Vec<EventSpec>);

impl Catalog {
    /// Creates an empty catalog.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an event type.
    #[must_use]
    pub fn with<D: EventData>(mut self) -> Self {
        self.0.push(EventSpec::of::<D>());
        self
    }

    /// Returns the code of each event type.
    pub fn codes(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|spec| spec.code)
    }

    /// Returns all event types, in the order they were added.
    pub fn specs(&self) -> &[EventSpec] {
        &self.0
    }
}
