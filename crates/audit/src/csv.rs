//! Entries as CSV (RFC 4180), harmless to spreadsheets.

use crate::Listed;

/// The first line.
pub const HEADER: &str =
    "id,timestamp,actorId,actorType,actorName,action,resourceType,resourceId,ip,metadata\r\n";

/// What a spreadsheet takes for the beginning of a formula, if only spaces stand before it.
const BEGINS_FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Adds the line of an entry.
pub fn line(out: &mut Vec<u8>, listed: &Listed) {
    let entry = &listed.entry;
    let timestamp = entry.timestamp.to_string();
    let cells = [
        &*entry.id,
        &timestamp,
        &entry.actor_id,
        &entry.actor_type,
        listed.actor_name.as_deref().unwrap_or_default(),
        &entry.action,
        &entry.resource_type,
        &entry.resource_id,
        entry.ip.as_deref().unwrap_or_default(),
        &entry.metadata,
    ];
    for (place, value) in cells.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        cell(out, value);
    }
    out.extend_from_slice(b"\r\n");
}

/// Adds one value: quoted where it has to be, and with an apostrophe before what would be a formula.
fn cell(out: &mut Vec<u8>, value: &str) {
    let formula = value.trim_start_matches(' ').starts_with(BEGINS_FORMULA);
    let quoted = value.bytes().any(|byte| matches!(byte, b'"' | b',' | b'\r' | b'\n'));
    if quoted {
        out.push(b'"');
    }
    if formula {
        out.push(b'\'');
    }
    if quoted {
        for part in value.split_inclusive('"') {
            out.extend_from_slice(part.as_bytes());
            if part.ends_with('"') {
                out.push(b'"');
            }
        }
        out.push(b'"');
    } else {
        out.extend_from_slice(value.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> String {
        let mut out = Vec::new();
        cell(&mut out, value);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn cells_are_quoted_where_they_have_to_be_and_are_no_formulas() {
        for (value, cell) in [
            ("", ""),
            ("plain", "plain"),
            ("a,b", "\"a,b\""),
            (r#"{"a":"b"}"#, r#""{""a"":""b""}""#),
            ("two\r\nlines", "\"two\r\nlines\""),
            ("=1+1", "'=1+1"),
            ("  +1", "'  +1"),
            ("-1", "'-1"),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\t=1", "'\t=1"),
            ("\r=1", "\"'\r=1\""),
            ("\n=1", "\"'\n=1\""),
            ("＝1", "'＝1"),
            ("＋1", "'＋1"),
            ("－1", "'－1"),
            ("＠A1", "'＠A1"),
            ("=\"x\"", "\"'=\"\"x\"\"\""),
            ("a=1", "a=1"),
        ] {
            assert_eq!(written(value), cell, "{value:?}");
        }
        assert_eq!(HEADER.matches(',').count(), 9);
    }
}
