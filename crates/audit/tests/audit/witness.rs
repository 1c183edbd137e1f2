//! Witnesses: what they cosign, and which checkpoints meet a policy.

use audit::log::{
    Checkpoint, CheckpointKeys, Hash, NoteError,
    witness::{
        AddCheckpoint, Cosigner, PolicyError, WitnessError, WitnessPolicy, WitnessedLog, cosignatures,
    },
};
use kernel::{Env, ManualEnv, MasterKeys, Secret, Timestamp};

use crate::rfc6962::{mth, path, sha256, subproof};

const TENANT: &str = "ten_06h1sv2ez17nxzwvj4qh4q4364";

/// A log with these leaves, and its keys.
struct Log {
    keys: CheckpointKeys,
    leaves: Vec<Hash>,
}

impl Log {
    fn new(leaves: std::ops::Range<u8>) -> Self {
        let masters = MasterKeys::new(vec![("a".to_owned(), Secret::new(vec![7; 32]))]).unwrap();
        Self { keys: CheckpointKeys::derive(&masters), leaves: leaves.map(|leaf| sha256(&[leaf])).collect() }
    }

    fn note(&self, size: usize) -> String {
        let checkpoint = Checkpoint::new(TENANT, size as u64, mth(&self.leaves[..size]));
        self.keys.sign(&checkpoint).unwrap()
    }

    fn proof(&self, from: usize, to: usize) -> Vec<Hash> {
        if from == 0 { Vec::new() } else { subproof(from, &self.leaves[..to], true) }
    }

    /// What a witness knows after it has cosigned the log of this size.
    fn witnessed(&self, size: usize) -> WitnessedLog {
        let newest = Checkpoint::read(&self.note(size)).unwrap();
        WitnessedLog::new(self.keys.of(TENANT), Some(newest))
    }
}

fn env() -> ManualEnv {
    ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap())
}

fn now() -> Timestamp {
    env().now()
}

#[test]
fn cosignature_covers_checkpoint_and_time() {
    let (log, env) = (Log::new(0..20), env());
    let (witness, text) = Cosigner::generate(&env, "witness.example/w1").unwrap();
    let (other, _) = Cosigner::generate(&env, "witness.example/w1").unwrap();
    let note = log.note(13);
    let line = witness.cosign(&note, env.now()).unwrap();
    let cosigned = format!("{note}{}{line}", other.cosign(&note, env.now()).unwrap());
    let found = cosignatures(&cosigned, &[witness.key().clone()]).unwrap();
    assert_eq!((found.len(), found[0].at, &found[0].key), (1, env.now(), witness.key()));
    assert_eq!(cosignatures(&note, &[witness.key().clone()]), Ok(Vec::new()));
    // A cosignature under another checkpoint, or with another time, is invalid.
    let moved = format!("{}{line}", log.note(14));
    assert_eq!(cosignatures(&moved, &[witness.key().clone()]), Err(NoteError::Signature));
    let bytes = data_encoding::BASE64.decode(line.trim().rsplit(' ').next().unwrap().as_bytes()).unwrap();
    for index in [4, 11, 12, 75] {
        let mut bytes = bytes.clone();
        bytes[index] ^= 1;
        let line = format!("— witness.example/w1 {}\n", data_encoding::BASE64.encode(&bytes));
        let forged = cosignatures(&format!("{note}{line}"), &[witness.key().clone()]);
        assert_eq!(forged, Err(NoteError::Signature), "byte {index}");
    }
    // The checkpoint stays valid for those who know no witness.
    assert!(Checkpoint::verified(&cosigned, &log.keys.of(TENANT)).is_ok());
    // The private key is written and read again, and does not appear in debug output.
    let again = Cosigner::parse(text.expose()).unwrap();
    assert_eq!(again.key(), witness.key());
    assert_eq!(format!("{witness:?}"), "Cosigner(witness.example/w1)");
    for wrong in ["", "a b", "a+b"] {
        assert!(Cosigner::generate(&env, wrong).is_none(), "{wrong:?}");
    }
}

