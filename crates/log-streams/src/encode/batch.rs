//! Batches of records.

use audit::{
    ListedEntry,
    ocsf::{CHECKPOINT, CheckpointEvent, OcsfEvent, SentRange, Source},
};
use kernel::Timestamp;

use crate::{LogPage, LogStream};

/// An OCSF event as a line of JSON, with the members that protocols name outside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// `metadata.uid`
    pub id: String,
    /// `metadata.event_code`
    pub code: String,
    /// Position in the log; none of the checkpoint at the end of a batch.
    pub sequence: Option<u64>,
    /// When it happened.
    pub time: Timestamp,
    /// Whether the event reports a failure or a refusal.
    pub is_failure: bool,
    /// The event, without line breaks.
    pub json: String,
}

/// What a stream sends of a range of the log, at once. The last record is the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The first position of the range.
    pub from: u64,
    /// The position after the range.
    pub next: u64,
    /// The records, in the order of the log.
    pub records: Vec<Record>,
}

impl Batch {
    /// Returns the number of audit entries.
    pub fn entries(&self) -> usize {
        self.records.len().saturating_sub(1)
    }
}

/// The most that a batch contains.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchLimits {
    /// Audit entries.
    pub(crate) entries: usize,
    /// Bytes of JSON. A batch has at least one entry.
    pub(crate) bytes: usize,
}

/// Returns the batches of the part of a page that begins at `position`. `from` is the end of the range of the previous batch; what is
/// in between was left out. No batch if the stream wants none of the entries.
pub(crate) fn batches(
    stream: &LogStream,
    page: &LogPage,
    (from, position): (u64, u64),
    (source, now): (&Source, Timestamp),
    limits: BatchLimits,
) -> Result<Vec<Batch>, serde_json::Error> {
    let mut done: Vec<Batch> = Vec::new();
    let mut records: Vec<Record> = Vec::new();
    let (mut bytes, mut range_from) = (0, from);
    for (sequence, listed) in &page.entries {
        if *sequence < position || !stream.wants(&listed.entry.action) {
            continue;
        }
        let (json, is_failure) = event_of(listed, *sequence, source)?;
        if !records.is_empty() && (records.len() >= limits.entries || bytes + json.len() > limits.bytes) {
            done.push(Batch { from: range_from, next: *sequence, records: std::mem::take(&mut records) });
            (bytes, range_from) = (0, *sequence);
        }
        bytes += json.len();
        records.push(Record {
            id: listed.entry.id.clone(),
            code: listed.entry.action.clone(),
            sequence: Some(*sequence),
            time: listed.entry.timestamp,
            is_failure,
            json,
        });
    }
    if !records.is_empty() {
        done.push(Batch { from: range_from, next: page.next, records });
    }
    for batch in &mut done {
        let is_filtered = stream.is_filtered() || batch.from < position;
        let checkpoint = checkpoint(stream, page, batch, is_filtered, (source, now))?;
        batch.records.push(checkpoint);
    }
    Ok(done)
}

/// Returns a batch of no entries at this position, to test a receiver.
pub fn empty_batch(
    stream: &LogStream,
    position: u64,
    made: (&Source, Timestamp),
) -> Result<Batch, serde_json::Error> {
    let mut batch = Batch { from: position, next: position, records: Vec::new() };
    let checkpoint = checkpoint(stream, &LogPage::default(), &batch, stream.is_filtered(), made)?;
    batch.records.push(checkpoint);
    Ok(batch)
}

/// Returns the event of an entry, and whether it reports a failure. A payload that was altered in the database and is not
/// JSON any more must not stop the stream.
fn event_of(
    listed: &ListedEntry,
    sequence: u64,
    source: &Source,
) -> Result<(String, bool), serde_json::Error> {
    let write = |event: &OcsfEvent<'_>| Ok((serde_json::to_string(event)?, event.is_failure()));
    OcsfEvent::of(listed, Some(sequence), source, write).or_else(|_| {
        let mut listed = listed.clone();
        listed.entry.metadata = serde_json::json!({ "unreadable": listed.entry.metadata }).to_string();
        OcsfEvent::of(&listed, Some(sequence), source, write)
    })
}

/// Returns the record that ends a batch.
fn checkpoint(
    stream: &LogStream,
    page: &LogPage,
    batch: &Batch,
    is_filtered: bool,
    (source, now): (&Source, Timestamp),
) -> Result<Record, serde_json::Error> {
    let range = SentRange {
        stream: stream.id.as_str(),
        from: batch.from,
        next: batch.next,
        entries: batch.records.len(),
        filtered: is_filtered,
        removed_before: page.removed_before,
        checkpoint: page.checkpoint.as_deref(),
    };
    let id = format!("{}:{}-{}", stream.id, batch.from, batch.next);
    let json = serde_json::to_string(&CheckpointEvent::new(&range, &id, source, now))?;
    Ok(Record { id, code: CHECKPOINT.to_owned(), sequence: None, time: now, is_failure: false, json })
}

#[cfg(test)]
pub(crate) mod tests {
    use audit::{ListedEntry, StoredEntry};
    use kernel::ManualEnv;
    use serde_json::{Value, json};
    use webhooks::EventFilter;

    use super::*;
    use crate::{Destination, DestinationType, LogStreamId};

    pub(crate) fn source() -> Source {
        Source { product: "Gatehouse", version: "1.0.0", tenant: "ten_1".into() }
    }

    pub(crate) fn now() -> Timestamp {
        "2026-01-31T09:30:00.123Z".parse().unwrap()
    }

