//! Assertions that are unsigned, signed by another key, or changed after signing.

use data_encoding::BASE64;
use saml_sp::Reason::{
    self, BadDigest, BadId, BadSignature, NoCertificate, NotAResponse, NotOneAssertion, SignatureShape,
    UnexpectedElement, Unsigned,
};

use crate::{
    factory::{Build, Swap, USUAL},
    hostile::{Hostile, VICTIM},
    keys::{ATTACKER, EXPIRED, IDP, Key, OTHER, P256},
    sign::{Hash, key_info},
};

pub(crate) fn all() -> Vec<Hostile> {
    [unsigned(), tampered(), keys(), ids(), order()].into_iter().flatten().collect()
}

fn unsigned() -> Vec<Hostile> {
    let stripped = |build: Build| build.xml().cut("<ds:Signature", "</ds:Signature>").0;
    let emptied = Build::both_signed().xml().cut("<ds:SignedInfo>", "</ds:SignedInfo>").0;
    vec![
        Hostile::built("unsigned", &Build::unsigned(USUAL), Unsigned),
        Hostile::of(
            "the signature of the assertion was taken out",
            stripped(Build::assertion_signed()),
            Unsigned,
        ),
        Hostile::of(
            "the signature of the response was taken out",
            stripped(Build::response_signed()),
            Unsigned,
        ),
        Hostile::of("an empty signature", emptied, SignatureShape),
        Hostile::of(
            "the signature was renamed",
            Build::assertion_signed()
                .xml()
                .all("ds:Signature>", "ds:Signed>")
                .swap("<ds:Signature ", "<ds:Signed "),
            UnexpectedElement,
        ),
        Hostile::of(
            "the signature is of another namespace",
            Build::assertion_signed()
                .xml()
                .swap("http://www.w3.org/2000/09/xmldsig#\">", "http://www.w3.org/2000/09/xmldsig\">"),
            Reason::MisplacedSignature,
        ),
    ]
}