#[test]
fn witness_accepts_only_logs_that_grew() {
    let (log, fork) = (Log::new(0..40), Log::new(100..140));
    for known in 0..20 {
        let witnessed =
            if known == 0 { WitnessedLog::new(log.keys.of(TENANT), None) } else { log.witnessed(known) };
        for size in 0..40 {
            let advance =
                witnessed.advance(&log.note(size), known as u64, &log.proof(known, size.max(known)));
            if size < known {
                let (size, known) = (size as u64, known as u64);
                assert_eq!(advance, Err(WitnessError::RolledBack { size, known }));
                continue;
            }
            assert_eq!(advance.unwrap().checkpoint.size, size as u64);
            if known == 0 || size == 0 {
                continue;
            }
            let proof = fork.proof(known, size);
            let forked = witnessed.advance(&fork.note(size), known as u64, &proof).unwrap_err();
            let (size, known) = (size as u64, known as u64);
            let expected = if size == known {
                WitnessError::Forked(size)
            } else {
                WitnessError::Unproved { size, known }
            };
            assert_eq!(forked, expected);
        }
    }
}

#[test]
fn witness_names_the_reason_of_a_refusal() {
    let log = Log::new(0..40);
    let witnessed = log.witnessed(10);
    let advance = |note: &str, old, proof: &[Hash]| witnessed.advance(note, old, proof).unwrap_err();
    assert_eq!(advance(&log.note(20), 9, &log.proof(9, 20)), WitnessError::OldSize(10));
    let unproved = WitnessError::Unproved { size: 20, known: 10 };
    assert_eq!(advance(&log.note(20), 10, &log.proof(9, 20)), unproved);
    assert_eq!(advance(&log.note(20), 10, &[]), unproved);
    assert_eq!(advance(&log.note(20), 10, &path(3, &log.leaves[..20])), unproved);
    let unsigned = log.note(20).replace(&format!("gatehouse/audit/{TENANT}\n20"), "gatehouse/audit/x\n20");
    assert_eq!(advance(&unsigned, 10, &[]), WitnessError::Note(NoteError::UnknownKey));
    let changed = log.note(20).replace("\n20\n", "\n21\n");
    assert_eq!(advance(&changed, 10, &[]), WitnessError::Note(NoteError::Signature));
    assert_eq!(advance("nonsense", 10, &[]), WitnessError::Note(NoteError::Malformed));
    // An empty log has the root of nothing.
    let new = WitnessedLog::new(log.keys.of(TENANT), None);
    let empty = log.keys.sign(&Checkpoint::new(TENANT, 0, sha256(b"x"))).unwrap();
    assert_eq!(new.advance(&empty, 0, &[]), Err(WitnessError::Unproved { size: 0, known: 0 }));
    assert_eq!(new.advance(&log.note(5), 0, &[[0; 32]]), Err(WitnessError::Unproved { size: 5, known: 0 }));
}

#[test]
fn witness_keeps_only_lines_of_the_log() {
    let (log, env) = (Log::new(0..40), env());
    let (witness, _) = Cosigner::generate(&env, "witness.example/w").unwrap();
    // The server adds a line that names the witness and is invalid, and one of a stranger.
    let forged = witness.cosign(&log.note(3), env.now()).unwrap();
    let note = format!("{}{forged}— stranger AAAAAAAA\n", log.note(20));
    let accepted = log.witnessed(10).advance(&note, 10, &log.proof(10, 20)).unwrap();
    assert_eq!(accepted.note, log.note(20));
    // A line that names a key of the log is valid, or the note is not.
    let own = log.note(3).lines().last().unwrap().to_owned();
    let contradicting = format!("{}{own}\n", log.note(20));
    assert_eq!(
        log.witnessed(10).advance(&contradicting, 10, &log.proof(10, 20)),
        Err(WitnessError::Note(NoteError::Signature))
    );
}

