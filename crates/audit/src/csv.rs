//! Formats entries as CSV (RFC 4180) that is safe to open in spreadsheets.

use std::borrow::Cow;

use csv::{Terminator, WriterBuilder};

use crate::ListedEntry;

/// The header line.
pub const HEADER: &str =
    "id,timestamp,actorId,actorType,actorName,action,resourceType,resourceId,ip,metadata\r\n";

/// Characters that start a formula in a spreadsheet, possibly after spaces.
const BEGINS_FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

/// Appends the line of an entry.
pub fn line(out: &mut Vec<u8>, listed: &ListedEntry) {
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
    record(out, &cells);
}

/// Appends a line with these values.
fn record(out: &mut Vec<u8>, cells: &[&str]) {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).buffer_capacity(512).from_writer(out);
    // Writing to a vector cannot fail.
    for cell in cells {
        let _written = writer.write_field(harmless(cell).as_bytes());
    }
    let _ended = writer.write_record(None::<&[u8]>);
}

/// Prefixes a value with an apostrophe if a spreadsheet would take it for a formula.
fn harmless(value: &str) -> Cow<'_, str> {
    if value.trim_start_matches(' ').starts_with(BEGINS_FORMULA) {
        Cow::Owned(format!("'{value}"))
    } else {
        Cow::Borrowed(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str) -> String {
        let mut out = Vec::new();
        record(&mut out, &["", value]);
        String::from_utf8(out).unwrap().strip_prefix(',').unwrap().strip_suffix("\r\n").unwrap().to_owned()
    }

    #[test]
    fn cells_are_quoted_and_formulas_are_escaped() {
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