fn tampered() -> Vec<Hostile> {
    let (assertion, response, both) =
        (Build::assertion_signed().xml(), Build::response_signed().xml(), Build::both_signed().xml());
    let victim = |xml: &str| xml.swap(">ada@corp.example</saml:NameID>", &format!(">{VICTIM}</saml:NameID>"));
    let value = |xml: &str, element: &str, change: fn(&mut Vec<u8>)| {
        let start = xml.find(&format!("<ds:{element}>")).unwrap() + element.len() + 5;
        let end = start + xml[start..].find('<').unwrap();
        let mut bytes = BASE64.decode(&xml.as_bytes()[start..end]).unwrap();
        change(&mut bytes);
        format!("{}{}{}", &xml[..start], BASE64.encode(&bytes), &xml[end..])
    };
    let of = |name: &str, xml: String| Hostile::of(name, xml, BadDigest);
    let nobody = |name: &str, xml: String| Hostile::of(name, xml, BadSignature);
    vec![
        of("another name", victim(&assertion)),
        of("another name in a signed response", victim(&response)),
        of("another name, both signed", victim(&both)),
        of("another value", assertion.swap("Ada Lovelace", "Ada Byron")),
        of("another attribute", assertion.swap("Name=\"displayName\"", "Name=\"display-name\"")),
        of("an added XML attribute", assertion.swap("Name=\"displayName\"", "Name=\"displayName\" a=\"b\"")),
        of(
            "another audience",
            assertion.swap(
                "</saml:AudienceRestriction>",
                "<saml:Audience>urn:x</saml:Audience></saml:AudienceRestriction>",
            ),
        ),
        of("a later end", assertion.all("2026-03-01T12:05:00Z", "2026-03-01T13:05:00Z")),
        of("added white space", assertion.swap("<saml:Subject>", " <saml:Subject>")),
        of("white space in a value", assertion.swap("Ada Lovelace", "Ada Lovelace ")),
        of(
            "another prefix",
            assertion
                .all("saml:Subject>", "s:Subject>")
                .swap("<s:Subject>", "<s:Subject xmlns:s=\"urn:oasis:names:tc:SAML:2.0:assertion\">"),
        ),
        of(
            "another destination in a signed response",
            response.swap("ID=\"_r1\"", "ID=\"_r1\" Consent=\"urn:x\""),
        ),
        nobody("only the signature of the response is valid", {
            let mut forged = Build::both_signed();
            forged.signs_assertion.as_mut().unwrap().by(&ATTACKER, Hash::Sha256);
            forged.xml()
        }),
        nobody("only the signature of the assertion is valid", {
            let mut forged = Build::both_signed();
            forged.signs_response.as_mut().unwrap().by(&ATTACKER, Hash::Sha256);
            forged.xml()
        }),
        nobody("a bit of the signature", value(&assertion, "SignatureValue", |bytes| bytes[100] ^= 1)),
        nobody("a signature of only zeros", value(&assertion, "SignatureValue", |bytes| bytes.fill(0))),
        nobody(
            "a signature that is cut short",
            value(&assertion, "SignatureValue", |bytes| bytes.truncate(128)),
        ),
        nobody(
            "a signature with more bytes after it",
            value(&assertion, "SignatureValue", |bytes| bytes.push(0)),
        ),
        nobody("a signature of one byte", value(&assertion, "SignatureValue", |bytes| bytes.truncate(1))),
        nobody("a bit of the digest", value(&assertion, "DigestValue", |bytes| bytes[3] ^= 1)),
        Hostile::of(
            "a digest that is cut short",
            value(&assertion, "DigestValue", |bytes| bytes.truncate(16)),
            SignatureShape,
        ),
        nobody("the digest of something else", {
            let other = Build::assertion_signed().within("Ada Lovelace", "Ada Byron").xml();
            let (_, digest) = other.cut("<ds:DigestValue>", "</ds:DigestValue>");
            let (_, own) = assertion.cut("<ds:DigestValue>", "</ds:DigestValue>");
            assertion.swap(&own, &digest).swap("Ada Lovelace", "Ada Byron")
        }),
        of("the signature of another assertion", {
            let other = Build::assertion_signed().within("Ada Lovelace", "Ada Byron").xml();
            let (_, signature) = other.cut("<ds:Signature", "</ds:Signature>");
            let (_, own) = assertion.cut("<ds:Signature", "</ds:Signature>");
            assertion.swap(&own, &signature)
        }),
    ]
}

