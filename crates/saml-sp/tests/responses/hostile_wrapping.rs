//! Signature wrapping: the signed element is still in the document, but another one is meant to be read.

use saml_sp::Reason::{
    self, BadId, MisplacedSignature, NotOneAssertion, NotSuccess, SignatureShape, UnexpectedElement,
};

use crate::{
    factory::{Build, SUCCESS, Swap},
    hostile::{Hostile, VICTIM},
    seal::Seal,
};

pub(crate) fn all() -> Vec<Hostile> {
    [of_assertions(), of_responses(), decoys(), hidden()].into_iter().flatten().collect()
}

/// The forger's material: a signed assertion, the same unsigned, its signature, and the forged assertion.
struct Parts {
    shell: String,
    signed: String,
    bare: String,
    signature: String,
    evil: String,
}

impl Parts {
    fn of(build: &Build, signed: String, id: &str) -> Self {
        let (bare, signature) = signed.cut("<ds:Signature", "</ds:Signature>");
        let evil = bare.swap(&format!("ID=\"{id}\""), "ID=\"_evil\"");
        let evil = evil.swap(">ada@corp.example</saml:NameID>", &format!(">{VICTIM}</saml:NameID>"));
        Self { shell: build.response.clone(), signed, bare, signature, evil }
    }

    /// Returns the parts of a signed assertion in an unsigned response.
    fn assertion() -> Self {
        let build = Build::assertion_signed();
        Self::of(&build, build.lone(), "_a1")
    }

    /// Returns the parts of a signed response.
    fn response() -> Self {
        let build = Build::response_signed();
        Self::of(&build, build.xml(), "_r1")
    }

    /// Returns the signature with `inner` inside.
    fn around(&self, inner: &str) -> String {
        self.signature.swap("</ds:Signature>", &format!("{inner}</ds:Signature>"))
    }

    fn sent(&self, assertions: &str) -> String {
        self.shell.swap("{}", assertions)
    }
}

/// Inserts text after the first issuer.
fn behind_issuer(text: &str, added: &str) -> String {
    text.first("</saml:Issuer>", &format!("</saml:Issuer>{added}"))
}

fn in_object(text: &str) -> String {
    format!("<ds:Object>{text}</ds:Object>")
}

fn of_assertions() -> Vec<Hostile> {
    let parts = Parts::assertion();
    let Parts { signed, bare, signature, evil, .. } = &parts;
    let of = |name: &str, assertions: String, reason: Reason| {
        Hostile::of(format!("the signed assertion, {name}"), parts.sent(&assertions), reason)
    };
    let same_id = evil.swap("_evil", "_a1");
    vec![
        of("XSW1: within the signature", behind_issuer(evil, &parts.around(bare)), NotOneAssertion),
        of("XSW2: before the signature", behind_issuer(evil, &format!("{bare}{signature}")), NotOneAssertion),
        of("XSW3: after the forged one", format!("{evil}{signed}"), NotOneAssertion),
        of("XSW3: before the forged one", format!("{signed}{evil}"), NotOneAssertion),
        of(
            "XSW4: within the forged one",
            evil.swap("</saml:Assertion>", &format!("{signed}</saml:Assertion>")),
            NotOneAssertion,
        ),
        of(
            "XSW5: its signature stays with the forged one",
            format!("{}{bare}", behind_issuer(evil, signature)),
            NotOneAssertion,
        ),
        of("XSW5: in the other order", format!("{bare}{}", behind_issuer(evil, signature)), NotOneAssertion),
        of(
            "XSW6: within the key's description",
            behind_issuer(evil, &signature.swap("</ds:KeyInfo>", &format!("{bare}</ds:KeyInfo>"))),
            NotOneAssertion,
        ),
        Hostile::of(
            "the signed assertion, XSW7: the forged one in Extensions",
            parts.sent(signed).swap(
                "<samlp:Status>",
                &format!("<samlp:Extensions>{evil}</samlp:Extensions><samlp:Status>"),
            ),
            NotOneAssertion,
        ),
        Hostile::of(
            "the signed assertion, XSW7: in Extensions itself",
            parts.sent(evil).swap(
                "<samlp:Status>",
                &format!("<samlp:Extensions>{signed}</samlp:Extensions><samlp:Status>"),
            ),
            NotOneAssertion,
        ),
        of("XSW8: in an Object", behind_issuer(evil, &parts.around(&in_object(bare))), NotOneAssertion),
        of("the forged one has its ID", format!("{same_id}{signed}"), NotOneAssertion),
        of(
            "the forged one has its ID and its signature",
            format!("{}{bare}", behind_issuer(&same_id, signature)),
            NotOneAssertion,
        ),
        of(
            "in the Advice of the forged one",
            evil.swap(
                "</saml:Conditions>",
                &format!("</saml:Conditions><saml:Advice>{signed}</saml:Advice>"),
            ),
            NotOneAssertion,
        ),
        of("in a value of the forged one", evil.swap("Ada Lovelace", signed), NotOneAssertion),
        of(
            "in the confirmation of the forged one",
            evil.swap("</saml:SubjectConfirmationData>", &format!("{signed}</saml:SubjectConfirmationData>")),
            NotOneAssertion,
        ),
        of(
            "in a condition of the forged one",
            evil.swap("</saml:Conditions>", &format!("{signed}</saml:Conditions>")),
            NotOneAssertion,
        ),
        of("its signature refers to it from the forged one", behind_issuer(evil, signature), SignatureShape),
        of("its signature is in the response", evil.clone(), UnexpectedElement)
            .with(|xml| behind_issuer(xml, &format!("{signature}{bare}"))),
        of("its signature is before the forged one", format!("{signature}{evil}"), NotOneAssertion),
    ]
}

