//! Runs the fuzz targets without a fuzzer: their corpora, then generated input for a limited time.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot run must not pass")]

mod fuzz_targets;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

/// Returns the files of a corpus whose names begin with `valid`, and the others.
fn corpus(of: &str) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(of);
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let (valid, hostile): (Vec<_>, Vec<_>) = files.partition(|path: &std::path::PathBuf| {
        path.file_name().unwrap().to_string_lossy().starts_with("valid")
    });
    let read = |paths: Vec<std::path::PathBuf>| {
        paths.into_iter().map(|path| std::fs::read(path).unwrap()).collect::<Vec<_>>()
    };
    (read(valid), read(hostile))
}

/// Fragments of notes, policies, requests and exports.
const PIECES: [&str; 14] = [
    "",
    "\n",
    "\n\n",
    " ",
    "— ",
    "+",
    "=",
    "old 18446744073709551616\n",
    "group g any w\n",
    "quorum none\n",
    "\r",
    "\u{0}",
    "\"id\":\"aud_1\",",
    "{}",
];

/// Feeds generated input: fragments inserted, parts removed or moved, and bits changed. Returns the number of inputs.
fn feed(inputs: Vec<Vec<u8>>, target: impl Fn(&[u8]) -> bool) -> usize {
    let place = any::<prop::sample::Index>;
    let piece = prop::sample::select(PIECES.to_vec());
    let changed = (prop::sample::select(inputs), place(), place(), place(), piece, 0..4_u8).prop_map(
        |(mut input, first, second, third, piece, how)| {
            let at = |place: prop::sample::Index| place.index(input.len() + 1);
            let (from, to) = (at(first).min(at(second)), at(first).max(at(second)));
            let into = at(third);
            match how {
                0 => drop(input.splice(into..into, piece.bytes())),
                1 => drop(input.drain(from..to)),
                2 => {
                    let moved = input[from..to].to_vec();
                    drop(input.splice(into..into, moved));
                }
                _ if into < input.len() => input[into] ^= 1 << (from % 8),
                _ => {}
            }
            input
        },
    );
    let mut runner = TestRunner::new(Config::default());
    let (start, time, mut count) = (Instant::now(), fuzz_time(), 0);
    while start.elapsed() < time {
        target(&changed.new_tree(&mut runner).unwrap().current());
        count += 1;
    }
    count
}

/// Duration of generated input: `FUZZ_SECONDS`, or a short default.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

#[test]
fn no_checkpoint_but_the_genuine_one_meets_the_policy() {
    let (valid, hostile) = corpus("cosigned");
    assert_eq!(valid, [fuzz_targets::genuine().as_bytes()]);
    assert!(fuzz_targets::cosigned(&valid[0]));
    assert!(hostile.len() >= 8 && hostile.iter().all(|note| !fuzz_targets::cosigned(note)));
    assert!(feed([valid, hostile].concat(), fuzz_targets::cosigned) > 10);
}

#[test]
fn policies_are_read_or_refused() {
    let (valid, hostile) = corpus("policy");
    assert!(valid.len() >= 3 && valid.iter().all(|policy| fuzz_targets::policy(policy)));
    assert!(hostile.len() >= 8 && hostile.iter().all(|policy| !fuzz_targets::policy(policy)));
    assert!(feed([valid, hostile].concat(), fuzz_targets::policy) > 10);
}

#[test]
fn requests_are_written_as_they_are_read() {
    let (valid, hostile) = corpus("add_checkpoint");
    assert!(valid.len() >= 2 && valid.iter().all(|body| fuzz_targets::add_checkpoint(body)));
    assert!(hostile.len() >= 6 && hostile.iter().all(|body| !fuzz_targets::add_checkpoint(body)));
    assert!(feed([valid, hostile].concat(), fuzz_targets::add_checkpoint) > 10);
}

#[test]
fn valid_exports_have_only_genuine_entries() {
    let (valid, hostile) = corpus("export");
    assert!(!valid.is_empty() && valid.iter().all(|export| fuzz_targets::export(export)));
    assert!(hostile.len() >= 6 && hostile.iter().all(|export| !fuzz_targets::export(export)));
    assert!(feed([valid, hostile].concat(), fuzz_targets::export) > 10);
}

#[test]
fn streams_are_read_or_refused() {
    let (valid, hostile) = corpus("stream");
    assert!(!valid.is_empty() && valid.iter().all(|events| fuzz_targets::stream(events)));
    assert!(hostile.len() >= 4 && hostile.iter().all(|events| !fuzz_targets::stream(events)));
    assert!(feed([valid, hostile].concat(), fuzz_targets::stream) > 10);
}
