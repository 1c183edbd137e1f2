//! Verifies what a receiver of a log stream has kept, using only the public key.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufRead},
};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    checkpoint::{Checkpoint, CheckpointKey},
    finding::Finding,
    merkle::{Frontier, Hash},
};
use crate::ocsf::CHECKPOINT;

/// Maximum number of findings, and of repeated positions, in a result. All are counted.
const MOST: usize = 1000;

/// The result of verifying the events of a log stream.
///
/// It proves that no entry is missing and none was added, by the entries' hashes. It cannot prove the words of an event: the
/// hash covers the entry, of which the event is a translation. To check the words, compare events with the entries of an
/// export ([`verify_export`](crate::log::verify_export)) that has the same hashes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedStream {
    /// The tenant of the log.
    pub tenant: String,
    /// Number of different entries.
    pub entries: u64,
    /// The first and last position.
    pub sequences: Option<(u64, u64)>,
    /// Number of entries that were received again.
    pub duplicates: u64,
    /// Positions of the first 1,000 of them.
    pub repeated: Vec<u64>,
    /// Number of positions in between that the stream leaves out, or whose entries were removed after their retention.
    pub left_out: u64,
    /// Nothing of the first entries up to this number is missing or changed, as a signed checkpoint proves.
    pub proved: u64,
    /// Number of entries of the log in its newest checkpoint.
    pub size: u64,
    /// Number of findings.
    pub count: usize,
    /// The first 1,000 findings.
    pub findings: Vec<Finding>,
}

/// A line: an OCSF event, or one of Splunk's HTTP Event Collector with such an event in it.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line<E> {
    Wrapped { event: E },
    Plain(E),
}

#[derive(Deserialize)]
struct Event {
    metadata: Metadata,
    raw_data_hash: Option<Fingerprint>,
}

/// A checkpoint at the end of a batch.
#[derive(Deserialize)]
struct CheckpointLine {
    unmapped: Range,
}

#[derive(Deserialize)]
struct Metadata {
    uid: String,
    event_code: String,
    tenant_uid: String,
    sequence: Option<u64>,
}

#[derive(Deserialize)]
struct Fingerprint {
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Range {
    from: u64,
    next: u64,
    /// Number of events that the stream sent of the range.
    entries: u64,
    checkpoint: Option<String>,
}

/// The state of a verification.
#[derive(Default)]
struct Received {
    result: VerifiedStream,
    leaves: BTreeMap<u64, Hash>,
    checkpoints: BTreeMap<u64, Hash>,
    /// Sizes of checkpoints without a valid signature.
    unsigned: BTreeSet<u64>,
    /// Where each range that the stream has named ends, and its number of entries. The largest of those with one beginning.
    ranges: BTreeMap<(u64, u64), u64>,
}

/// Returns the tenant that the first event names. Nothing is verified, so it only serves to select the keys.
pub fn streamed_tenant(events: impl BufRead) -> io::Result<Option<String>> {
    let first = events.lines().next().transpose()?;
    Ok(first.and_then(|line| parse::<Event>(&line)).map(|event| event.metadata.tenant_uid))
}

/// Verifies the events of one log stream, in any order: that the ranges of its batches follow each other, that no entry of
/// them is missing, and that the hashes of all entries result in the root hashes of the signed checkpoints. An unreadable line
/// is a finding.
pub fn verify_stream(events: impl BufRead, keys: &[CheckpointKey]) -> io::Result<VerifiedStream> {
    let mut received = Received::default();
    for (number, line) in events.lines().enumerate() {
        let line = line?;
        let read = parse(&line).and_then(|event| received.add(event, &line, keys));
        if read.is_none() {
            received.found(Finding::UnreadableLine { line: number as u64 + 1 });
        }
    }
    Ok(received.finish())
}

fn parse<E: DeserializeOwned>(line: &str) -> Option<E> {
    match serde_json::from_str(line).ok()? {
        Line::Wrapped { event } | Line::Plain(event) => Some(event),
    }
}

impl Received {
    fn found(&mut self, finding: Finding) {
        self.result.count += 1;
        if self.result.findings.len() < MOST {
            self.result.findings.push(finding);
        }
    }

    /// Adds a finding that repeated ranges may have in common.
    fn found_once(&mut self, finding: Finding) {
        if !self.result.findings.contains(&finding) {
            self.found(finding);
        }
    }

    /// Adds an event; `None` if it is malformed.
    fn add(&mut self, event: Event, line: &str, keys: &[CheckpointKey]) -> Option<()> {
        if self.result.tenant.is_empty() {
            self.result.tenant.clone_from(&event.metadata.tenant_uid);
        }
        if self.result.tenant != event.metadata.tenant_uid {
            return None;
        }
        if event.metadata.event_code == CHECKPOINT {
            let CheckpointLine { unmapped: range } = parse(line)?;
            if range.next < range.from || range.entries > range.next - range.from {
                return None;
            }
            // A test of the receiver has an empty range.
            if range.from < range.next {
                let entries = self.ranges.entry((range.from, range.next)).or_default();
                *entries = range.entries.max(*entries);
            }
            range.checkpoint.map_or(Some(()), |note| self.add_checkpoint(&note, keys))
        } else {
            self.add_entry(event)
        }
    }

