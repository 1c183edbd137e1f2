//! Renders the attribute table for `/Schemas` (RFC 7643 §7) and as JSON Schema for API descriptions.

use serde_json::{Map, Value, json};

use super::{Attribute, COMMON, Mutability, ResourceType, Returned, Schema, Type, Uniqueness};

/// Returns a resource of `/ResourceTypes`; `base` is the URL of the SCIM root without a trailing slash.
pub fn resource_type(kind: &ResourceType, base: &str) -> Value {
    let extension = |schema: &&Schema| json!({ "schema": schema.id, "required": false });
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:ResourceType"],
        "id": kind.name,
        "name": kind.name,
        "endpoint": kind.endpoint,
        "description": kind.description,
        "schema": kind.schema.id,
        "schemaExtensions": kind.extensions.iter().map(extension).collect::<Vec<_>>(),
        "meta": { "resourceType": "ResourceType", "location": format!("{base}/ResourceTypes/{}", kind.name) },
    })
}

/// Returns a resource of `/Schemas`; `base` is the URL of the SCIM root without a trailing slash.
pub fn schema_resource(schema: &Schema, base: &str) -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:Schema"],
        "id": schema.id,
        "name": schema.name,
        "description": schema.description,
        "attributes": schema.attributes.iter().map(describe).collect::<Vec<_>>(),
        "meta": { "resourceType": "Schema", "location": format!("{base}/Schemas/{}", schema.id) },
    })
}

fn describe(attribute: &Attribute) -> Value {
    let mut members = json!({
        "name": attribute.name,
        "type": match attribute.kind {
            Type::String => "string",
            Type::Boolean => "boolean",
            Type::Reference => "reference",
            Type::DateTime => "dateTime",
            Type::Complex => "complex",
        },
        "multiValued": attribute.multi_valued,
        "description": attribute.description,
        "required": attribute.required,
        "caseExact": attribute.case_exact,
        "mutability": match attribute.mutability {
            Mutability::ReadWrite => "readWrite",
            Mutability::ReadOnly => "readOnly",
            Mutability::Immutable => "immutable",
            Mutability::WriteOnly => "writeOnly",
        },
        "returned": match attribute.returned {
            Returned::Always => "always",
            Returned::Default => "default",
            Returned::Never => "never",
        },
        "uniqueness": match attribute.uniqueness {
            Uniqueness::None => "none",
            Uniqueness::Server => "server",
        },
    });
    if let Some(members) = members.as_object_mut() {
        if !attribute.canonical_values.is_empty() {
            members.insert("canonicalValues".into(), json!(attribute.canonical_values));
        }
        if attribute.kind == Type::Reference {
            members.insert("referenceTypes".into(), json!(attribute.refers_to));
        }
        if attribute.kind == Type::Complex {
            let subs = attribute.sub_attributes.iter().map(describe).collect();
            members.insert("subAttributes".into(), Value::Array(subs));
        }
    }
    members
}

/// Returns the JSON Schema of a resource: as returned, or as sent by clients (`request`).
pub fn json_schema(kind: &ResourceType, request: bool) -> Value {
    let mut properties = Map::new();
    properties.insert("schemas".into(), json!({ "type": "array", "items": { "type": "string" } }));
    add(&mut properties, COMMON, request);
    add(&mut properties, kind.schema.attributes, request);
    for extension in kind.extensions {
        let mut inner = Map::new();
        add(&mut inner, extension.attributes, request);
        let schema = json!({ "type": "object", "description": extension.description, "properties": inner });
        properties.insert(extension.id.into(), schema);
    }
    // A response may omit other attributes if the client selected some.
    let required: Vec<_> = if request {
        kind.schema
            .attributes
            .iter()
            .filter(|one| one.required && !one.has_default)
            .map(|one| one.name)
            .collect()
    } else {
        vec!["schemas", "id"]
    };
    json!({ "type": "object", "required": required, "properties": properties })
}

fn add(properties: &mut Map<String, Value>, attributes: &[Attribute], request: bool) {
    for attribute in attributes {
        let hidden = if request {
            attribute.mutability == Mutability::ReadOnly
        } else {
            attribute.returned == Returned::Never
        };
        if hidden {
            continue;
        }
        let one = match attribute.kind {
            Type::String | Type::Reference => json!({ "type": "string", "maxLength": attribute.max_length }),
            Type::Boolean => json!({ "type": "boolean" }),
            Type::DateTime => json!({ "type": "string", "format": "date-time" }),
            Type::Complex => {
                let mut inner = Map::new();
                add(&mut inner, attribute.sub_attributes, request);
                json!({ "type": "object", "properties": inner })
            }
        };
        let mut schema = if attribute.multi_valued { json!({ "type": "array", "items": one }) } else { one };
        if let Some(members) = schema.as_object_mut() {
            members.insert("description".into(), attribute.description.into());
        }
        properties.insert(attribute.name.into(), schema);
    }
}
