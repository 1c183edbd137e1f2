//! SAML names in other namespaces, and canonical forms that are empty or undefined.

use saml_sp::Reason::{
    self, BadDigest, BadSignature, MisplacedSignature, NotAResponse, NotConfirmed, NotOneAssertion,
    NotWellFormed, UnexpectedElement, UnknownCondition,
};

use crate::{
    factory::{Build, SAML, SAMLP, Swap, USUAL, XSI},
    hostile::{Hostile, VICTIM},
};

pub(crate) fn all() -> Vec<Hostile> {
    [confused(), void()].into_iter().flatten().collect()
}

fn confused() -> Vec<Hostile> {
    let build = Build::assertion_signed;
    let xml = build().xml();
    let renamed = |element: &str| {
        build()
            .xml()
            .all(&format!("saml:{element}>"), &format!("x:{element}>"))
            .replace(&format!("<saml:{element} "), &format!("<x:{element} xmlns:x=\"urn:x\" "))
    };
    let foreign = |element: &str| {
        let text = build().assertion.all(&format!("saml:{element}>"), &format!("x:{element}>"));
        let text = text.replace(&format!("<saml:{element} "), &format!("<x:{element} "));
        Build { assertion: text.swap("xmlns:saml=", "xmlns:x=\"urn:x\" xmlns:saml="), ..build() }
    };
    let of = |name: &str, xml: String, reason: Reason| Hostile::of(name, xml, reason);
    vec![
        of("a response of SAML 1.1", xml.swap(SAMLP, "urn:oasis:names:tc:SAML:1.0:protocol"), NotAResponse),
        of(
            "a response of no namespace",
            xml.all("samlp:", "").swap("xmlns:samlp=", "xmlns:unused="),
            NotAResponse,
        ),
        of(
            "an assertion of SAML 1.1",
            build().within(SAML, "urn:oasis:names:tc:SAML:1.0:assertion").xml(),
            NotOneAssertion,
        ),
        of("an assertion of an unknown namespace", build().within(SAML, "urn:x").xml(), NotOneAssertion),
        of("an assertion of the namespace of protocols", build().within(SAML, SAMLP).xml(), NotOneAssertion),
        of(
            "a namespace that ends with a slash",
            build().within(SAML, &format!("{SAML}/")).xml(),
            NotOneAssertion,
        ),
        of("a namespace with white space", build().within(SAML, &format!(" {SAML}")).xml(), NotOneAssertion),
        of("a Subject of an unknown namespace", foreign("Subject").xml(), UnexpectedElement),
        of("a Conditions of an unknown namespace", foreign("Conditions").xml(), UnexpectedElement),
        of("a NameID of an unknown namespace", foreign("NameID").xml(), UnexpectedElement),
        of("a restriction of an unknown namespace", foreign("AudienceRestriction").xml(), UnknownCondition),
        of("an audience of an unknown namespace", foreign("Audience").xml(), UnknownCondition),
        of(
            "a confirmation's data of an unknown namespace",
            foreign("SubjectConfirmationData").xml(),
            NotConfirmed,
        ),
        of(
            "the issuer's namespace was changed",
            renamed("AuthnContextClassRef")
                .first("<x:AuthnContextClassRef>", "<x:AuthnContextClassRef xmlns:x=\"urn:x\">"),
            BadDigest,
        ),
        of(
            "a Status of the namespace of assertions",
            build()
                .around("<samlp:Status>", "<saml:Status>")
                .around("</samlp:Status>", "</saml:Status>")
                .xml(),
            UnexpectedElement,
        ),
        of(
            "an attribute in the namespace of its element",
            build().within(" Version=\"2.0\"", " saml:Version=\"2.0\"").xml(),
            NotOneAssertion,
        ),
        of(
            "a prefix means another namespace within",
            xml.swap("<saml:Subject>", "<saml:Subject xmlns:saml=\"urn:x\">"),
            UnexpectedElement,
        ),
        of(
            "the prefix of signatures means another namespace",
            xml.swap("<ds:SignedInfo>", "<ds:SignedInfo xmlns:ds=\"urn:x\">"),
            Reason::SignatureShape,
        ),
        of(
            "a Signature of the namespace of assertions",
            xml.all("ds:Signature>", "saml:Signature>").swap("<ds:Signature ", "<saml:Signature "),
            MisplacedSignature,
        ),
        of(
            "a restriction that declares another type",
            build()
                .within(
                    "<saml:AudienceRestriction>",
                    &format!("<saml:AudienceRestriction xmlns:xsi=\"{XSI}\" xsi:type=\"x\">"),
                )
                .xml(),
            UnknownCondition,
        ),
    ]
}

