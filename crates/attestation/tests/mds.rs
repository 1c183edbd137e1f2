//! Verification and parsing of the FIDO Alliance's metadata.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::{
    path::Path,
    time::{Duration, Instant},
};

use attestation::{
    Aaguid, FileError, Roots,
    conformance::{Authority, fuzz},
    mds::{MdsError, Signer, read},
};
use data_encoding::BASE64URL_NOPAD;
use kernel::Timestamp;
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, TestRunner},
};
use rcgen::{CertificateParams, date_time_ymd};
use serde_json::{Value, json};

const NAME: &str = "mds.example";

fn now() -> Timestamp {
    "2026-11-22T12:00:00.000Z".parse().unwrap()
}

fn aaguid(first: u8) -> Aaguid {
    let mut bytes = [0x11; 16];
    bytes[0] = first;
    Aaguid(bytes)
}

/// Returns the base64 of a PEM certificate, as entries contain it.
fn in_base64(pem: &str) -> String {
    pem.lines().filter(|line| !line.starts_with("--")).collect::<Vec<_>>().join("\n")
}

/// Returns a picture as the metadata contains it.
fn in_picture(png: &[u8]) -> String {
    format!("data:image/png;base64,{}", data_encoding::BASE64.encode(png))
}

fn document(entries: &Value) -> Value {
    json!({ "legalHeader": "…", "no": 12, "nextUpdate": "2026-12-01", "entries": entries })
}

/// How long generated input runs: `FUZZ_SECONDS`, or 0.3 seconds.
fn fuzz_time() -> Duration {
    let seconds =
        std::env::var_os("FUZZ_SECONDS").and_then(|text| text.to_str()?.parse().ok()).unwrap_or(0.3);
    Duration::from_secs_f64(seconds)
}

