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