    /// Returns a stream of these events.
    pub(crate) fn stream(filter: &str) -> LogStream {
        LogStream {
            id: LogStreamId::new(&ManualEnv::at(now())),
            name: "SIEM".into(),
            destination: Destination::https("https://siem.example.com/"),
            sealed: None,
            event_filters: vec![filter.parse::<EventFilter>().unwrap()],
            enabled: true,
            created_at: now(),
            updated_at: now(),
        }
    }

    impl Destination {
        /// Returns a destination without settings.
        pub(crate) fn https(url: &str) -> Self {
            let text = json!({ "type": DestinationType::Https, "url": url });
            serde_json::from_value(text).unwrap()
        }
    }

    /// Returns a page with the entries at these positions. Odd ones are failed sign-ins.
    pub(crate) fn page(sequences: impl IntoIterator<Item = u64>, next: u64) -> LogPage {
        let entry = |sequence: u64| StoredEntry {
            id: format!("aud_{sequence}"),
            timestamp: now(),
            actor_type: "USER".into(),
            actor_id: "usr_1".into(),
            action: if sequence % 2 == 1 { "ACCOUNT_SIGN_IN_FAILED" } else { "ACCOUNT_GROUP_CREATED" }.into(),
            resource_type: "group".into(),
            resource_id: "grp_1".into(),
            ip: Some("192.0.2.7".into()),
            metadata: json!({ "members": 3, "name": "Größe" }).to_string(),
            leaf: [7; 32],
            salt: None,
            ip_commitment: None,
            mac: None,
        };
        let listed =
            |sequence| (sequence, ListedEntry { entry: entry(sequence), actor_name: Some("Ada".into()) });
        LogPage {
            entries: sequences.into_iter().map(listed).collect(),
            next,
            size: next,
            checkpoint: Some("gatehouse/ten_1\n30\nroot\n".into()),
            removed_before: None,
        }
    }

    /// Returns one batch of entries.
    pub(crate) fn batch(sequences: impl IntoIterator<Item = u64>, next: u64) -> Batch {
        let limits = BatchLimits { entries: 1_000, bytes: 1_000_000 };
        let page = page(sequences, next);
        let from = page.entries.first().map_or(next, |(sequence, _)| *sequence);
        let mut found = batches(&stream("*"), &page, (from, from), (&source(), now()), limits).unwrap();
        found.pop().unwrap()
    }

    fn ranges(filter: &str, sequences: std::ops::Range<u64>, limits: BatchLimits) -> Vec<(u64, u64, usize)> {
        let page = page(sequences.clone(), sequences.end);
        let found =
            batches(&stream(filter), &page, (sequences.start, sequences.start), (&source(), now()), limits)
                .unwrap();
        found.iter().map(|batch| (batch.from, batch.next, batch.entries())).collect()
    }

    #[test]
    fn ranges_of_batches_follow_each_other() {
        let limits = |entries, bytes| BatchLimits { entries, bytes };
        assert_eq!(ranges("*", 10..17, limits(3, 1_000_000)), [(10, 13, 3), (13, 16, 3), (16, 17, 1)]);
        assert_eq!(ranges("*", 0..2, limits(3, 10)), [(0, 1, 1), (1, 2, 1)], "each is larger than the limit");
        let failures = ranges("ACCOUNT_SIGN_IN_*", 10..20, limits(3, 1_000_000));
        assert_eq!(failures, [(10, 17, 3), (17, 20, 2)], "ranges include what the filter leaves out");
        assert_eq!(ranges("ACCOUNT_USER_*", 10..20, limits(3, 1_000_000)), []);
    }

    #[test]
    fn range_after_entries_that_were_left_out_is_filtered() {
        let limits = BatchLimits { entries: 1, bytes: 10_000 };
        let page = page(8..10, 10);
        let found = batches(&stream("*"), &page, (5, 8), (&source(), now()), limits).unwrap();
        let filtered = |batch: &Batch| {
            let last: Value = serde_json::from_str(&batch.records.last().unwrap().json).unwrap();
            (last["unmapped"]["from"].clone(), last["unmapped"]["filtered"].clone())
        };
        let found: Vec<_> = found.iter().map(filtered).collect();
        assert_eq!(found, [(json!(5), json!(true)), (json!(9), json!(false))]);
    }

    #[test]
    fn unreadable_payload_does_not_stop_a_stream() {
        let mut page = page(0..1, 1);
        page.entries[0].1.entry.metadata = "{\"members\":".into();
        let limits = BatchLimits { entries: 10, bytes: 10_000 };
        let found = batches(&stream("*"), &page, (0, 0), (&source(), now()), limits).unwrap();
        let event: Value = serde_json::from_str(&found[0].records[0].json).unwrap();
        assert_eq!(event["unmapped"], json!({ "unreadable": "{\"members\":" }));
    }

    #[test]
    fn last_record_names_the_range() {
        let batch = batch(4..6, 9);
        let last: Value = serde_json::from_str(&batch.records.last().unwrap().json).unwrap();
        let range = &last["unmapped"];
        assert_eq!((&range["from"], &range["next"], &range["entries"]), (&json!(4), &json!(9), &json!(2)));
        assert_eq!(
            (&range["filtered"], &range["checkpoint"]),
            (&json!(false), &json!("gatehouse/ten_1\n30\nroot\n"))
        );
        assert_eq!(last["metadata"]["event_code"], CHECKPOINT);
        let first: Value = serde_json::from_str(&batch.records[0].json).unwrap();
        assert_eq!((&first["metadata"]["sequence"], &first["metadata"]["uid"]), (&json!(4), &json!("aud_4")));
        assert_eq!(first["raw_data_hash"]["value"], "07".repeat(32));
    }
}