#[test]
fn policy_needs_its_quorum() {
    let (log, env) = (Log::new(0..20), env());
    let witnesses: Vec<Cosigner> =
        ["a", "b", "c", "d"].iter().map(|name| Cosigner::generate(&env, name).unwrap().0).collect();
    let line = |witness: &Cosigner| {
        format!("witness {} {} https://w.example/\n", witness.key().name(), witness.key())
    };
    let mut text: String = witnesses.iter().map(line).collect();
    text.push_str("group two 2 a b c\n# Both.\ngroup both all two d\n\tquorum  both\n");
    let policy: WitnessPolicy = text.parse().unwrap();
    assert_eq!(policy.witnesses()[0].url.as_deref(), Some("https://w.example/"));
    let keys = log.keys.of(TENANT);
    for chosen in 0_u8..16 {
        let is_chosen = |index: usize| chosen & (1 << index) != 0;
        let mut note = log.note(13);
        for (index, witness) in witnesses.iter().enumerate().filter(|(index, _)| is_chosen(*index)) {
            let at = env.now().plus_millis(1000 * i64::try_from(index).unwrap());
            let line = witness.cosign(&note, at).unwrap();
            note.push_str(&line);
        }
        let is_met = (0..3).filter(|index| is_chosen(*index)).count() >= 2 && is_chosen(3);
        match policy.verify(&note, &keys) {
            Ok(witnessed) => {
                assert!(is_met, "{chosen:04b}");
                assert_eq!(witnessed.cosignatures.len(), chosen.count_ones() as usize);
                let first = (0..4).find(|index| is_chosen(*index)).map(|first| i64::try_from(first).unwrap());
                assert_eq!(witnessed.oldest(), first.map(|first| now().plus_millis(1000 * first)));
            }
            Err(error) => {
                let chosen = (0..4).filter(|index| is_chosen(*index));
                let names: Vec<String> = chosen.map(|index| ["a", "b", "c", "d"][index].to_owned()).collect();
                assert_eq!((error, is_met), (PolicyError::Quorum(names), false));
            }
        }
    }
    // Twice the same witness is one witness.
    let mut note = log.note(13);
    for _ in 0..2 {
        let line = witnesses[0].cosign(&note, env.now()).unwrap();
        note.push_str(&line);
    }
    note.push_str(&witnesses[3].cosign(&note, env.now()).unwrap());
    assert!(matches!(policy.verify(&note, &keys), Err(PolicyError::Quorum(_))));
    let none: WitnessPolicy = "quorum none".parse().unwrap();
    assert!(none.verify(&log.note(3), &keys).is_ok());
    assert_eq!(none.verify(&log.note(3), &[]), Err(PolicyError::Note(NoteError::UnknownKey)));
    let log_key = format!("log {} https://log.example/\nquorum none\n", keys[0]);
    let of_log: WitnessPolicy = log_key.parse().unwrap();
    assert!(of_log.verify(&log.note(3), &[]).is_ok());
    assert_eq!(of_log.logs(), keys);
}

#[test]
fn checkpoint_of_another_log_is_refused_although_its_key_is_known() {
    let log = Log::new(0..20);
    let newest = Checkpoint::read(&log.note(13)).unwrap();
    let other = Checkpoint::new("ten_other", 13, mth(&log.leaves[..13]));
    let note = log.keys.sign(&other).unwrap();
    let witnessed = WitnessedLog::new(log.keys.of("ten_other"), Some(newest));
    assert_eq!(witnessed.verified(&note).unwrap_err(), WitnessError::Origin(other.origin));
}