impl Hostile {
    fn with(self, change: impl Fn(&str) -> String) -> Self {
        let xml = change(&self.xml.unwrap());
        Self::of(self.name, xml, self.expected)
    }
}

fn of_responses() -> Vec<Hostile> {
    let parts = Parts::response();
    let Parts { signed, bare, signature, evil, .. } = &parts;
    let of = |name: &str, xml: String, reason: Reason| {
        Hostile::of(format!("the signed response, {name}"), xml, reason)
    };
    let at_end =
        |text: &str, added: &str| text.swap("</samlp:Response>", &format!("{added}</samlp:Response>"));
    let kept = behind_issuer(evil, signature);
    let evil_assertion = Parts::assertion().evil;
    vec![
        of("XSW1: within the signature", behind_issuer(evil, &parts.around(bare)), NotOneAssertion),
        of(
            "XSW2: before the signature",
            behind_issuer(evil, &format!("{bare}{signature}")),
            UnexpectedElement,
        ),
        of("XSW3: at the end of the forged one", at_end(evil, signed), NotOneAssertion),
        of(
            "XSW4: at the beginning of the forged one",
            evil.first("<saml:Issuer>", &format!("{signed}<saml:Issuer>")),
            UnexpectedElement,
        ),
        of("XSW5: its signature stays with the forged one", at_end(&kept, bare), NotOneAssertion),
        of(
            "XSW6: within the key's description",
            behind_issuer(evil, &signature.swap("</ds:KeyInfo>", &format!("{bare}</ds:KeyInfo>"))),
            NotOneAssertion,
        ),
        of(
            "XSW7: in Extensions",
            evil.swap(
                "<samlp:Status>",
                &format!("<samlp:Extensions>{signed}</samlp:Extensions><samlp:Status>"),
            ),
            NotOneAssertion,
        ),
        of("XSW8: in an Object", behind_issuer(evil, &parts.around(&in_object(bare))), NotOneAssertion),
        of("its signature refers to it from the forged one", kept, SignatureShape),
        of(
            "with the forged assertion before its own",
            signed.swap("<saml:Assertion ", &format!("{evil_assertion}<saml:Assertion ")),
            NotOneAssertion,
        ),
        of("with the forged assertion after its own", at_end(signed, &evil_assertion), NotOneAssertion),
        of(
            "with the forged assertion in the detail of its status",
            signed.swap(
                "</samlp:Status>",
                &format!("<samlp:StatusDetail>{evil_assertion}</samlp:StatusDetail></samlp:Status>"),
            ),
            NotOneAssertion,
        ),
        of(
            "with the forged assertion in its signature",
            signed.swap("</ds:KeyInfo>", &format!("{evil_assertion}</ds:KeyInfo>")),
            NotOneAssertion,
        ),
        of(
            "in an envelope",
            format!(
                "<soap:Envelope xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\">{evil}{signed}</soap:Envelope>"
            ),
            Reason::NotAResponse,
        ),
        of(
            "within a forged response",
            format!("{}{signed}</samlp:Response>", &evil[..evil.find("<saml:Assertion ").unwrap()]),
            NotOneAssertion,
        ),
    ]
}

