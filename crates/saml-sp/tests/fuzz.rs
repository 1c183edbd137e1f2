//! Runs the fuzz targets without a fuzzer: their corpora, then generated input for a limited time.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot run must not pass")]

use std::{
    collections::BTreeMap,
    path::Path,
    time::{Duration, Instant},
};

use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use saml_sp::conformance::fuzz;

fn corpus(of: &str) -> BTreeMap<String, Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(of);
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read(path).unwrap()))
        .collect()
}

/// Fragments of XML structure. Inserting them changes a document more than changing bytes does.
const PIECES: [&str; 14] = [
    "",
    "<!---->",
    "<![CDATA[",
    "]]>",
    "</saml:Assertion>",
    "<saml:Assertion ID=\"_a1\">",
    "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"/>",
    " ID=\"_a1\"",
    " xmlns=\"\"",
    " xmlns:saml=\"x\"",
    "&#x61;",
    "&lt;",
    "<?a?>",
    "\u{0}",
];

/// Feeds input generated from a corpus: fragments inserted, removed or moved, and documents joined.
fn feed(corpus: &BTreeMap<String, Vec<u8>>, target: impl Fn(&[u8])) -> usize {
    let inputs: Vec<Vec<u8>> = corpus.values().cloned().collect();
    let place = any::<prop::sample::Index>;
    let changed = (
        prop::sample::select(inputs),
        place(),
        place(),
        place(),
        prop::sample::select(PIECES.to_vec()),
        0..6_u8,
    )
        .prop_map(|(mut input, first, second, third, piece, how)| {
            let at = |place: prop::sample::Index| place.index(input.len() + 1);
            let (mut from, mut to, into) = (at(first), at(second), at(third));
            if from > to {
                std::mem::swap(&mut from, &mut to);
            }
            match how {
                0 => drop(input.splice(into..into, piece.bytes())),
                1 => drop(input.drain(from..to)),
                2 => {
                    let moved = input[from..to].to_vec();
                    drop(input.splice(into..into, moved));
                }
                3 if into < input.len() => input[into] ^= 1,
                4 => {
                    let end = (from + piece.len()).min(input.len());
                    drop(input.splice(from..end, piece.bytes()));
                }
                _ => input.truncate(into),
            }
            input
        });
    let (mut runner, begun, mut count) = (TestRunner::new(Config::default()), Instant::now(), 0);
    while begun.elapsed() < fuzz_time() {
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
fn responses() {
    let corpus = corpus("response");
    let accepted: Vec<&str> =
        corpus.iter().filter(|(_, input)| fuzz::response(input)).map(|(name, _)| name.as_str()).collect();
    let signed = ["assertion", "bare", "both", "encrypted", "encrypted_response", "response"];
    assert_eq!(accepted, signed, "of {}", corpus.len());
    assert!(corpus.len() > 15);
    let count = feed(&corpus, |input| {
        fuzz::response(input);
    });
    println!("{count} responses tested");
}

#[test]
fn metadata() {
    let corpus = corpus("metadata");
    let read: Vec<&str> =
        corpus.iter().filter(|(_, input)| fuzz::metadata(input)).map(|(name, _)| name.as_str()).collect();
    let sound = ["declared", "loopback", "one_of", "plain", "redirect", "samlp", "simplesamlphp", "until"];
    assert_eq!(read, sound, "of {}", corpus.len());
    let count = feed(&corpus, |input| {
        fuzz::metadata(input);
    });
    println!("{count} metadata documents tested");
}

#[test]
fn logout_messages() {
    let corpus = corpus("logout");
    // The corpus has no signed message, so that none may be accepted.
    assert!(corpus.len() > 5 && !corpus.values().any(|input| fuzz::logout(input)));
    let count = feed(&corpus, |input| assert!(!fuzz::logout(input)));
    println!("{count} logout messages tested");
}
