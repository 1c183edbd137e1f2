//! Maps known vulnerabilities of SAML implementations to the hostile documents that attempt the same.

use std::collections::BTreeSet;

use crate::hostile;

/// A vulnerability, with the family and name of its documents.
const LESSONS: &[(&str, &[(&str, &str)])] = &[
    (
        "CVE-2024-45409: a digest from another place in the document",
        &[
            ("signatures", "a DigestValue in another place"),
            ("signatures", "two DigestValues"),
            ("wrapping", "the signed response, with the forged assertion in the detail of its status"),
        ],
    ),
    (
        "CVE-2025-25291, CVE-2025-25292: two parsers see two documents",
        &[
            ("markup", "a DOCTYPE after a comment"),
            ("namespaces", "the prefix of signatures means another namespace"),
            ("signatures", "a SignedInfo of another namespace"),
        ],
    ),
    (
        "CVE-2025-23369: entities change what is digested",
        &[
            ("markup", "an entity"),
            ("markup", "an entity of markup"),
            ("markup", "an attribute that is an ID by DOCTYPE"),
        ],
    ),
    (
        "CVE-2025-29774, CVE-2025-29775: two SignedInfos, a comment in the digest",
        &[
            ("signatures", "two SignedInfos, the forged one first"),
            ("signatures", "a second SignedInfo in an Object"),
            ("signatures", "a digest in a comment before the DigestValue's"),
            ("signatures", "CDATA in the DigestValue"),
        ],
    ),
    (
        "CVE-2025-54419, CVE-2025-54369: read from other content than the signed one",
        &[
            ("values", "a comment in the middle of the NameID"),
            ("wrapping", "the signed assertion, its signature is in the response"),
        ],
    ),
    (
        "CVE-2025-47949: a valid signature, but not over the consumed content",
        &[
            ("wrapping", "the signed assertion, XSW3: before the forged one"),
            ("references", "the response's signature refers to the assertion"),
        ],
    ),
    (
        "CVE-2024-8698, CVE-2026-2092, CVE-2026-1190, CVE-2026-7307: position, encryption, the bearer's end, limits",
        &[
            ("wrapping", "the signed response, its signature refers to it from the forged one"),
            ("encrypted", "unsigned in an unsigned response"),
            ("subjects", "ended 60 seconds ago"),
            ("bounds", "as deep as fits"),
        ],
    ),
    (
        "CVE-2026-25922, CVE-2026-41577, CVE-2026-47201: one assertion, and its conditions",
        &[("wrapping", "the signed assertion, XSW3: after the forged one"), ("addressing", "no Conditions")],
    ),
    (
        "CVE-2026-63182: a decoy in Extensions, an assertion within the signature of an error",
        &[
            ("wrapping", "the signed assertion, XSW7: the forged one in Extensions"),
            ("wrapping", "a signed error with an assertion within its signature"),
        ],
    ),
    (
        "CVE-2021-28091: the first of several assertions",
        &[
            ("wrapping", "a forged one in plain text after the encrypted one"),
            ("wrapping", "the signed response, with the forged assertion after its own"),
        ],
    ),
    (
        "The Fragile Lock: attributes twice, namespaces confused, empty canonical forms",
        &[
            ("emails", "the mapped attribute twice"),
            ("namespaces", "a Subject of an unknown namespace"),
            ("namespaces", "a relative namespace, the digest of an empty text"),
        ],
    ),
    (
        "CVE-2020-29509, CVE-2023-26483: reserialization changes the document; decompression expands it",
        &[("namespaces", "a name of two colons"), ("encoding", "compressed, as in a URL")],
    ),
    (
        "CVE-2009-0217, CVE-2021-21239, CVE-2019-3465: lengths of HMAC, keys of any kind, parts of a name",
        &[
            ("signatures", "HMAC with the public key"),
            ("signatures", "HMAC of no length"),
            ("values", "a comment in the NameID"),
            ("assertions", "declares ECDSA, but is RSA"),
        ],
    ),
    (
        "unmodified libxmlsec1: it fetches what a reference names",
        &[
            ("references", "a URI in a namespace, to a remote host, next to the true one"),
            ("references", "URI file:///etc/passwd"),
            ("signatures", "XSLT with a URL"),
            ("assertions", "by another key, to be fetched"),
        ],
    ),
];

#[test]
fn every_known_vulnerability_has_its_documents() {
    let all: BTreeSet<(&str, &str)> = hostile::ALL
        .iter()
        .flat_map(|(family, cases)| cases.iter().map(move |case| (*family, case.name.as_str())))
        .collect();
    for (lesson, documents) in LESSONS {
        for (family, name) in *documents {
            assert!(all.contains(&(*family, *name)), "{lesson}: there is no {family}: {name}");
        }
    }
}