/// Markup for which canonical forms differ, fail, or were empty in some library.
fn void() -> Vec<Hostile> {
    let forged = |mark: &str| {
        let xml = Build::assertion_signed().xml();
        xml.swap("<saml:Assertion ", &format!("<saml:Assertion {mark} "))
            .swap(">ada@corp.example</saml:NameID>", &format!(">{VICTIM}</saml:NameID>"))
    };
    // The SHA-256 of the empty string.
    let empty = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
    let void = |mark: &str| {
        let unsigned = Build::unsigned(USUAL);
        let signing = Build::assertion_signed().signs_assertion.unwrap();
        let signed = signing.sign(&unsigned.assertion, "_a1");
        let (_, digest) = signed.cut("<ds:DigestValue>", "</ds:DigestValue>");
        let signed = signed.swap(&digest, &format!("<ds:DigestValue>{empty}</ds:DigestValue>"));
        let signed = signed.swap(">ada@corp.example</saml:NameID>", &format!(">{VICTIM}</saml:NameID>"));
        unsigned.whole(&signed.swap("<saml:Assertion ", &format!("<saml:Assertion {mark} ")))
    };
    let of = |name: &str, xml: String, reason: Reason| Hostile::of(name, xml, reason);
    vec![
        of("a relative namespace", forged("xmlns:x=\"../x\" x:a=\"1\""), BadDigest),
        of(
            "a relative namespace, the digest of an empty text",
            void("xmlns:x=\"1\" x:a=\"1\""),
            BadSignature,
        ),
        of(
            "a namespace that is not a URI, the digest of an empty text",
            void("xmlns:x=\"http://[\" x:a=\"1\""),
            BadSignature,
        ),
        of("the digest of an empty text", void(""), BadSignature),
        of(
            "an unused relative namespace, in the signed response",
            Build::response_signed().xml().swap("<samlp:Response ", "<samlp:Response xmlns:x=\"y\" "),
            BadDigest,
        ),
        of(
            "a relative namespace in the signed response",
            Build::response_signed()
                .xml()
                .swap("<samlp:Response ", "<samlp:Response xmlns:x=\"y\" x:a=\"1\" "),
            BadDigest,
        ),
        of("xml:base", forged("xml:base=\"http://[::\""), BadDigest),
        of("xml:space and xml:lang", forged("xml:space=\"preserve\" xml:lang=\"\""), BadDigest),
        of("the prefix xmlns is bound", forged("xmlns:xmlns=\"urn:x\""), BadDigest),
        of("the prefix xml is bound to something else", forged("xmlns:xml=\"urn:x\""), NotWellFormed),
        of(
            "a prefix is bound to the namespace of xml",
            forged("xmlns:x=\"http://www.w3.org/XML/1998/namespace\" x:a=\"1\""),
            NotWellFormed,
        ),
        of("a prefix is bound to an empty namespace", forged("xmlns:x=\"\""), BadDigest),
        of(
            "a name that begins with a colon",
            Build::assertion_signed()
                .xml()
                .swap("<saml:Subject>", "<:Subject>")
                .swap("</saml:Subject>", "</:Subject>"),
            UnexpectedElement,
        ),
        of(
            "a name of two colons",
            Build::assertion_signed()
                .xml()
                .swap("<saml:Subject>", "<saml:x:Subject>")
                .swap("</saml:Subject>", "</saml:x:Subject>"),
            NotWellFormed,
        ),
    ]
}