#[test]
fn private_key_needs_its_algorithm_and_its_id() {
    let (_, text) = Cosigner::generate(&env(), "w").unwrap();
    let (rest, key) = text.expose().rsplit_once('+').unwrap();
    let (name, id) = rest.rsplit_once('+').unwrap();
    let other_id = format!("{name}+{:08x}+{key}", u32::from_str_radix(id, 16).unwrap() ^ 1);
    let mut bytes = data_encoding::BASE64.decode(key.as_bytes()).unwrap();
    bytes[0] ^= 1;
    let other_algorithm = format!("{rest}+{}", data_encoding::BASE64.encode(&bytes));
    assert!(Cosigner::parse(text.expose()).is_some());
    for wrong in [other_id, other_algorithm] {
        assert!(Cosigner::parse(&wrong).is_none(), "{wrong}");
    }
}

#[test]
fn malformed_policies_name_the_line() {
    let (log, env) = (Log::new(0..1), env());
    let key = Cosigner::generate(&env, "w").unwrap().0.key().to_string();
    let other = Cosigner::generate(&env, "w").unwrap().0.key().to_string();
    let log_key = log.keys.of(TENANT)[0].to_string();
    let two = format!("witness a {key}\nwitness b {other}\n");
    for (text, line) in [
        (format!("witness a {log_key}\nquorum a"), 1),
        (format!("log {key}\nquorum none"), 1),
        (format!("log {log_key}\nlog {log_key}\nquorum none"), 2),
        (format!("witness a {key}\nwitness b {key}\nquorum a"), 2),
        (format!("witness a {key}\nwitness a {other}\nquorum a"), 2),
        (format!("witness none {key}\nquorum none"), 1),
        (format!("{two}group g 0 a b\nquorum g"), 3),
        (format!("{two}group g 3 a b\nquorum g"), 3),
        (format!("{two}group g some a b\nquorum g"), 3),
        (format!("{two}group g any\nquorum g"), 3),
        (format!("{two}group g any none\nquorum g"), 3),
        (format!("{two}group g any a c\nquorum g"), 3),
        (format!("{two}group g any a\ngroup h any a b\nquorum h"), 4),
        (format!("{two}group g any a a\nquorum g"), 3),
        (format!("{two}quorum c"), 3),
        (format!("{two}quorum a\nquorum b"), 4),
        (format!("{two}nonsense\nquorum a"), 3),
        (format!("{two}quorum a\r\n"), 3),
    ] {
        match text.parse::<WitnessPolicy>() {
            Err(PolicyError::Line { line: named, .. }) => assert_eq!(named, line, "{text}"),
            other => panic!("{text}: {other:?}"),
        }
    }
    assert_eq!(two.parse::<WitnessPolicy>(), Err(PolicyError::NoQuorum));
}

#[test]
fn request_is_written_and_read() {
    let log = Log::new(0..40);
    let request = AddCheckpoint { old_size: 9, proof: log.proof(9, 20), note: log.note(20) };
    assert_eq!(AddCheckpoint::parse(&request.to_string()), Ok(request));
    let first = AddCheckpoint { old_size: 0, proof: Vec::new(), note: log.note(20) };
    assert!(first.to_string().starts_with("old 0\n\ngatehouse/audit/"));
    assert_eq!(AddCheckpoint::parse(&first.to_string()), Ok(first));
    let hash = data_encoding::BASE64.encode(&[7; 32]);
    for wrong in [
        String::new(),
        "old 1".to_owned(),
        "old 01\n\nx".to_owned(),
        "old -1\n\nx".to_owned(),
        "new 1\n\nx".to_owned(),
        format!("old 1\n{}\n\nx", hash.trim_end_matches('=')),
        format!("old 1\n{hash} \n\nx"),
        format!("old 1\n{}\nx", format!("{hash}\n").repeat(64)),
    ] {
        assert!(AddCheckpoint::parse(&wrong).is_err(), "{wrong}");
    }
    let most = format!("old 1\n{}\nx", format!("{hash}\n").repeat(63));
    assert_eq!(AddCheckpoint::parse(&most).unwrap().proof.len(), 63);
}