#[test]
fn signed_entries_are_read_and_unknown_ones_are_skipped() {
    let authority = Authority::new(NAME).unwrap();
    let root = in_base64(authority.root());
    let png = in_picture(b"\x89PNG\r\n\x1a\n picture");
    let pictures = [Value::Null, json!(png), json!("data:image/svg+xml;base64,PHN2Zy8+"), json!({})];
    let entry = |first: u8, statuses: &[&str]| {
        let reports: Vec<_> = statuses
            .iter()
            .map(|status| json!({ "status": status, "effectiveDate": "2026-01-01" }))
            .collect();
        json!({
            "aaguid": aaguid(first).to_string(),
            "metadataStatement": {
                "description": "A key", "icon": pictures[usize::from(first)], "schema": 4,
                "attestationRootCertificates": [root, "nonsense"],
            },
            "statusReports": reports,
            "timeOfLastStatusChange": "2026-01-01",
        })
    };
    let payload = document(&json!([
        entry(1, &["FIDO_CERTIFIED_L1", "A_STATUS_OF_NEXT_YEAR"]),
        entry(2, &["FIDO_CERTIFIED", "REVOKED"]),
        entry(3, &["USER_KEY_PHYSICAL_COMPROMISE", "UPDATE_AVAILABLE"]),
        { "attestationCertificateKeyIdentifiers": ["an older protocol"], "statusReports": [] },
        { "aaguid": "not a UUID" },
        "not an entry",
        { "aaguid": aaguid(4).to_string(), "statusReports": [{ "status": "NOT_FIDO_CERTIFIED" }] },
        { "aaguid": aaguid(5).to_string(), "statusReports": [{ "state": "REVOKED" }] },
    ]));
    let signer = Signer::new(authority.root().as_bytes(), Some(NAME)).unwrap();
    let signed = authority.sign(&payload).unwrap();
    let metadata = read(signed.as_bytes(), &signer, now()).unwrap();
    assert_eq!((metadata.number, metadata.unread, metadata.makes.len()), (12, 3, 5));
    assert_eq!(
        metadata.makes[&aaguid(5)].broken.as_deref(),
        Some("UNREADABLE"),
        "an entry without a readable status counts as broken"
    );
    assert_eq!(metadata.makes[&aaguid(1)].roots.len(), 1);
    assert_eq!(metadata.makes[&aaguid(2)].broken.as_deref(), Some("REVOKED"));
    let has_picture = |first: u8| metadata.makes[&aaguid(first)].picture.is_some();
    assert_eq!((1..=4).map(has_picture).collect::<Vec<_>>(), [true, false, false, false], "only PNG");
    assert!(!metadata.is_overdue(now()));
    assert!(!metadata.is_overdue("2026-12-01T23:59:59.999Z".parse().unwrap()), "it may appear that day");
    assert!(metadata.is_overdue("2026-12-02T00:00:00.000Z".parse().unwrap()));

    let mut roots = Roots::default();
    assert!(roots.is_empty());
    roots.add_metadata(&metadata);
    assert_eq!((roots.is_empty(), roots.of_any()), (false, 0));
    let proves = |roots: &Roots| (1..=5).map(|first| roots.of(aaguid(first)).count()).collect::<Vec<_>>();
    assert_eq!(proves(&roots), [1, 0, 0, 0, 0]);
    // A file named by an AAGUID proves that model. Another file proves all models that are not broken.
    roots.add_file(&aaguid(4).to_string(), authority.root().as_bytes()).unwrap();
    assert_eq!(proves(&roots), [1, 0, 0, 1, 0]);
    roots.add_file("makers", authority.root().as_bytes()).unwrap();
    assert_eq!(proves(&roots), [2, 0, 0, 2, 0]);
    assert_eq!((roots.provable_models(), roots.of_any()), (2, 1));
    assert_eq!(roots.add_file("empty", b""), Err(FileError::Empty));
    assert_eq!(
        roots.add_file("odd", b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
        Err(FileError::Certificate)
    );
    assert!(matches!(roots.add_file("cut", b"-----BEGIN CERTIFICATE-----\nAA"), Err(FileError::Pem(_))));
}

#[test]
fn picture_is_a_png_of_at_most_64_kib() {
    let authority = Authority::new(NAME).unwrap();
    let signer = Signer::new(authority.root().as_bytes(), Some(NAME)).unwrap();
    let png = |bytes: usize| [&b"\x89PNG\r\n\x1a\n"[..], &vec![0; bytes - 8]].concat();
    for (picture, is_kept) in [
        (png(8), true),
        (png(64 * 1024), true),
        (png(64 * 1024 + 1), false),
        (b"\xff\xd8\xff\xe0 JPEG".to_vec(), false),
    ] {
        let statement = json!({ "icon": in_picture(&picture), "attestationRootCertificates": [] });
        let entry = json!({
            "aaguid": aaguid(1).to_string(), "metadataStatement": statement, "statusReports": [],
        });
        let signed = authority.sign(&document(&json!([entry]))).unwrap();
        let metadata = read(signed.as_bytes(), &signer, now()).unwrap();
        let expected = is_kept.then_some(picture);
        assert_eq!(metadata.makes[&aaguid(1)].picture, expected);
    }
}

#[test]
fn rs256_signature_is_accepted() {
    let signer = Signer::new(include_bytes!("data/rs256-root.pem"), Some(NAME)).unwrap();
    let metadata = read(include_bytes!("data/rs256.jwt"), &signer, now()).unwrap();
    let yubikey: Aaguid = "73bb0cd4-e502-49b8-9c6f-b59445bf720b".parse().unwrap();
    assert_eq!((metadata.number, metadata.makes[&yubikey].roots.len()), (7, 1));
}

#[test]
fn other_signers_are_refused() {
    let authority = Authority::new(NAME).unwrap();
    let payload = document(&json!([]));
    let signed = authority.sign(&payload).unwrap();
    let own = Signer::new(authority.root().as_bytes(), Some(NAME)).unwrap();
    assert!(read(signed.as_bytes(), &own, now()).is_ok());
    // Another root, the built-in one, and another name under the same root.
    let other = Authority::new(NAME).unwrap();
    let others = [
        Signer::new(other.root().as_bytes(), None).unwrap(),
        Signer::fido().unwrap(),
        Signer::new(authority.root().as_bytes(), Some("mds.fidoalliance.org")).unwrap(),
    ];
    for signer in others {
        assert!(matches!(read(signed.as_bytes(), &signer, now()), Err(MdsError::Signer(_))), "{signer:?}");
    }
    // An expired certificate.
    let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
    params.not_after = date_time_ymd(2026, 11, 1);
    let ended = Authority::certifying(params).unwrap();
    let signer = Signer::new(ended.root().as_bytes(), None).unwrap();
    let document = ended.sign(&payload).unwrap();
    assert!(matches!(read(document.as_bytes(), &signer, now()), Err(MdsError::Signer(_))));
    assert!(read(document.as_bytes(), &signer, "2026-10-01T00:00:00.000Z".parse().unwrap()).is_ok());
    assert!(Signer::new(b"no PEM", None).is_err());
}

#[test]
fn changed_documents_are_refused() {
    let authority = Authority::new(NAME).unwrap();
    let signer = Signer::new(authority.root().as_bytes(), None).unwrap();
    let signed = authority.sign(&document(&json!([]))).unwrap();
    let parts: Vec<_> = signed.split('.').collect();
    let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
    let header: Value =
        serde_json::from_slice(&BASE64URL_NOPAD.decode(parts[0].as_bytes()).unwrap()).unwrap();
    let with = |member: &str, value: Value| {
        let mut header = header.clone();
        header[member] = value;
        format!("{}.{}.{}", part(&header), parts[1], parts[2])
    };
    let changed = format!("{}.{}.{}", parts[0], part(&document(&json!([{}]))), parts[2]);
    assert!(matches!(read(changed.as_bytes(), &signer, now()), Err(MdsError::Signature)));
    assert!(matches!(
        read(with("alg", "none".into()).as_bytes(), &signer, now()),
        Err(MdsError::Algorithm(_))
    ));
    assert!(matches!(
        read(with("alg", "HS256".into()).as_bytes(), &signer, now()),
        Err(MdsError::Algorithm(_))
    ));
    assert!(matches!(read(with("alg", "RS256".into()).as_bytes(), &signer, now()), Err(MdsError::Signature)));
    assert!(matches!(read(with("x5c", json!([])).as_bytes(), &signer, now()), Err(MdsError::Malformed(_))));
    let chain = |length: usize| with("x5c", json!(vec![header["x5c"][0].clone(); length]));
    assert!(matches!(read(chain(8).as_bytes(), &signer, now()), Err(MdsError::Signature)));
    assert!(matches!(read(chain(9).as_bytes(), &signer, now()), Err(MdsError::Malformed(_))));
    for bytes in [&b""[..], b".", b"..", b"a.b", b"!.!.!", parts[0].as_bytes()] {
        assert!(matches!(read(bytes, &signer, now()), Err(MdsError::Malformed(_))));
    }
    let signed = authority.sign(&json!({ "no": "seven" })).unwrap();
    assert!(matches!(read(signed.as_bytes(), &signer, now()), Err(MdsError::Payload(_))));
    // Change one character of any part. Trailing bits of a base64url part may be unused, so the decoder has to be
    // strict.
    let signed = authority.sign(&document(&json!([]))).unwrap();
    proptest!(|(at in 0..signed.len(), letter in "[A-Za-z0-9_-]")| {
        let mut other = signed.clone();
        other.replace_range(at..=at, &letter);
        prop_assert!(other == signed || read(other.as_bytes(), &signer, now()).is_err());
    });
}

#[test]
fn corpus_and_its_mutations_satisfy_the_fuzz_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/mds");
    let mut corpus: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(corpus.len() > 10);
    corpus.push(include_bytes!("data/rs256.jwt").to_vec());
    for input in &corpus {
        fuzz::mds(input);
    }
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        ".",
        "null",
        "0",
        "-1",
        "1e999",
        "\"aaguid\":",
        "\"REVOKED\"",
        "\\ud800",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720b",
        "\"entries\":[{}],",
        "MIIB",
        "é",
        "\0",
    ]);
    let changed = (prop::sample::select(corpus), any::<prop::sample::Index>(), 0..12_usize, pieces).prop_map(
        |(mut input, at, over, piece)| {
            let at = at.index(input.len() + 1);
            let end = (at + over).min(input.len());
            drop(input.splice(at..end, piece.bytes()));
            input
        },
    );
    let (mut runner, begun) = (TestRunner::new(Config::default()), Instant::now());
    while begun.elapsed() < fuzz_time() {
        fuzz::mds(&changed.new_tree(&mut runner).unwrap().current());
    }
}
