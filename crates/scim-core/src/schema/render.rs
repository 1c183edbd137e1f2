//! The table as `/Schemas` shows it (RFC 7643 §7) and as JSON Schema for an API description.

use serde_json::{Map, Value, json};

use super::{Attribute, Mutability, Returned, SCHEMAS, Schema, Type, USER, Uniqueness};

/// One resource of `/Schemas`; `base` is the address of the SCIM root without a final slash.
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
            Type::Complex => "complex",
        },
        "multiValued": attribute.multi_valued,
        "description": attribute.description,
        "required": attribute.required,
        "caseExact": attribute.case_exact,
        "mutability": match attribute.mutability {
            Mutability::ReadWrite => "readWrite",
            Mutability::ReadOnly => "readOnly",
            Mutability::WriteOnly => "writeOnly",
        },
        "returned": match attribute.returned {
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
            let refers = if attribute.name == "$ref" { "User" } else { "external" };
            members.insert("referenceTypes".into(), json!([refers]));
        }
        if attribute.kind == Type::Complex {
            let subs = attribute.sub_attributes.iter().map(describe).collect();
            members.insert("subAttributes".into(), Value::Array(subs));
        }
    }
    members
}

/// JSON Schema of a user: as answered, or as sent (`request`).
pub fn json_schema(request: bool) -> Value {
    let mut properties = Map::new();
    properties.insert("schemas".into(), json!({ "type": "array", "items": { "type": "string" } }));
    if !request {
        properties.insert("id".into(), json!({ "type": "string", "description": "The tenant user id." }));
    }
    let external = "The identity provider's own id; compared exactly.";
    properties.insert("externalId".into(), json!({ "type": "string", "description": external }));
    add(&mut properties, USER.attributes, request);
    for extension in SCHEMAS.into_iter().skip(1) {
        let mut inner = Map::new();
        add(&mut inner, extension.attributes, request);
        let schema = json!({ "type": "object", "description": extension.description, "properties": inner });
        properties.insert(extension.id.into(), schema);
    }
    if !request {
        let time = || json!({ "type": "string", "format": "date-time" });
        let meta = json!({
            "type": "object",
            "required": ["resourceType", "created", "lastModified", "location"],
            "properties": {
                "resourceType": { "type": "string", "const": "User" },
                "created": time(),
                "lastModified": time(),
                "location": { "type": "string", "format": "uri" },
            },
        });
        properties.insert("meta".into(), meta);
    }
    let required =
        if request { json!(["userName"]) } else { json!(["schemas", "id", "userName", "active", "meta"]) };
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
