//! Syslog messages (RFC 5424) in frames of TLS (RFC 5425 §4.3).

use super::{Batch, Record};

/// The facility "log audit" (RFC 5424 §6.2.1).
const FACILITY: u8 = 13;
const WARNING: u8 = 4;
const INFORMATIONAL: u8 = 6;

/// Returns the events as messages, each after its length in bytes.
pub(crate) fn syslog(batch: &Batch, host: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for record in &batch.records {
        let message = message(record, host);
        out.extend_from_slice(format!("{} ", message.len()).as_bytes());
        out.extend_from_slice(message.as_bytes());
    }
    out
}

/// Returns the message of an event. It has no byte order mark (`MSG-ANY`), which readers of JSON reject.
fn message(record: &Record, host: &str) -> String {
    let severity = if record.is_failure { WARNING } else { INFORMATIONAL };
    let priority = FACILITY * 8 + severity;
    // MSGID has at most 32 characters, fewer than some event types.
    let kind = if record.sequence.is_some() { "audit" } else { "checkpoint" };
    format!("<{priority}>1 {} {host} gatehouse - {kind} - {}", record.time, record.json)
}

#[cfg(test)]
mod tests {
    use super::{super::batch::tests::batch, *};

    #[test]
    fn messages_are_framed_by_their_length_in_bytes() {
        let bytes = syslog(&batch(4..6, 6), "gatehouse.example.com");
        let (mut rest, mut messages) = (bytes.as_slice(), Vec::new());
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ').unwrap();
            let length: usize = std::str::from_utf8(&rest[..space]).unwrap().parse().unwrap();
            messages.push(std::str::from_utf8(&rest[space + 1..][..length]).unwrap().to_owned());
            rest = &rest[space + 1 + length..];
        }
        assert_eq!(messages.len(), 3);
        let head = "<110>1 2026-01-31T09:30:00.123Z gatehouse.example.com gatehouse - audit - {";
        assert!(messages[0].starts_with(head), "{}", messages[0]);
        assert!(messages[1].starts_with("<108>1 "), "a failed sign-in is a warning");
        assert!(messages[2].contains(" - checkpoint - {"));
        assert!(messages[0].contains("Größe"));
    }
}
