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
    filtered: bool,
    removed_before: Option<u64>,
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
    is_filtered: bool,
    removed_before: u64,
}

/// Returns the tenant that the first event names. Nothing is verified, so it only serves to select the keys.
pub fn streamed_tenant(events: impl BufRead) -> io::Result<Option<String>> {
    let first = events.lines().next().transpose()?;
    Ok(first.and_then(|line| parse::<Event>(&line)).map(|event| event.metadata.tenant_uid))
}

/// Verifies the events of one log stream, in any order: that no position is missing, and that the hashes of all entries
/// result in the root hashes of the signed checkpoints. An unreadable line is a finding.
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
            self.is_filtered |= range.filtered;
            self.removed_before = self.removed_before.max(range.removed_before.unwrap_or_default());
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
        self.result.sequences = self
            .leaves
            .first_key_value()
            .zip(self.leaves.last_key_value())
            .map(|(first, last)| (*first.0, *last.0));
        self.find_gaps();
        if !self.is_filtered && self.result.left_out == 0 {
            self.compare_roots();
        }
        self.result
    }

    fn find_gaps(&mut self) {
        let mut next = self.leaves.first_key_value().map_or(0, |(first, _)| *first);
        let mut gaps = Vec::new();
        for sequence in self.leaves.keys() {
            if *sequence > next {
                gaps.push((next, *sequence));
            }
            next = sequence + 1;
        }
        for (from, to) in gaps {
            let known = if self.is_filtered { to } else { self.removed_before.clamp(from, to) };
            self.result.left_out += known - from;
            if known < to {
                self.found(Finding::Missing { from: known, to });
            }
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

    /// Returns the checkpoint of entries with these bytes as hashes.
    fn checkpoint(bytes: &[u8], more: &Value) -> Value {
        let mut frontier = Frontier::default();
        for byte in bytes {
            frontier.push([*byte; 32], |_, _| {});
        }
        let note = keys().sign(&Checkpoint::new(TENANT, frontier.size(), frontier.root())).unwrap();
        let mut range = json!({ "from": 0, "next": bytes.len(), "filtered": false, "checkpoint": note });
        range.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({ "metadata": { "uid": "lst_1:0", "event_code": CHECKPOINT, "tenant_uid": TENANT }, "unmapped": range })
    }

    fn verified(lines: &[Value]) -> VerifiedStream {
        let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
        assert_eq!(streamed_tenant(text.as_bytes()).unwrap().as_deref(), Some(TENANT));
        verify_stream(text.as_bytes(), &keys().of(TENANT)).unwrap()
    }

    #[test]
    fn entries_in_any_order_result_in_the_signed_root() {
        let nothing = json!({});
        let wrapped = json!({ "time": 1, "event": entry(1, 2) });
        let found =
            verified(&[wrapped, entry(0, 1), checkpoint(&[1, 2], &nothing), entry(2, 3), entry(1, 2)]);
        assert_eq!((found.entries, found.sequences, found.proved), (3, Some((0, 2)), 2));
        assert_eq!((found.duplicates, found.repeated, found.findings), (1, vec![1], vec![]));
    }

    #[test]
    fn missing_and_changed_entries_are_found() {
        let nothing = json!({});
        let missing = verified(&[entry(0, 1), entry(2, 3), checkpoint(&[1, 2, 3], &nothing)]);
        assert_eq!((missing.findings, missing.proved), (vec![Finding::Missing { from: 1, to: 2 }], 0));
        let changed = verified(&[entry(0, 1), entry(1, 9), checkpoint(&[1, 2], &nothing)]);
        assert_eq!(changed.findings, [Finding::Forked { size: 2 }]);
        let twice = verified(&[entry(0, 1), entry(0, 2)]);
        assert_eq!(twice.findings, [Finding::Changed { sequence: 0, id: "aud_0".into() }]);
        let unsigned = checkpoint(
            &[1],
            &json!({ "checkpoint": "gatehouse/ten_1\n1\nAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n" }),
        );
        assert_eq!(verified(&[entry(0, 1), unsigned]).count, 1);
        assert_eq!(
            verified(&[entry(0, 1), json!({ "metadata": 1 })]).findings,
            [Finding::UnreadableLine { line: 2 }]
        );
    }

    #[test]
    fn gaps_of_filters_and_of_retention_are_not_findings() {
        let filtered = verified(&[entry(3, 1), entry(5, 3), checkpoint(&[1], &json!({ "filtered": true }))]);
        assert_eq!((filtered.left_out, filtered.count), (1, 0));
        let removed = checkpoint(&[1], &json!({ "removedBefore": 4 }));
        let purged = verified(&[entry(0, 1), entry(5, 3), removed]);
        assert_eq!((purged.left_out, purged.findings), (3, vec![Finding::Missing { from: 4, to: 5 }]));
    }
}
