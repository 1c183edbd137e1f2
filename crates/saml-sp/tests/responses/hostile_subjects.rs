//! Validly signed, but for another bearer, recipient, time or request.

use saml_sp::Reason::{self, NotConfirmed, OutsideTime, UnexpectedElement, UnknownRequest, Unsolicited};

use crate::{
    factory::{Build, Swap},
    hostile::Hostile,
    world::WORLD,
};

const BEARER: &str = "urn:oasis:names:tc:SAML:2.0:cm:bearer";

fn within(name: &str, from: &str, to: &str, reason: Reason) -> Hostile {
    Hostile::built(name, &Build::assertion_signed().within(from, to), reason)
}

pub(crate) fn all() -> Vec<Hostile> {
    [bearers(), requests(), subjects()].into_iter().flatten().collect()
}

fn bearers() -> Vec<Hostile> {
    let acs = &WORLD.service.acs_url;
    let of = |name: &str, from: &str, to: &str| within(name, from, to, NotConfirmed);
    let recipient = format!(" Recipient=\"{acs}\"");
    let end = " NotOnOrAfter=\"2026-03-01T12:05:00Z\" Recipient";
    let (_, confirmation) =
        Build::assertion_signed().assertion.cut("<saml:SubjectConfirmation ", "</saml:SubjectConfirmation>");
    let (_, data) = confirmation.cut("<saml:SubjectConfirmationData", "</saml:SubjectConfirmationData>");
    vec![
        of("no confirmation", &confirmation, ""),
        of("a confirmation without data", &data, ""),
        of("holder of key", BEARER, "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key"),
        of("the sender vouches", BEARER, "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"),
        of("a bearer of SAML 1.0", BEARER, "urn:oasis:names:tc:SAML:1.0:cm:bearer"),
        of("a bearer in capitals", BEARER, &BEARER.to_uppercase()),
        of("no method", &format!(" Method=\"{BEARER}\""), ""),
        of("no Recipient", &recipient, ""),
        of("another Recipient", acs, "https://other.example/acs"),
        of("a longer Recipient", acs, &format!("{acs}/x")),
        of("our name as Recipient", acs, &WORLD.service.entity_id),
        of("no end", end, " Recipient"),
        of("ended 60 seconds ago", end, " NotOnOrAfter=\"2026-03-01T11:59:00Z\" Recipient"),
        within("ends at no time", end, " NotOnOrAfter=\"never\" Recipient", OutsideTime),
        of("a beginning", end, &format!(" NotBefore=\"2026-03-01T11:00:00Z\"{end}")),
        of("an empty beginning", end, &format!(" NotBefore=\"\"{end}")),
        of(
            "two confirmations that are valid only in combination",
            &confirmation,
            &format!(
                "{}{}",
                confirmation.swap(acs, "https://other.example/acs"),
                confirmation.swap("2026-03-01T12:05:00Z", "2026-03-01T11:05:00Z")
            ),
        ),
        of(
            "the bearer's data with another method, and reversed",
            &confirmation,
            &format!(
                "{}<saml:SubjectConfirmation Method=\"{BEARER}\"></saml:SubjectConfirmation>",
                confirmation.swap(BEARER, "urn:oasis:names:tc:SAML:2.0:cm:holder-of-key")
            ),
        ),
    ]
}

fn requests() -> Vec<Hostile> {
    let id = WORLD.request.id.as_str();
    let original = format!(" InResponseTo=\"{id}\"");
    let other = format!("_{}", "0".repeat(40));
    let both = |name: &str, to: &str, reason: Reason| {
        let to = if to.is_empty() { String::new() } else { format!(" InResponseTo=\"{to}\"") };
        Hostile::built(name, &Build::assertion_signed().within(&original, &to).around(&original, &to), reason)
    };
    vec![
        both("no request is answered", "", Unsolicited),
        within("no request is answered by the assertion", &original, "", Unsolicited),
        within("the assertion answers another request", id, &other, UnknownRequest),
        Hostile::built(
            "the response answers another request",
            &Build::assertion_signed().around(id, &other),
            UnknownRequest,
        ),
        Hostile::built(
            "the response has no InResponseTo",
            &Build::assertion_signed().around(&original, " InResponseTo=\"\""),
            UnknownRequest,
        ),
        both("an unknown request", &other, UnknownRequest),
        both("a request in capitals", &id.to_uppercase(), UnknownRequest),
        both("a request with white space", &format!("{id} "), UnknownRequest),
        both("a request of another form", "ONELOGIN_1234", UnknownRequest),
        both("a request with half an ID", &id[..20], UnknownRequest),
    ]
}

fn subjects() -> Vec<Hostile> {
    let (_, name) = Build::assertion_signed().assertion.cut("<saml:NameID", "</saml:NameID>");
    let of = |title: &str, to: &str| within(title, &name, to, UnexpectedElement);
    vec![
        of("two names", &name.repeat(2)),
        of("a BaseID", "<saml:BaseID></saml:BaseID>"),
        within(
            "an encrypted name without content",
            &name,
            "<saml:EncryptedID></saml:EncryptedID>",
            Reason::Undecryptable,
        ),
        of("a name and an encrypted name", &format!("{name}<saml:EncryptedID></saml:EncryptedID>")),
        of("an unknown element in the subject", &format!("{name}<x></x>")),
        within("no name of an attribute", " Name=\"displayName\"", "", UnexpectedElement),
        within(
            "an unknown element among the attributes",
            "</saml:AttributeStatement>",
            "<x></x></saml:AttributeStatement>",
            UnexpectedElement,
        ),
    ]
}
