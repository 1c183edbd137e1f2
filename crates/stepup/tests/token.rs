//! Nothing but the genuine token verifies.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use stepup::conformance::fuzz::{genuine, token};

/// How long generated input runs: `FUZZ_SECONDS`, or 0.3 seconds.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

#[test]
fn changed_shortened_and_extended_tokens_are_refused() {
    let genuine = genuine().as_bytes();
    assert!(genuine.len() < 400, "the token has {} characters", genuine.len());
    token(genuine);
    for at in 0..genuine.len() {
        for bit in 0..8 {
            let mut flipped = genuine.to_vec();
            flipped[at] ^= 1 << bit;
            token(&flipped);
        }
        token(&genuine[..at]);
        token(&genuine[at + 1..]);
        for byte in 0..=127 {
            let mut longer = genuine.to_vec();
            longer.insert(at, byte);
            token(&longer);
        }
    }
    for byte in 0..=127 {
        token(&[genuine, &[byte]].concat());
    }
}

#[test]
fn corpus_and_its_mutations_satisfy_the_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/token");
    let mut corpus: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(corpus.len() > 10);
    corpus.push(genuine().into());
    for input in &corpus {
        token(input);
    }
    let input = (prop::sample::select(corpus), any::<prop::sample::Index>(), any::<u8>(), 0..6_u8);
    let changed = input.prop_flat_map(|(input, at, byte, how)| {
        let at = at.index(input.len() + 1);
        prop::collection::vec(any::<u8>(), 0..40).prop_map(move |more| {
            let mut input = input.clone();
            match how {
                0 if at < input.len() => input[at] = byte,
                1 => input.truncate(at),
                2 => drop(input.splice(at.., more)),
                3 => drop(input.splice(at..at, more)),
                4 if at < input.len() => input.rotate_left(at),
                _ => input.insert(at, b"._-A="[usize::from(byte) % 5]),
            }
            input
        })
    });
    let mut runner = TestRunner::new(Config::default());
    let (started, mut inputs) = (Instant::now(), 0_u64);
    while started.elapsed() < fuzz_time() {
        token(&changed.new_tree(&mut runner).unwrap().current());
        inputs += 1;
    }
    println!("{inputs} inputs tested");
    assert!(inputs > 1_000, "{inputs}");
}
