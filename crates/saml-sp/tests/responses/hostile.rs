//! Hostile responses, many modeled on known vulnerabilities. Each must be rejected for the expected reason and
//! quickly.

use std::{net::TcpListener, sync::LazyLock, time::Duration};

use saml_sp::{Provider, Reason};

use crate::{
    cpu,
    factory::{Build, field},
    hostile_addressing, hostile_assertions, hostile_bounds, hostile_emails, hostile_encoding,
    hostile_encrypted, hostile_markup, hostile_namespaces, hostile_references, hostile_signatures,
    hostile_subjects, hostile_values, hostile_wrapping,
    world::{enter, examined},
};

/// The account that forgers claim; the identity provider never signs an assertion for it.
pub(crate) const VICTIM: &str = "root@corp.example";

/// A response that must be rejected.
pub(crate) struct Hostile {
    pub(crate) name: String,
    /// The document, if the field contains one.
    pub(crate) xml: Option<String>,
    pub(crate) field: String,
    pub(crate) change: fn(&mut Provider),
    pub(crate) expected: Reason,
}

impl Hostile {
    pub(crate) fn of(name: impl Into<String>, xml: String, expected: Reason) -> Self {
        Self { name: name.into(), field: field(&xml), xml: Some(xml), change: |_| (), expected }
    }

    pub(crate) fn built(name: impl Into<String>, build: &Build, expected: Reason) -> Self {
        Self::of(name, build.xml(), expected)
    }

    pub(crate) fn bytes(name: impl Into<String>, field: String, expected: Reason) -> Self {
        Self { name: name.into(), field, xml: None, change: |_| (), expected }
    }

    pub(crate) fn for_provider(self, change: fn(&mut Provider)) -> Self {
        Self { change, ..self }
    }
}

/// All hostile responses by family, built once because signing hundreds of documents takes seconds.
pub(crate) static ALL: LazyLock<Vec<(&'static str, Vec<Hostile>)>> = LazyLock::new(|| {
    vec![
        ("encoding", hostile_encoding::all()),
        ("markup", hostile_markup::all()),
        ("bounds", hostile_bounds::all()),
        ("wrapping", hostile_wrapping::all()),
        ("assertions", hostile_assertions::all()),
        ("signatures", hostile_signatures::all()),
        ("references", hostile_references::all()),
        ("values", hostile_values::all()),
        ("namespaces", hostile_namespaces::all()),
        ("encrypted", hostile_encrypted::all()),
        ("addressing", hostile_addressing::all()),
        ("subjects", hostile_subjects::all()),
        ("emails", hostile_emails::all()),
    ]
});

/// A listener in every URL that a hostile document names. It detects when a document causes a connection.
pub(crate) static TRAP: LazyLock<(TcpListener, String)> = LazyLock::new(|| {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    (listener, address)
});

/// The limit of CPU time for a response of up to 1 MiB, as the best of five runs. Without optimization, most of the
/// time goes to base64 and copying.
const MOST: Duration = Duration::from_millis(if cfg!(debug_assertions) { 400 } else { 100 });

#[test]
fn every_hostile_response_is_refused_quickly_for_the_expected_reason() {
    saml_sp::warm_up();
    let (mut wrong, mut count, mut slow) = (Vec::new(), 0, Vec::new());
    for (family, cases) in ALL.iter() {
        for case in cases {
            count += 1;
            match enter(&case.field, case.change) {
                Ok(entered) => {
                    wrong.push(format!("{family}: {} was accepted as {}", case.name, entered.email));
                }
                Err(refusal) if refusal.reason != case.expected => {
                    wrong.push(format!("{family}: {}: {refusal}, expected {:?}", case.name, case.expected));
                }
                Err(_) => {}
            }
            let claims = examined(&case.field, case.change).claims;
            if claims.is_some_and(|claims| format!("{claims:?}").contains(VICTIM)) {
                wrong.push(format!("{family}: {}: returned unsigned claims", case.name));
            }
            let examine = || cpu::of(|| drop(examined(&case.field, case.change)));
            let mut took = examine();
            if took >= MOST {
                took = (0..4).map(|_| examine()).min().unwrap();
            }
            slow.push((took, format!("{family}: {}", case.name)));
        }
        println!("{family}: {}", cases.len());
    }
    slow.sort();
    slow.reverse();
    println!("{count} hostile responses; the slowest:");
    for (took, name) in slow.iter().take(12) {
        println!("{:>8.2} ms  {name}", cpu::millis(*took));
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 165, "{count}");
    assert!(slow[0].0 < MOST, "{:?}", slow[0]);
    let heard = TRAP.0.accept();
    assert!(heard.is_err(), "a URL in a document was fetched: {heard:?}");
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> =
        ALL.iter().flat_map(|(family, cases)| cases.iter().map(move |case| (family, &case.name))).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}