/// Validly signed by a key that is not accepted.
fn keys() -> Vec<Hostile> {
    let by = |key: &'static Key| Build::assertion_signed().signing(|signing| signing.by(key, Hash::Sha256));
    let with_info =
        |key: &'static Key, info: String| by(key).signing(move |signing| signing.key_info.clone_from(&info));
    let expired = by(&EXPIRED);
    let rsa = ATTACKER.private.rsa().unwrap();
    let key_value = format!(
        "<ds:KeyInfo><ds:KeyValue><ds:RSAKeyValue><ds:Modulus>{}</ds:Modulus><ds:Exponent>{}</ds:Exponent></ds:RSAKeyValue></ds:KeyValue></ds:KeyInfo>",
        BASE64.encode(&rsa.n().to_vec()),
        BASE64.encode(&rsa.e().to_vec())
    );
    let trap = &crate::hostile::TRAP.1;
    let fetched = format!(
        "<ds:KeyInfo><ds:RetrievalMethod Type=\"http://www.w3.org/2000/09/xmldsig#X509Data\" URI=\"{trap}/key\"></ds:RetrievalMethod></ds:KeyInfo>"
    );
    vec![
        Hostile::built("by the key of another provider", &by(&OTHER), BadSignature),
        Hostile::built("by a key that claims to be the provider's", &by(&ATTACKER), BadSignature),
        Hostile::built(
            "by another key, with the pinned certificate in KeyInfo",
            &with_info(&ATTACKER, key_info("ds", &IDP)),
            BadSignature,
        ),
        Hostile::built(
            "by another key, with its RSAKeyValue",
            &with_info(&ATTACKER, key_value),
            BadSignature,
        ),
        Hostile::built("by another key, to be fetched", &with_info(&ATTACKER, fetched), BadSignature),
        Hostile::built(
            "by another key, with both certificates",
            &with_info(
                &ATTACKER,
                key_info("ds", &ATTACKER).swap(
                    "</ds:X509Data>",
                    &format!(
                        "<ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data>",
                        IDP.certificate.base64()
                    ),
                ),
            ),
            BadSignature,
        ),
        Hostile::built("by a pinned key whose certificate has expired", &expired, BadSignature),
        Hostile::built("by the only pinned key, whose certificate has expired", &expired, NoCertificate)
            .for_provider(|provider| provider.idp.certificates = vec![EXPIRED.certificate.clone()]),
        Hostile::built("no certificate is pinned", &Build::assertion_signed(), NoCertificate)
            .for_provider(|provider| provider.idp.certificates.clear()),
        Hostile::built("the key is no longer pinned", &Build::assertion_signed(), BadSignature)
            .for_provider(|provider| provider.idp.certificates.retain(|one| *one != IDP.certificate)),
        Hostile::built("RSA although only ECDSA is pinned", &Build::assertion_signed(), BadSignature)
            .for_provider(|provider| provider.idp.certificates = vec![P256.certificate.clone()]),
        Hostile::built("ECDSA although only RSA is pinned", &by(&P256), BadSignature)
            .for_provider(|provider| provider.idp.certificates = vec![IDP.certificate.clone()]),
        Hostile::of(
            "declares ECDSA, but is RSA",
            Build::assertion_signed().xml().swap("#rsa-sha256", "#ecdsa-sha256"),
            BadSignature,
        ),
        Hostile::of(
            "declares SHA-512, but is SHA-256",
            Build::assertion_signed().xml().swap("#rsa-sha256", "#rsa-sha512"),
            BadSignature,
        ),
    ]
}

fn ids() -> Vec<Hostile> {
    let xml = Build::assertion_signed().xml();
    let without = |text: &str| Build::unsigned(USUAL).within(" ID=\"_a1\"", text).xml();
    let value = "<saml:AttributeValue>Ada";
    let of = |name: &str, xml: String| Hostile::of(name, xml, BadId);
    let marked = |mark: &str| {
        let marked = format!("<saml:AttributeValue {mark}>Ada");
        Build::assertion_signed().within(value, &marked).xml()
    };
    vec![
        of("an ID twice", marked("ID=\"_a1\"")),
        of("an ID twice, in another case of its name", marked("Id=\"_a1\"")),
        of("an ID twice, of the response", marked("id=\"_r1\"")),
        of(
            "an ID twice, in the signature",
            Build::assertion_signed()
                .signing(|signing| signing.change("<ds:SignedInfo>", "<ds:SignedInfo Id=\"_a1\">"))
                .xml(),
        ),
        of("xml:id", marked("xml:id=\"_x\"")),
        of("xml:id of the assertion's ID", marked("xml:id=\"_a1\"")),
        of("an ID in a namespace", marked("xmlns:x=\"urn:x\" x:ID=\"_x\"")),
        of(
            "an ID in a namespace before the true one",
            xml.swap(" ID=\"_a1\"", " xmlns:x=\"urn:x\" x:ID=\"_a1\" ID=\"_a2\""),
        ),
        of("no ID of the assertion", without("")),
        of("an empty ID", without(" ID=\"\"")),
        of("an ID that begins with a digit", without(" ID=\"1a\"")),
        of("an ID with a colon", without(" ID=\"a:b\"")),
        of("an ID with a quote", without(" ID=\"a')|//*('\"")),
        of("an ID beyond ASCII", without(" ID=\"é\"")),
        of("an ID of 300 characters", without(&format!(" ID=\"{}\"", "a".repeat(300)))),
        of("no ID of the response", Build::assertion_signed().around(" ID=\"_r1\"", "").xml()),
        Hostile::of("an ID in another case", xml.swap(" ID=\"_a1\"", " Id=\"_a1\""), BadId),
    ]
}

