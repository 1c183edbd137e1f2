//! XML features other than elements, attributes and text.

use saml_sp::Reason::{self, BadDigest, ForbiddenMarkup, NotWellFormed};

use crate::{
    factory::{Build, Swap},
    hostile::{Hostile, TRAP},
};

pub(crate) fn all() -> Vec<Hostile> {
    [doctypes(), instructions(), broken(), around()].into_iter().flatten().collect()
}

fn xml() -> String {
    Build::assertion_signed().xml()
}

fn doctypes() -> Vec<Hostile> {
    let trap = &TRAP.1;
    let typed = |doctype: &str, value: &str| {
        format!("{doctype}{}", xml().swap(">Ada Lovelace<", &format!(">{value}<")))
    };
    let of = |name: &str, xml: String| Hostile::of(name, xml, ForbiddenMarkup);
    let laughs: String =
        (1..10).map(|n| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10))).collect();
    let quadratic = format!("<!DOCTYPE x [<!ENTITY a \"{}\">]>", "a".repeat(20_000));
    vec![
        of("a DOCTYPE", typed("<!DOCTYPE samlp:Response>", "Ada Lovelace")),
        of("a DOCTYPE in lower case", typed("<!doctype x>", "Ada Lovelace")),
        of("a DOCTYPE after a declaration", typed("<?xml version=\"1.0\"?>\n<!DOCTYPE x>\n", "Ada Lovelace")),
        of("a DOCTYPE after a comment", typed("<!-- --><!DOCTYPE x>", "Ada Lovelace")),
        of("a DOCTYPE after a byte order mark", typed("\u{feff}<!DOCTYPE x>", "Ada Lovelace")),
        of("an entity", typed("<!DOCTYPE x [<!ENTITY a \"Ada Lovelace\">]>", "&a;")),
        of("an entity of markup", typed("<!DOCTYPE x [<!ENTITY a \"<b/>\">]>", "&a;")),
        of("a billion laughs", typed(&format!("<!DOCTYPE x [<!ENTITY l0 \"ha\">{laughs}]>"), "&l9;")),
        of("quadratic growth", typed(&quadratic, &"&a;".repeat(5_000))),
        of("an entity of itself", typed("<!DOCTYPE x [<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">]>", "&a;")),
        of("an entity of a file", typed("<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>", "&a;")),
        of("an entity of a URL", typed(&format!("<!DOCTYPE x [<!ENTITY a SYSTEM \"{trap}/a\">]>"), "&a;")),
        of("an external DOCTYPE", typed(&format!("<!DOCTYPE x SYSTEM \"{trap}/x.dtd\">"), "Ada Lovelace")),
        of(
            "a public DOCTYPE",
            typed(&format!("<!DOCTYPE x PUBLIC \"-//X\" \"{trap}/x.dtd\">"), "Ada Lovelace"),
        ),
        of(
            "a parameter entity",
            typed(&format!("<!DOCTYPE x [<!ENTITY % p SYSTEM \"{trap}/p\">%p;]>"), "Ada Lovelace"),
        ),
        of(
            "an attribute that is an ID by DOCTYPE",
            typed("<!DOCTYPE x [<!ATTLIST saml:AttributeValue x ID #IMPLIED>]>", "Ada Lovelace"),
        ),
        of(
            "an attribute by default",
            typed("<!DOCTYPE x [<!ATTLIST saml:Assertion ID CDATA \"_a1\">]>", "Ada Lovelace"),
        ),
        of("a DOCTYPE in the middle", xml().swap("<samlp:Status>", "<!DOCTYPE x><samlp:Status>")),
        of(
            "a declaration of an element in the middle",
            xml().swap("<samlp:Status>", "<!ELEMENT x ANY><samlp:Status>"),
        ),
        Hostile::of("an undeclared entity", typed("", "&a;"), NotWellFormed),
    ]
}

fn instructions() -> Vec<Hostile> {
    let of = |name: &str, xml: String| Hostile::of(name, xml, ForbiddenMarkup);
    let trap = &TRAP.1;
    vec![
        of("a stylesheet", format!("<?xml-stylesheet href=\"{trap}/x.xsl\" type=\"text/xsl\"?>{}", xml())),
        of("an instruction in a value", xml().swap("Ada Lovelace", "Ada<?x?> Lovelace")),
        of(
            "an instruction in the NameID",
            xml().swap(">ada@corp.example</saml:NameID>", ">ada@corp.example<?x y?></saml:NameID>"),
        ),
        of("an instruction in the DigestValue", xml().swap("</ds:DigestValue>", "<?x?></ds:DigestValue>")),
        of("an instruction at the end", format!("{}<?x?>", xml())),
        of(
            "a declaration of XML in the middle",
            xml().swap("<samlp:Status>", "<?xml version=\"1.0\"?><samlp:Status>"),
        ),
        of("a declaration of XML after white space", format!(" <?xml version=\"1.0\"?>{}", xml())),
        of("two declarations of XML", format!("<?xml version=\"1.0\"?><?xml version=\"1.0\"?>{}", xml())),
        of("XML 1.1", format!("<?xml version=\"1.1\"?>{}", xml())),
        of(
            "another encoding is declared",
            format!("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>{}", xml()),
        ),
        of("UTF-7 is declared", format!("<?xml version=\"1.0\" encoding=\"UTF-7\"?>{}", xml())),
        of("UTF-16 is declared", format!("<?xml version=\"1.0\" encoding=\"UTF-16\"?>{}", xml())),
    ]
}