    fn add_checkpoint(&mut self, note: &str, keys: &[CheckpointKey]) -> Option<()> {
        let read = Checkpoint::read(note).ok()?;
        if Checkpoint::verified(note, keys).is_err() || read.tenant() != Some(&*self.result.tenant) {
            if self.unsigned.insert(read.size) {
                self.found(Finding::Unsigned { size: read.size });
            }
        } else if self.checkpoints.insert(read.size, read.root).is_some_and(|root| root != read.root) {
            self.found(Finding::Forked { size: read.size });
        }
        Some(())
    }

    fn add_entry(&mut self, event: Event) -> Option<()> {
        let sequence = event.metadata.sequence?;
        let hash: Hash = HEXLOWER.decode(event.raw_data_hash?.value.as_bytes()).ok()?.try_into().ok()?;
        match self.leaves.insert(sequence, hash) {
            None => {}
            Some(known) if known == hash => {
                self.result.duplicates += 1;
                if self.result.repeated.len() < MOST {
                    self.result.repeated.push(sequence);
                }
            }
            Some(_) => self.found(Finding::Changed { sequence, id: event.metadata.uid }),
        }
        Some(())
    }

    fn finish(mut self) -> VerifiedStream {
        self.result.entries = self.leaves.len() as u64;
        let (first, last) = (self.leaves.first_key_value(), self.leaves.last_key_value());
        self.result.sequences = first.zip(last).map(|(first, last)| (*first.0, *last.0));
        let spanned = self.result.sequences.map_or(0, |(first, last)| last - first + 1);
        self.result.left_out = spanned - self.result.entries;
        self.result.size = self.checkpoints.last_key_value().map_or(0, |(size, _)| *size);
        self.check_ranges();
        self.compare_roots();
        self.result
    }

    /// Finds ranges of which entries are missing, and gaps between ranges.
    fn check_ranges(&mut self) {
        let mut end = None;
        for ((from, next), entries) in std::mem::take(&mut self.ranges) {
            let covered = end.unwrap_or(from);
            if from > covered {
                self.found(Finding::Missing { from: covered, to: from });
            }
            end = Some(covered.max(next));
            let kept = self.leaves.range(from..next).count() as u64;
            if kept < entries && entries == next - from {
                self.find_missing(from, next);
            } else if kept < entries {
                // Which ones is not known: the stream leaves some out.
                self.found(Finding::Missing { from, to: next });
            }
        }
    }

    /// Finds the positions of a range that are missing.
    fn find_missing(&mut self, from: u64, to: u64) {
        let kept: Vec<u64> = self.leaves.range(from..to).map(|(sequence, _)| *sequence).chain([to]).collect();
        let mut next = from;
        for sequence in kept {
            if sequence > next {
                self.found_once(Finding::Missing { from: next, to: sequence });
            }
            next = sequence + 1;
        }
    }