/// Elements in places where SAML does not allow them.
fn order() -> Vec<Hostile> {
    let build = Build::assertion_signed;
    let (moved, conditions) = build().assertion.cut("<saml:Conditions", "</saml:Conditions>");
    let (subjectless, subject) = build().assertion.cut("<saml:Subject>", "</saml:Subject>");
    let (_, issuer) = build().response.cut("<saml:Issuer>", "</saml:Issuer>");
    let (issuerless, _) = build().assertion.cut("<saml:Issuer>", "</saml:Issuer>");
    let moved = Build {
        assertion: moved.swap("</saml:Assertion>", &format!("{conditions}</saml:Assertion>")),
        ..build()
    };
    let unsigned = |assertion: String| Build { assertion, ..Build::unsigned(USUAL) };
    vec![
        Hostile::built("Conditions at the end", &moved, UnexpectedElement),
        Hostile::built("two Conditions", &build().within(&conditions, &conditions.repeat(2)), UnexpectedElement),
        Hostile::built("two Subjects", &build().within(&subject, &subject.repeat(2)), UnexpectedElement),
        Hostile::built("no Subject", &Build { assertion: subjectless, ..build() }, UnexpectedElement),
        Hostile::built("no Issuer of the assertion", &unsigned(issuerless), UnexpectedElement),
        Hostile::built("two Issuers of the response", &build().around(&issuer, &issuer.repeat(2)), UnexpectedElement),
        Hostile::built("an unknown statement", &build().within("</saml:Assertion>", "<saml:Statement></saml:Statement></saml:Assertion>"), UnexpectedElement),
        Hostile::built("a statement of a decision", &build().within("</saml:Assertion>", "<saml:AuthzDecisionStatement></saml:AuthzDecisionStatement></saml:Assertion>"), UnexpectedElement),
        Hostile::built("an element in an unknown namespace", &build().within("</saml:Assertion>", "<x></x></saml:Assertion>"), UnexpectedElement),
        Hostile::built("no Status", &Build { response: build().response.cut("<samlp:Status>", "</samlp:Status>").0, ..build() }, UnexpectedElement),
        Hostile::built("two Statuses", &build().around("<samlp:Status>", "<samlp:Status><samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Success\"></samlp:StatusCode></samlp:Status><samlp:Status>"), NotOneAssertion),
        Hostile::built("a Status without code", &build().around("<samlp:StatusCode Value=\"urn:oasis:names:tc:SAML:2.0:status:Success\"></samlp:StatusCode>", ""), UnexpectedElement),
        Hostile::built("a response of another version", &build().around("Version=\"2.0\"", "Version=\"1.1\""), NotAResponse),
        Hostile::built("an assertion of another version", &build().within("Version=\"2.0\"", "Version=\"1.1\""), NotOneAssertion),
        Hostile::built("a request instead of a response", &build().around("<samlp:Response ", "<samlp:AuthnRequest ").around("</samlp:Response>", "</samlp:AuthnRequest>"), NotAResponse),
        Hostile::of("an assertion instead of a response", build().lone(), NotAResponse),
        Hostile::built("a signed response without Issuer", &{
            let unsaid = Build::assertion_signed().xml();
            let (_, signature) = unsaid.cut("<ds:Signature", "</ds:Signature>");
            let response = build().response.cut("<saml:Issuer>", "</saml:Issuer>").0;
            Build { response: response.swap("<samlp:Status>", &format!("{signature}<samlp:Status>")), ..Build::unsigned(USUAL) }
        }, Reason::MisplacedSignature),
    ]
}