fn broken() -> Vec<Hostile> {
    let of = |name: &str, xml: String| Hostile::of(name, xml, NotWellFormed);
    vec![
        of("not XML", "ada@corp.example".into()),
        of("JSON", "{\"nameId\": \"ada@corp.example\"}".into()),
        of("cut short", xml()[..xml().len() - 20].to_owned()),
        of("an element that is not closed", xml().swap("</saml:Subject>", "")),
        of(
            "elements that cross",
            xml()
                .swap("</saml:NameID><saml:SubjectConfirmation ", "<saml:SubjectConfirmation ")
                .swap("</saml:SubjectConfirmationData>", "</saml:NameID></saml:SubjectConfirmationData>"),
        ),
        of("an attribute twice", xml().swap(" ID=\"_a1\"", " ID=\"_a1\" ID=\"_a1\"")),
        of(
            "an attribute twice, by two prefixes",
            xml().swap(" ID=\"_a1\"", " xmlns:x=\"urn:x\" xmlns:y=\"urn:x\" x:a=\"1\" y:a=\"1\" ID=\"_a1\""),
        ),
        of("an attribute without quotes", xml().swap(" ID=\"_a1\"", " ID=_a1")),
        of(
            "an undeclared prefix",
            xml().swap("<saml:Subject>", "<who:Subject>").swap("</saml:Subject>", "</who:Subject>"),
        ),
        of("a stray ampersand", xml().swap("Ada Lovelace", "Ada & Lovelace")),
        of("a character that XML does not allow", xml().swap("Ada Lovelace", "Ada &#1; Lovelace")),
        of("a character that XML does not allow, as it is", xml().swap("Ada Lovelace", "Ada \u{1} Lovelace")),
        of("a NUL by number", xml().swap("Ada Lovelace", "Ada &#0; Lovelace")),
        of("a comment that does not end", xml().swap("<samlp:Status>", "<!-- <samlp:Status>")),
        of("a comment of three dashes", xml().swap("<samlp:Status>", "<!-- ---><samlp:Status>")),
        of("CDATA that does not end", xml().swap("Ada Lovelace", "<![CDATA[Ada Lovelace")),
        of("a stray end of CDATA", xml().swap("Ada Lovelace", "Ada ]]> Lovelace")),
        of("an element of no name", xml().swap("<samlp:Status>", "< ><samlp:Status>")),
        of("an end tag with an attribute", xml().swap("</saml:Subject>", "</saml:Subject a=\">\">")),
    ]
}

/// Content outside the root element.
fn around() -> Vec<Hostile> {
    let of = |name: &str, xml: String, reason: Reason| Hostile::of(name, xml, reason);
    vec![
        of("a comment before the root", format!("<!-- -->{}", xml()), ForbiddenMarkup),
        of("a comment after the root", format!("{}<!-- -->", xml()), ForbiddenMarkup),
        // Either parser may reject it.
        of("half a character by number", xml().swap("Ada Lovelace", "Ada &#xD800; Lovelace"), BadDigest),
        of("text after the root", format!("{}x", xml()), NotWellFormed),
        of("text before the root", format!("x{}", xml()), NotWellFormed),
        of("an element after the root", format!("{}<x/>", xml()), NotWellFormed),
        of("another response after the root", xml().repeat(2), NotWellFormed),
        of("a byte order mark twice", format!("\u{feff}\u{feff}{}", xml()), NotWellFormed),
        of("a byte order mark in a value", xml().swap(">ada@corp.example</saml:NameID>", ">\u{feff}ada@corp.example</saml:NameID>"), BadDigest),
        of("an XInclude", xml().swap("Ada Lovelace", &format!("<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"{}/x\"></xi:include>", TRAP.1)), BadDigest),
        of("a schema at a URL", xml().swap("<saml:Assertion ", &format!("<saml:Assertion xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:schemaLocation=\"urn:oasis:names:tc:SAML:2.0:assertion {}/x.xsd\" ", TRAP.1)), BadDigest),
    ]
}