    /// Compares the root hashes of the first entries, as far as they are without a gap, with those of the checkpoints.
    fn compare_roots(&mut self) {
        let mut frontier = Frontier::default();
        let mut forked = Vec::new();
        for (sequence, leaf) in &self.leaves {
            if *sequence != frontier.size() {
                break;
            }
            frontier.push(*leaf, |_, _| {});
            match self.checkpoints.get(&frontier.size()) {
                Some(root) if *root == frontier.root() => self.result.proved = frontier.size(),
                Some(_) => forked.push(frontier.size()),
                None => {}
            }
        }
        for size in forked {
            self.found(Finding::Forked { size });
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::{MasterKeys, Secret};
    use serde_json::{Value, json};

    use super::*;
    use crate::log::CheckpointKeys;

    const TENANT: &str = "ten_1";

    fn keys() -> CheckpointKeys {
        CheckpointKeys::derive(&MasterKeys::new(vec![("a".to_owned(), Secret::new(vec![7; 32]))]).unwrap())
    }

    fn entry(sequence: u64, byte: u8) -> Value {
        let metadata = json!({ "uid": format!("aud_{sequence}"), "event_code": "A", "tenant_uid": TENANT, "sequence": sequence });
        json!({ "metadata": metadata, "raw_data_hash": { "value": HEXLOWER.encode(&[byte; 32]) }, "unmapped": { "filtered": 3 } })
    }

    /// Returns the end of a batch with this range and number of entries, and the checkpoint of entries with these bytes.
    fn end((from, next, entries): (u64, u64, u64), bytes: &[u8]) -> Value {
        let mut frontier = Frontier::default();
        for byte in bytes {
            frontier.push([*byte; 32], |_, _| {});
        }
        let note = keys().sign(&Checkpoint::new(TENANT, frontier.size(), frontier.root())).unwrap();
        let range = json!({ "from": from, "next": next, "entries": entries, "checkpoint": note });
        json!({ "metadata": { "uid": "lst_1:0", "event_code": CHECKPOINT, "tenant_uid": TENANT }, "unmapped": range })
    }

    fn verified(lines: &[Value]) -> VerifiedStream {
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        assert_eq!(streamed_tenant(text.as_bytes()).unwrap().as_deref(), Some(TENANT));
        verify_stream(text.as_bytes(), &keys().of(TENANT)).unwrap()
    }

    #[test]
    fn entries_in_any_order_result_in_the_signed_root() {
        let wrapped = json!({ "time": 1, "event": entry(1, 2) });
        let found = verified(&[wrapped, entry(0, 1), end((0, 2, 2), &[1, 2]), entry(2, 3), entry(1, 2)]);
        assert_eq!((found.entries, found.sequences, found.proved, found.size), (3, Some((0, 2)), 2, 2));
        assert_eq!((found.duplicates, found.repeated, found.findings), (1, vec![1], vec![]));
        assert_eq!(found.left_out, 0);
    }

    #[test]
    fn missing_and_changed_entries_are_found() {
        let missing =
            verified(&[entry(0, 1), entry(2, 3), end((0, 3, 3), &[1, 2, 3]), end((0, 3, 3), &[1, 2, 3])]);
        assert_eq!((missing.findings, missing.proved), (vec![Finding::Missing { from: 1, to: 2 }], 0));
        let last = verified(&[entry(0, 1), end((0, 3, 3), &[1, 2, 3])]);
        assert_eq!(last.findings, [Finding::Missing { from: 1, to: 3 }]);
        let later = verified(&[entry(2, 3), entry(4, 5), end((2, 5, 3), &[1])]);
        assert_eq!(later.findings, [Finding::Missing { from: 3, to: 4 }]);
        let first = verified(&[entry(1, 1), end((0, 2, 2), &[1, 2])]);
        assert_eq!(first.findings, [Finding::Missing { from: 0, to: 1 }]);
        let batch = verified(&[entry(0, 1), end((0, 1, 1), &[1]), entry(2, 3), end((2, 3, 1), &[1, 2, 3])]);
        assert_eq!(batch.findings, [Finding::Missing { from: 1, to: 2 }]);
        let changed = verified(&[entry(0, 1), entry(1, 9), end((0, 2, 2), &[1, 2])]);
        assert_eq!(changed.findings, [Finding::Forked { size: 2 }]);
        let twice = verified(&[entry(0, 1), entry(0, 2)]);
        assert_eq!(twice.findings, [Finding::Changed { sequence: 0, id: "aud_0".into() }]);
        let mut unsigned = end((0, 1, 1), &[1]);
        unsigned["unmapped"]["checkpoint"] =
            json!("gatehouse/ten_1\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
        assert_eq!(verified(&[entry(0, 1), unsigned]).count, 1);
        let others = MasterKeys::new(vec![("a".to_owned(), Secret::new(vec![8; 32]))]).unwrap();
        let note = CheckpointKeys::derive(&others).sign(&Checkpoint::new(TENANT, 1, [0; 32])).unwrap();
        let mut unsigned = end((0, 1, 1), &[1]);
        unsigned["unmapped"]["checkpoint"] = json!(note);
        let found = verified(&[entry(0, 1), unsigned]);
        assert_eq!((found.findings, found.proved), (vec![Finding::Unsigned { size: 1 }], 0));
        let unreadable = verified(&[entry(0, 1), json!({ "metadata": 1 }), end((5, 4, 0), &[1])]);
        assert_eq!(
            unreadable.findings,
            [Finding::UnreadableLine { line: 2 }, Finding::UnreadableLine { line: 3 }]
        );
    }

    #[test]
    fn test_of_a_receiver_has_an_empty_range() {
        let lines = [entry(0, 1), entry(1, 2), end((0, 2, 2), &[1, 2]), end((9, 9, 0), &[1, 2])];
        let found = verified(&lines);
        assert_eq!((found.findings, found.proved), (vec![], 2));
        let more = verified(&[entry(0, 1), end((2, 4, 3), &[1])]);
        assert_eq!(more.findings, [Finding::UnreadableLine { line: 2 }], "more entries than positions");
    }

    #[test]
    fn all_findings_and_repeated_entries_are_counted_and_the_first_thousand_listed() {
        let unreadable = std::iter::repeat_n(json!({}), 1_001);
        let repeated = std::iter::repeat_n(entry(0, 1), 1_002);
        let found = verified(&repeated.chain(unreadable).collect::<Vec<_>>());
        assert_eq!((found.count, found.findings.len()), (1_001, 1_000));
        assert_eq!((found.duplicates, found.repeated.len()), (1_001, 1_000));
    }

    #[test]
    fn what_a_stream_leaves_out_is_not_missing() {
        // A filter, or entries that were removed after their retention.
        let filtered = verified(&[entry(3, 1), entry(5, 3), end((0, 6, 2), &[1])]);
        assert_eq!((filtered.left_out, filtered.count, filtered.proved), (1, 0, 0));
        let lost = verified(&[entry(3, 1), end((0, 6, 2), &[1]), end((6, 9, 0), &[1])]);
        assert_eq!(lost.findings, [Finding::Missing { from: 0, to: 6 }]);
    }
}
