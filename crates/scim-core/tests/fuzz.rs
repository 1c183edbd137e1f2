//! Runs the fuzz targets on stable Rust: each corpus, then generated input for a limited time.
//! libFuzzer runs the same targets with `cargo xtask fuzz TARGET`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use scim_core::conformance::{
    fuzz,
    generate::{Random, paths},
};
use scim_core::{filter::Operator, schema::RESOURCE_TYPES};

/// Duration of generated input: `FUZZ_SECONDS`, or a short default.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

/// Tokens of the grammars.
fn words() -> Vec<String> {
    let fixed = [
        "(",
        ")",
        "[",
        "]",
        ".",
        "\"",
        "\\",
        " and ",
        " or ",
        "not (",
        " pr",
        "true",
        "null",
        "\"x\"",
        "\\u0000",
        "{",
        "}",
        ",",
        ":",
        "\"op\":\"add\"",
        "\"remove\"",
        "\"value\":",
        "\"path\":",
        "\"Operations\":",
        "é",
        "\0",
    ];
    let names = RESOURCE_TYPES.iter().flat_map(|kind| paths(kind)).map(|path| path.to_string());
    let operators = Operator::ALL.iter().map(|operator| format!(" {} ", operator.as_str()));
    fixed.iter().map(ToString::to_string).chain(names).chain(operators).collect()
}

fn feed(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let corpus: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(corpus.len() > 10);
    for input in &corpus {
        target(input);
    }

    let words = words();
    let mut random = Random::new(u64::from(std::process::id()));
    let time = fuzz_time();
    let (started, mut inputs) = (Instant::now(), 0_u64);
    while started.elapsed() < time {
        let mut input = corpus[random.below(corpus.len())].clone();
        for _ in 0..=random.below(6) {
            change(&mut input, &corpus, &words, &mut random);
        }
        let shown = String::from_utf8_lossy(&input).into_owned();
        let outcome = std::panic::catch_unwind(|| target(&input));
        assert!(outcome.is_ok(), "{name} panicked on {shown:?}");
        inputs += 1;
    }
    println!("{name}: {inputs} inputs tested");
    assert!(inputs > 1_000, "{inputs}");
}

fn change(input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[String], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(6) {
        0 if at < input.len() => {
            input[at] ^= 1 << random.below(8);
        }
        1 => {
            input.truncate(at);
        }
        2 if at < input.len() => {
            input.remove(at);
        }
        3 => {
            let other = &corpus[random.below(corpus.len())];
            let from = random.below(other.len() + 1);
            input.splice(at.., other[from..].iter().copied());
        }
        4 => {
            let again: Vec<_> = input[at..].iter().copied().take(random.below(40)).collect();
            for _ in 0..random.below(20) {
                input.splice(at..at, again.iter().copied());
            }
        }
        _ => {
            let word = &words[random.below(words.len())];
            input.splice(at..at, word.bytes());
        }
    }
}

#[test]
fn filter() {
    feed("filter", fuzz::filter);
}

#[test]
fn path() {
    feed("path", fuzz::path);
}

#[test]
fn patch() {
    feed("patch", fuzz::patch);
}
