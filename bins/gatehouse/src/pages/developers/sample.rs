//! Example values for a JSON schema.

use serde_json::{Map, Value, json};

/// Depth below which members are left out, because schemas may contain themselves.
const MAX_DEPTH: usize = 6;

/// Returns a value with all members of the schema; `None` for a schema that says nothing.
pub(super) fn of(document: &Value, schema: &Value) -> Option<Value> {
    sample(document, schema, MAX_DEPTH)
}

fn sample(document: &Value, schema: &Value, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    let member = |name: &str| schema.get(name);
    if let Some(reference) = member("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| document.pointer(pointer))?;
        return sample(document, target, depth);
    }
    let first = |name: &str| member(name).and_then(Value::as_array).and_then(|list| list.first()).cloned();
    let given = member("example").cloned().or_else(|| first("examples")).or_else(|| member("const").cloned());
    if let Some(value) = given.or_else(|| first("enum")).or_else(|| member("default").cloned()) {
        return Some(value);
    }
    if let Some(parts) = member("allOf").and_then(Value::as_array) {
        let mut whole = Map::new();
        for part in parts {
            match sample(document, part, depth) {
                Some(Value::Object(members)) => whole.extend(members),
                Some(other) => return Some(other),
                None => {}
            }
        }
        return Some(Value::Object(whole));
    }
    for name in ["oneOf", "anyOf"] {
        if let Some(choices) = member(name).and_then(Value::as_array) {
            let is_value = |choice: &&Value| choice.get("type").and_then(Value::as_str) != Some("null");
            return sample(document, choices.iter().find(is_value)?, depth);
        }
    }
    match kind(schema)? {
        "object" => Some(object(document, schema, depth)),
        "array" => Some(Value::Array(
            member("items").and_then(|items| sample(document, items, depth)).into_iter().collect(),
        )),
        "string" => Some(json!(string(schema))),
        "integer" | "number" => Some(member("minimum").cloned().unwrap_or(json!(1))),
        "boolean" => Some(json!(true)),
        _ => None,
    }
}

/// Returns the type of the schema, without `null`.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        Some(kind) => kind.as_str(),
        None => schema.get("properties").map(|_| "object"),
    }
}

fn object(document: &Value, schema: &Value, depth: usize) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let members = properties
        .into_iter()
        .flatten()
        .filter_map(|(name, schema)| sample(document, schema, depth).map(|value| (name.clone(), value)));
    Value::Object(members.collect())
}

fn string(schema: &Value) -> &'static str {
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2026-01-01T00:00:00.000Z",
        Some("date") => "2026-01-01",
        Some("uri") => "https://example.com/",
        _ => "…",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_follow_the_schema() {
        let document = json!({ "parts": { "tree": { "type": "object", "properties": {
            "name": { "type": "string", "examples": ["oak"] },
            "height": { "type": ["integer", "null"], "minimum": 3 },
            "kind": { "oneOf": [{ "type": "null" }, { "enum": ["A", "B"] }] },
            "children": { "type": "array", "items": { "$ref": "#/parts/tree" } },
        } } } });
        let tree = of(&document, &json!({ "$ref": "#/parts/tree" })).unwrap();
        assert_eq!((&tree["name"], &tree["height"], &tree["kind"]), (&json!("oak"), &json!(3), &json!("A")));
        assert_eq!(tree["children"][0]["name"], "oak", "a schema that contains itself ends");
        assert_eq!(of(&document, &json!({})), None);
    }
}