/// Elements that some implementations take for the assertion.
fn decoys() -> Vec<Hostile> {
    let parts = Parts::assertion();
    let evil = &parts.evil;
    let sealed = Seal::usual().seal("saml", evil);
    let genuine = Seal::usual().seal("saml", &parts.signed);
    let xml = parts.sent(&parts.signed);
    let at = |place: &str, added: &str| xml.first(place, added);
    let names = |name: &str| evil.all("saml:Assertion", name);
    vec![
        Hostile::of(
            "a forged one in plain text before the encrypted one",
            parts.sent(&format!("{evil}{genuine}")),
            NotOneAssertion,
        ),
        Hostile::of(
            "a forged one in plain text after the encrypted one",
            parts.sent(&format!("{genuine}{evil}")),
            NotOneAssertion,
        ),
        Hostile::of(
            "a forged one encrypted next to the signed one",
            parts.sent(&format!("{}{sealed}", parts.signed)),
            NotOneAssertion,
        ),
        Hostile::of(
            "a forged one encrypted before the signed one",
            parts.sent(&format!("{sealed}{}", parts.signed)),
            NotOneAssertion,
        ),
        Hostile::of(
            "a forged one encrypted in Extensions",
            at("<samlp:Status>", &format!("<samlp:Extensions>{sealed}</samlp:Extensions><samlp:Status>")),
            NotOneAssertion,
        ),
        Hostile::of(
            "a forged one encrypted in Advice",
            parts.sent(&parts.signed.swap(
                "</saml:Conditions>",
                &format!("</saml:Conditions><saml:Advice>{sealed}</saml:Advice>"),
            )),
            NotOneAssertion,
        ),
        Hostile::of(
            "an assertion of no namespace",
            parts.sent(&format!(
                "{}{}",
                names("Assertion").swap("xmlns:saml=", "xmlns=\"\" xmlns:saml="),
                parts.signed
            )),
            NotOneAssertion,
        ),
        Hostile::of(
            "an assertion of SAML 1.1 in Extensions",
            at(
                "<samlp:Status>",
                "<samlp:Extensions><Assertion xmlns=\"urn:oasis:names:tc:SAML:1.0:assertion\" AssertionID=\"_x\"></Assertion></samlp:Extensions><samlp:Status>",
            ),
            NotOneAssertion,
        ),
        Hostile::of(
            "another response in Extensions",
            at(
                "<samlp:Status>",
                &format!("<samlp:Extensions>{}</samlp:Extensions><samlp:Status>", Parts::response().evil),
            ),
            NotOneAssertion,
        ),
        Hostile::of(
            "an artifact after the assertion",
            at("</samlp:Response>", "<samlp:Artifact>x</samlp:Artifact></samlp:Response>"),
            NotOneAssertion,
        ),
        Hostile::of(
            "a reference to an assertion after it",
            at("</samlp:Response>", "<saml:AssertionIDRef>_a1</saml:AssertionIDRef></samlp:Response>"),
            NotOneAssertion,
        ),
    ]
}

/// Forged assertions inside an element that is signed or seems to be.
fn hidden() -> Vec<Hostile> {
    let evil = Parts::assertion().evil;
    let failed = |build: Build| build.around(SUCCESS, "urn:oasis:names:tc:SAML:2.0:status:Responder");
    let in_signature =
        |build: Build, what: String| build.signing(|signing| signing.key_info.push_str(&in_object(&what)));
    let empty = Build { assertion: String::new(), ..Build::response_signed() };
    let twice = Build::assertion_signed();
    let lone = twice.lone();
    let (_, signature) = lone.cut("<ds:Signature", "</ds:Signature>");
    vec![
        Hostile::built(
            "a signed error with an assertion within its signature",
            &in_signature(failed(empty.clone()), evil.clone()),
            NotSuccess,
        ),
        Hostile::built("a signed error with an assertion", &failed(Build::both_signed()), NotSuccess),
        Hostile::built(
            "a signed success with its only assertion within its signature",
            &in_signature(empty.clone(), evil.clone()),
            NotOneAssertion,
        ),
        Hostile::built("a signed success without assertion", &empty, NotOneAssertion),
        Hostile::built(
            "an Object in the signature",
            &in_signature(Build::assertion_signed(), "<x></x>".into()),
            SignatureShape,
        ),
        Hostile::of(
            "two signatures of the assertion",
            twice.whole(&lone.first(&signature, &signature.repeat(2))),
            MisplacedSignature,
        ),
        Hostile::of(
            "two signatures of the response",
            {
                let xml = Build::response_signed().xml();
                let (_, signature) = xml.cut("<ds:Signature", "</ds:Signature>");
                xml.first(&signature, &signature.repeat(2))
            },
            UnexpectedElement,
        ),
        Hostile::of(
            "a signature before the issuer",
            twice.whole(&{
                let (bare, signature) = lone.cut("<ds:Signature", "</ds:Signature>");
                bare.first("<saml:Issuer>", &format!("{signature}<saml:Issuer>"))
            }),
            MisplacedSignature,
        ),
        Hostile::of(
            "a signature at the end",
            twice.whole(&{
                let (bare, signature) = lone.cut("<ds:Signature", "</ds:Signature>");
                bare.swap("</saml:Assertion>", &format!("{signature}</saml:Assertion>"))
            }),
            MisplacedSignature,
        ),
        Hostile::of(
            "a signature within the subject",
            twice.whole(&{
                let (bare, signature) = lone.cut("<ds:Signature", "</ds:Signature>");
                bare.swap("</saml:Subject>", &format!("{signature}</saml:Subject>"))
            }),
            MisplacedSignature,
        ),
        Hostile::of(
            "a signature in the status",
            Build::response_signed().xml().swap("</samlp:Status>", &format!("{signature}</samlp:Status>")),
            MisplacedSignature,
        ),
        Hostile::of(
            "something named Signature in Extensions",
            Build::assertion_signed().xml().swap(
                "<samlp:Status>",
                "<samlp:Extensions><Signature xmlns=\"urn:x\"></Signature></samlp:Extensions><samlp:Status>",
            ),
            MisplacedSignature,
        ),
        Hostile::of(
            "the response has the ID of its assertion",
            Build::assertion_signed().around("_r1", "_a1").xml(),
            BadId,
        ),
    ]
}
