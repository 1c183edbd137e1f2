//! Documents that are expensive to process. None has a valid signature; all cause work before that is known.

use data_encoding::BASE64;
use saml_sp::Reason::{self, BadDigest, BadSignature, OutOfBounds, SignatureShape};

use crate::{
    factory::{Build, Swap},
    hostile::Hostile,
    keys::ATTACKER,
    sign::{EXCLUSIVE, Hash},
};

/// Bytes that fit into the form field.
const ROOM: usize = 720 * 1024;

pub(crate) fn all() -> Vec<Hostile> {
    [beyond(), within()].into_iter().flatten().collect()
}

/// Inserts `stuff` after signing, without renewing the signature.
fn sent(place: &str, stuff: &str) -> String {
    Build::assertion_signed().xml().swap(place, &format!("{stuff}{place}"))
}

const STATEMENT: &str = "</saml:AttributeStatement>";

fn beyond() -> Vec<Hostile> {
    let of = |name: &str, xml: String| Hostile::of(name, xml, OutOfBounds);
    let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    let attributes = |count: usize| {
        let all: String = (0..count).map(|n| format!(" a{n}=\"\"")).collect();
        format!("<a{all}></a>")
    };
    let namespaces = |count: usize| {
        let all: String = (0..count).map(|n| format!(" xmlns:n{n}=\"urn:n{n}\"")).collect();
        format!("<a{all}></a>")
    };
    let deep_namespaces: String = (0..60).map(|n| format!("<a xmlns:n{n}=\"u\" xmlns:m{n}=\"u\">")).collect();
    vec![
        of("19,000 comments", sent(STATEMENT, &"<!---->".repeat(19_000))),
        of("100 comments", sent(STATEMENT, &"<!-- -->".repeat(100))),
        of("as deep as fits", sent(STATEMENT, &nested(ROOM / 8))),
        of("70 deep", sent(STATEMENT, &nested(70))),
        of("deep and never closed", sent(STATEMENT, &"<a>".repeat(ROOM / 4))),
        of("as many elements as fit", sent(STATEMENT, &"<a/>".repeat(ROOM / 5))),
        of("12,000 more elements", sent(STATEMENT, &"<a/>".repeat(12_000))),
        of("as many attributes as fit", sent(STATEMENT, &attributes(15_000))),
        of("70 attributes", sent(STATEMENT, &attributes(70))),
        of(
            "70 namespaces",
            sent(STATEMENT, &namespaces(63).swap("></a>", &format!(">{}</a>", namespaces(7)))),
        ),
        of(
            "many namespaces, each deeper",
            sent(STATEMENT, &format!("{deep_namespaces}{}", "</a>".repeat(60))),
        ),
        of(
            "10,000 attributes of the root",
            Build::assertion_signed().xml().swap(
                " ID=\"_r1\"",
                &format!("{} ID=\"_r1\"", (0..10_000).map(|n| format!(" a{n}=\"\"")).collect::<String>()),
            ),
        ),
        Hostile::of(
            "201 attributes of the person",
            {
                let all: String =
                    (0..201).map(|n| format!("<saml:Attribute Name=\"a{n}\"></saml:Attribute>")).collect();
                Build::assertion_signed().within(STATEMENT, &format!("{all}{STATEMENT}")).xml()
            },
            OutOfBounds,
        ),
        Hostile::of(
            "10,001 values",
            {
                let all = format!(
                    "<saml:Attribute Name=\"a\">{}</saml:Attribute>",
                    "<saml:AttributeValue></saml:AttributeValue>".repeat(saml_sp::MAX_VALUES - 1)
                );
                Build::assertion_signed().within(STATEMENT, &format!("{all}{STATEMENT}")).xml()
            },
            OutOfBounds,
        ),
    ]
}

/// Documents that reach each limit without exceeding it: signed by a key that is not pinned, or inserted into a
/// signed assertion.
fn within() -> Vec<Hostile> {
    let mut cases = alone();
    for (name, stuff) in stuffing() {
        let added = format!(
            "<saml:Attribute Name=\"x\"><saml:AttributeValue>{stuff}</saml:AttributeValue></saml:Attribute>"
        );
        let forged = Build::assertion_signed()
            .within(STATEMENT, &format!("{added}{STATEMENT}"))
            .signing(|signing| signing.by(&ATTACKER, Hash::Sha256));
        cases.push(Hostile::built(format!("{name}, signed by an attacker"), &forged, BadSignature));
        let swollen = Build::assertion_signed().signing(|signing| signing.prefixes = KEPT);
        cases.push(Hostile::of(
            format!("{name}, signed without it"),
            swollen.xml().swap(STATEMENT, &format!("{added}{STATEMENT}")),
            BadDigest,
        ));
    }
    cases
}

/// Prefixes that identity providers list in InclusiveNamespaces.
const KEPT: &[&str] = &["xs", "xsi", "n0", "n1", "n2", "n3", "#default"];

