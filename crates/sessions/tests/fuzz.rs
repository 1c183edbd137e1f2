//! Runs the fuzz target without a fuzzer: its corpus, then generated input for a limited time.
#![expect(clippy::unwrap_used, reason = "a test that cannot run must not pass")]

mod fuzz_targets;

use std::{
    path::Path,
    time::{Duration, Instant},
};

use fuzz_targets::{cookie, genuine};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};

/// Duration of generated input: `FUZZ_SECONDS`, or a short default.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

#[test]
fn changed_cookies_are_no_session() {
    let genuine = genuine();
    assert!(cookie(genuine.as_bytes()));
    let (name, token) = genuine.split_once('=').unwrap();
    let (first, second) = token.split_at(token.len() / 2);
    assert!(cookie(format!("{name}.0={first}; {name}.1={second}").as_bytes()), "a cookie in chunks");
    assert!(!cookie(format!("{name}.1={first}; {name}.0={second}").as_bytes()));
    assert!(!cookie(format!("__Secure-{genuine}").as_bytes()), "each name has a key of its own");
    let start = name.len() + 1;
    for at in start..genuine.len() {
        for bit in 0..7 {
            let mut changed = genuine.clone().into_bytes();
            changed[at] ^= 1 << bit;
            assert!(!cookie(&changed), "{}", String::from_utf8_lossy(&changed));
        }
        assert!(!cookie(&genuine.as_bytes()[..at]));
    }
}

#[test]
fn corpus_and_its_mutations_satisfy_the_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/cookie");
    let mut corpus: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(corpus.len() >= 8);
    for input in &corpus {
        assert!(!cookie(input), "{}", String::from_utf8_lossy(input));
    }
    corpus.push(genuine().into());
    let input = (prop::sample::select(corpus), any::<prop::sample::Index>(), any::<u8>(), 0..5_u8);
    let changed = input.prop_map(|(mut input, at, byte, how)| {
        let at = at.index(input.len() + 1);
        match how {
            0 if at < input.len() => input[at] = byte,
            1 => input.truncate(at),
            2 if at < input.len() => input.rotate_left(at),
            3 => drop(input.splice(at..at, *b"; authjs.session-token.0=")),
            _ => input.insert(at, b"._-A="[usize::from(byte) % 5]),
        }
        input
    });
    let mut runner = TestRunner::new(Config::default());
    let (started, mut inputs) = (Instant::now(), 0_u64);
    while started.elapsed() < fuzz_time() {
        cookie(&changed.new_tree(&mut runner).unwrap().current());
        inputs += 1;
    }
    assert!(inputs > 100, "{inputs}");
}
