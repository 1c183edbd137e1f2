//! Fuzz targets: cosigned checkpoints, policies, requests for cosignatures, exports and log streams, as they arrive.

use std::{collections::BTreeSet, sync::LazyLock};

use audit::log::{
    Checkpoint, CheckpointKey, CheckpointKeys, exported_tenant, streamed_tenant, verify_export,
    verify_stream,
    witness::{AddCheckpoint, Cosigner, WitnessPolicy},
};
use kernel::{MasterKeys, Secret, Timestamp};
use serde_json::Value;

const TENANT: &str = "ten_06h1sv2ez17nxzwvj4qh4q4364";
/// The private key of the witness, whose seed is 32 bytes of 7.
const WITNESS: &str = "PRIVATE+KEY+witness.example/w+83755ab3+BAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH";
/// The time of the cosignature: 2026-03-01 12:00:00 UTC.
const NOW_MILLIS: i64 = 1_772_366_400_000;

static FIXED: LazyLock<(WitnessPolicy, Vec<CheckpointKey>, String)> = LazyLock::new(|| {
    let masters = MasterKeys::new(vec![("a".to_owned(), Secret::new(vec![7; 32]))]).unwrap();
    let (keys, witness) = (CheckpointKeys::derive(&masters), Cosigner::parse(WITNESS).unwrap());
    let mut note = keys.sign(&Checkpoint::new(TENANT, 42, [7; 32])).unwrap();
    let line = witness.cosign(&note, Timestamp::from_unix_millis(NOW_MILLIS)).unwrap();
    note.push_str(&line);
    let policy = format!("witness w {}\nquorum w\n", witness.key()).parse().unwrap();
    (policy, keys.of(TENANT), note)
});

/// Returns a checkpoint that meets the policy. Its signatures are the same in each run.
pub(crate) fn genuine() -> &'static str {
    &FIXED.2
}

/// Verifies a note. Panics if it meets the policy with another checkpoint than the genuine one. Returns whether it does.
pub(crate) fn cosigned(input: &[u8]) -> bool {
    let Ok(note) = std::str::from_utf8(input) else { return false };
    let (policy, keys, genuine) = &*FIXED;
    let Ok(witnessed) = policy.verify(note, keys) else { return false };
    assert_eq!(witnessed.checkpoint, Checkpoint::read(genuine).unwrap(), "{note:?}");
    assert_eq!(witnessed.oldest(), Some(Timestamp::from_unix_millis(NOW_MILLIS)));
    true
}

/// Parses a policy and uses it. Returns whether it is well-formed.
pub(crate) fn policy(input: &[u8]) -> bool {
    let Ok(policy) = std::str::from_utf8(input).unwrap_or("\u{1}").parse::<WitnessPolicy>() else {
        return false;
    };
    let (_, keys, genuine) = &*FIXED;
    let verified = policy.verify(genuine, keys);
    // Without witnesses, only `quorum none` is met.
    assert!(!policy.witnesses().is_empty() || verified.is_ok());
    true
}

/// Parses a request for a cosignature. Panics if it is not written as it was read. Returns whether it is well-formed.
pub(crate) fn add_checkpoint(input: &[u8]) -> bool {
    let Ok(body) = std::str::from_utf8(input) else { return false };
    let Ok(request) = AddCheckpoint::parse(body) else { return false };
    assert_eq!(request.to_string(), body);
    true
}

/// An export with proofs of three entries, signed with the keys above.
const EXPORT: &str = include_str!("../../fuzz/corpus/export/valid-export");

/// Returns the entries of an export, after its first line, without what their hashes do not cover: the proof, and the
/// name of the actor. An absent address may also be `null`.
fn entries(export: &str) -> BTreeSet<String> {
    let hashed = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(actor) = entry.get_mut("actor").and_then(Value::as_object_mut) {
            actor.remove("name");
        }
        if let Some(members) = entry.as_object_mut() {
            members.retain(|name, value| name != "proof" && !value.is_null());
        }
        entry.to_string()
    };
    export.lines().skip(1).map(hashed).collect()
}

/// Verifies an export. Panics if it is valid with an entry that the genuine one has not. Returns whether it is valid.
pub(crate) fn export(input: &[u8]) -> bool {
    let _named = exported_tenant(input);
    let Ok(verified) = verify_export(input, &FIXED.1) else { return false };
    if verified.count > 0 {
        return false;
    }
    let text = std::str::from_utf8(input).unwrap();
    assert!(entries(text).is_subset(&entries(EXPORT)), "{text}");
    true
}

/// Verifies events of a log stream. Returns whether each line is an event.
pub(crate) fn stream(input: &[u8]) -> bool {
    let _named = streamed_tenant(input);
    verify_stream(input, &FIXED.1).is_ok_and(|verified| verified.count == 0)
}
