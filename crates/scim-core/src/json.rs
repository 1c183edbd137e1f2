//! Writes JSON directly as text where building a `Value` first would dominate the cost of the response.

use std::fmt::Write as _;

use kernel::Timestamp;
use serde_json::{Map, Value};

/// Removes a member and returns its value. Keeps the order of the others even if the host enables `preserve_order` of
/// serde_json, with which `Map::remove` moves the last member.
pub(crate) fn remove(map: &mut Map<String, Value>, name: &str) -> Option<Value> {
    let value = map.get_mut(name)?.take();
    map.retain(|key, _| key != name);
    Some(value)
}

/// Writes a JSON string.
pub(crate) fn write_text(text: &str, out: &mut String) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

/// Writes the start of a resource with its common attributes (RFC 7643 §3.1). Schemas need no escaping.
pub(crate) fn write_head(schemas: &[&str], id: &str, external_id: Option<&str>, out: &mut String) {
    out.push_str("{\"schemas\":[");
    for (number, schema) in schemas.iter().enumerate() {
        out.push_str(if number > 0 { ",\"" } else { "\"" });
        out.push_str(schema);
        out.push('"');
    }
    out.push_str("],\"id\":");
    write_text(id, out);
    if let Some(external_id) = external_id {
        out.push_str(",\"externalId\":");
        write_text(external_id, out);
    }
}

/// Writes the member `meta` (RFC 7643 §3.1), preceded by a comma.
pub(crate) fn write_meta(
    kind: &str,
    created: Timestamp,
    modified: Timestamp,
    location: &str,
    out: &mut String,
) {
    // Kinds and timestamps need no escaping.
    let _infallible = write!(
        out,
        ",\"meta\":{{\"resourceType\":\"{kind}\",\"created\":\"{created}\",\"lastModified\":\"{modified}\",\"location\":"
    );
    write_text(location, out);
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_written_as_serde_json_does() {
        for text in ["", "Ada", "\"", "a\"b", "\\", "a\\b", "\n", "\u{1f}", "\u{7f}", "é"] {
            let mut written = String::new();
            write_text(text, &mut written);
            assert_eq!(written, Value::from(text).to_string());
        }
    }
}
