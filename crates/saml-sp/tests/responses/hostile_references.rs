//! References to anything but the element that contains the signature, local or remote.

use saml_sp::Reason::SignatureShape;

use crate::{
    factory::{Build, Swap},
    hostile::{Hostile, TRAP},
};

pub(crate) fn all() -> Vec<Hostile> {
    let trap = &TRAP.1;
    let to =
        |uri: &str| Build::assertion_signed().signing(|signing| signing.change(" URI=\"#_a1\"", uri)).xml();
    let mut cases = Vec::new();
    let far = [
        format!("{trap}/signed.xml"),
        format!("{trap}/#_a1"),
        format!("//{}/x", trap.trim_start_matches("http://")),
        trap.replace("http", "ftp"),
    ];
    let near = [
        "",
        "#",
        "#_r1",
        "#_A1",
        "#_a2",
        "_a1",
        "##_a1",
        "#_a1 ",
        " #_a1",
        "#%5fa1",
        "#xpointer(/)",
        "#xpointer(id('_a1'))",
        "#xpointer(//*[@ID='_a1'])",
        "#element(/1/3)",
        "file:///etc/passwd",
        "/etc/passwd",
        "cid:part",
        "urn:x",
    ];
    for uri in near.into_iter().chain(far.iter().map(String::as_str)) {
        cases.push(Hostile::of(format!("URI {uri}"), to(&format!(" URI=\"{uri}\"")), SignatureShape));
    }
    let of_response = Build::response_signed();
    let (_, signature) = of_response.xml().cut("<ds:Signature", "</ds:Signature>");
    let moved =
        Build::assertion_signed().assertion.first("</saml:Issuer>", &format!("</saml:Issuer>{signature}"));
    cases.extend([
        Hostile::of("no URI", to(""), SignatureShape),
        Hostile::of("a URI in a namespace", to(" xmlns:x=\"urn:x\" x:URI=\"#_a1\""), SignatureShape),
        Hostile::of(
            "a URI in a namespace, to a remote host, next to the true one",
            to(&format!(" xmlns:x=\"urn:x\" x:URI=\"{trap}/x\" URI=\"#_a1\"")),
            SignatureShape,
        ),
        Hostile::of(
            "a URI in a namespace, to the response, next to the true one",
            to(" xmlns:x=\"urn:x\" x:URI=\"#_r1\" URI=\"#_a1\""),
            SignatureShape,
        ),
        Hostile::of(
            "the assertion's signature refers to the response",
            of_response.response.swap("{}", &moved),
            SignatureShape,
        ),
        Hostile::of(
            "the response's signature refers to the assertion",
            {
                let xml = Build::assertion_signed().xml();
                let (bare, signature) = xml.cut("<ds:Signature", "</ds:Signature>");
                bare.first("</saml:Issuer>", &format!("</saml:Issuer>{signature}"))
            },
            SignatureShape,
        ),
        Hostile::of(
            "the response's signature refers to the assertion, which is signed too",
            {
                let xml = Build::assertion_signed().xml();
                let (_, signature) = xml.cut("<ds:Signature", "</ds:Signature>");
                xml.first("</saml:Issuer>", &format!("</saml:Issuer>{signature}"))
            },
            SignatureShape,
        ),
    ]);
    cases
}
