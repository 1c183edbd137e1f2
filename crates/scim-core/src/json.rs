//! JSON written as text, where building it first would cost more than the rest of the answer.

use std::fmt::Write as _;

use kernel::Timestamp;
use serde_json::Value;

/// A JSON string.
pub(crate) fn write_text(text: &str, out: &mut String) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

/// Opens a resource with what every one begins with (RFC 7643 §3.1). Schemas and ids have nothing to escape.
pub(crate) fn write_head(schemas: &[&str], id: &str, external_id: Option<&str>, out: &mut String) {
    out.push_str("{\"schemas\":[");
    for (number, schema) in schemas.iter().enumerate() {
        out.push_str(if number > 0 { ",\"" } else { "\"" });
        out.push_str(schema);
        out.push('"');
    }
    out.push_str("],\"id\":\"");
    out.push_str(id);
    out.push('"');
    if let Some(external_id) = external_id {
        out.push_str(",\"externalId\":");
        write_text(external_id, out);
    }
}

/// The member `meta` (RFC 7643 §3.1) with a comma before it.
pub(crate) fn write_meta(
    kind: &str,
    created: Timestamp,
    modified: Timestamp,
    location: &str,
    out: &mut String,
) {
    // Kinds and times have nothing to escape.
    let _infallible = write!(
        out,
        ",\"meta\":{{\"resourceType\":\"{kind}\",\"created\":\"{created}\",\"lastModified\":\"{modified}\",\"location\":"
    );
    write_text(location, out);
    out.push('}');
}