fn stuffing() -> Vec<(&'static str, String)> {
    let nested =
        |depth: usize, inner: &str| format!("{}{inner}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    let attributes = |count: usize, prefix: &str| -> String {
        (0..count).map(|n| format!(" {}a{n}=\"\"", prefix.replace('N', &n.to_string()))).collect()
    };
    let namespaces = |count: usize, uri: &str| -> String {
        (0..count).map(|n| format!(" xmlns:n{n}=\"{uri}{n}\"")).collect()
    };
    // As many elements as fit, at most `most`.
    let fill = |element: &str, most: usize| element.repeat(((ROOM - 20_000) / element.len()).min(most));
    let (plain, prefixed) = (attributes(62, ""), attributes(55, "nN:"));
    let (absolute, relative) = (namespaces(55, "urn:"), namespaces(55, "u"));
    vec![
        ("11,900 elements", fill("<a/>", 11_900)),
        ("11,800 elements, 58 deep", nested(55, &fill("<a/>", 11_800))),
        ("elements of 62 attributes, 58 deep", nested(55, &fill(&format!("<a{plain}/>"), 570))),
        ("elements of 3 attributes, 58 deep", nested(55, &fill("<a a=\"\" b=\"\" c=\"\"/>", 11_800))),
        ("55 namespaces, used by each of 600 elements", format!("<a{absolute}>{}</a>", fill(&format!("<a{prefixed}/>"), 600))),
        ("55 namespaces above 1,800 elements, 58 deep", format!("<a{absolute}>{}</a>", nested(54, &fill("<n54:a/>", 1_800)))),
        ("55 namespaces above 1,800 elements, some kept", format!("<a{absolute}>{}</a>", nested(54, &fill("<a/>", 1_800)))),
        ("55 namespaces that are relative, used by each of 600 elements", format!("<a{relative}>{}</a>", fill(&format!("<a{prefixed}/>"), 600))),
        ("11,800 elements that declare a namespace each", nested(50, &fill("<n:a xmlns:n=\"urn:n\"/>", 11_800))),
        ("11,800 elements that bind a kept prefix each", nested(50, &fill("<a xmlns:xs=\"urn:n\"/>", 11_800))),
        ("a text as long as fits", fill("a", usize::MAX)),
        ("a text of only ampersands", fill("&amp;", usize::MAX)),
        ("a text of only carriage returns", fill("&#13;", usize::MAX)),
        ("a text of only white space", fill(" ", usize::MAX)),
        ("CDATA after CDATA", fill("<![CDATA[&]]>", usize::MAX)),
        ("60 comments and long texts", fill("<b>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</b>", usize::MAX).replacen("<b>", "<!-- --><b>", 60)),
        ("an attribute as long as fits", format!("<a a=\"{}\"/>", fill("&quot;", usize::MAX))),
    ]
}

/// Documents that reach a limit in a special way.
fn alone() -> Vec<Hostile> {
    let of = |name: &str, xml: String, reason: Reason| Hostile::of(name, xml, reason);
    let usual = || Build::assertion_signed().xml();
    let forged = |info: &str| {
        let build = Build::assertion_signed().signing(|signing| {
            signing.by(&ATTACKER, Hash::Sha256);
            signing.key_info = format!("<ds:KeyInfo>{info}</ds:KeyInfo>");
        });
        build.xml()
    };
    let certificate =
        |text: &str| format!("<ds:X509Data><ds:X509Certificate>{text}</ds:X509Certificate></ds:X509Data>");
    let list: String = (0..120).map(|n| format!("n{} ", n % 55)).collect();
    let kept = format!("<ec:InclusiveNamespaces xmlns:ec=\"{EXCLUSIVE}\" PrefixList=\"{list}\"/>");
    vec![
        of(
            "a SignatureValue as long as fits",
            usual().first("<ds:SignatureValue>", &format!("<ds:SignatureValue>{}", "AAAA".repeat(160_000))),
            SignatureShape,
        ),
        of(
            "a DigestValue as long as fits",
            usual().first("<ds:DigestValue>", &format!("<ds:DigestValue>{}", "AAAA".repeat(160_000))),
            SignatureShape,
        ),
        of("an ID as long as fits", usual().all("_a1", &"a".repeat(50_000)), Reason::BadId),
        of(
            "an InResponseTo as long as fits",
            Build::assertion_signed()
                .around(" InResponseTo=\"", &format!(" InResponseTo=\"{}", "a".repeat(160_000)))
                .xml(),
            Reason::UnknownRequest,
        ),
        of(
            "100 certificates",
            forged(&certificate(&ATTACKER.certificate.base64()).repeat(100)),
            BadSignature,
        ),
        of(
            "a certificate that is a document",
            forged(&certificate(&BASE64.encode(&[0x30; 60_000]))),
            BadSignature,
        ),
        of(
            "a PrefixList of 120 prefixes",
            usual().all(
                &format!("<ds:Transform Algorithm=\"{EXCLUSIVE}\">"),
                &format!("<ds:Transform Algorithm=\"{EXCLUSIVE}\">{kept}"),
            ),
            BadSignature,
        ),
        of(
            "what is encrypted is as long as fits",
            Build::encrypted().sealing(|seal| seal.bend = |sealed| sealed.extend([0; 100_000])).xml(),
            Reason::Undecryptable,
        ),
        of(
            "to four recipients, none of them we",
            Build::encrypted().sealing(|seal| seal.recipients = vec![ATTACKER.certificate.clone(); 4]).xml(),
            Reason::Undecryptable,
        ),
    ]
}
