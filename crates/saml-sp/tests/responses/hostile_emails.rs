//! Validly signed by the tenant's own provider, but with addresses that it may not assert.

use saml_sp::{
    Provider,
    Reason::{self, BadEmail, ForeignDomain, ManyEmails, MixedText, NoEmail},
};

use crate::{
    factory::{ADDRESS, Build, Swap},
    hostile::Hostile,
};

pub(crate) fn all() -> Vec<Hostile> {
    [addresses(), places()].into_iter().flatten().collect()
}

fn addresses() -> Vec<Hostile> {
    let mut cases = Vec::new();
    for (address, reason) in [
        ("ada@other.example", ForeignDomain),
        ("ada@sub.corp.example", ForeignDomain),
        ("ada@corp.example.", ForeignDomain),
        ("ada@corp.example.evil.example", ForeignDomain),
        ("ada@evilcorp.example", ForeignDomain),
        ("ada@corp-example", ForeignDomain),
        // A Cyrillic letter, a full-width letter, a dotless letter and a soft hyphen.
        ("ada@c\u{43e}rp.example", ForeignDomain),
        ("ada@corp\u{ff0e}example", ForeignDomain),
        ("ada@corp.exampl\u{ff45}", ForeignDomain),
        ("ada@corp.ex\u{ad}ample", ForeignDomain),
        ("ada@CORP.EXAMP\u{130}LE", ForeignDomain),
        ("ada@corp%2eexample", ForeignDomain),
        ("ada@[127.0.0.1]", ForeignDomain),
        ("ada@xn--corp.example", ForeignDomain),
        ("ada@evil.example@corp.example", BadEmail),
        ("ada@corp.example@evil.example", BadEmail),
        ("\"ada@evil.example\"@corp.example", BadEmail),
        ("@corp.example", BadEmail),
        ("ada@", BadEmail),
        ("ada", BadEmail),
        ("ada @corp.example", BadEmail),
        ("Ada &lt;ada@corp.example&gt;", BadEmail),
        ("ada@corp.example,bob@corp.example", BadEmail),
        ("ada@corp.example&#10;bcc:x@corp.example", BadEmail),
        ("ada@corp.example\u{a0}", BadEmail),
        ("ada@corp.example\u{2028}", BadEmail),
        ("ada\u{85}@corp.example", BadEmail),
    ] {
        let build = Build::assertion_signed()
            .within(">ada@corp.example</saml:NameID>", &format!(">{address}</saml:NameID>"));
        cases.push(Hostile::built(address, &build, reason));
    }
    let long = format!("{}@corp.example", "a".repeat(254));
    let long = Build::assertion_signed()
        .within(">ada@corp.example</saml:NameID>", &format!(">{long}</saml:NameID>"));
    cases.push(Hostile::built("an address that is too long", &long, BadEmail));
    cases
}

fn places() -> Vec<Hostile> {
    let mapped: fn(&mut Provider) = |provider| provider.mapping.email = Some("mail".into());
    let persistent = || {
        Build::assertion_signed().within(
            &format!("Format=\"{ADDRESS}\""),
            "Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent\"",
        )
    };
    let mail = "<saml:Attribute Name=\"mail\"><saml:AttributeValue>ada@corp.example</saml:AttributeValue></saml:Attribute>";
    let other = "<saml:AttributeValue>bob@corp.example</saml:AttributeValue>";
    let with = |added: &str| persistent().within(mail, &format!("{mail}{added}"));
    let of = |name: &str, build: &Build, reason: Reason| Hostile::built(name, build, reason);
    vec![
        of("the mapped attribute twice", &with(&mail.swap("ada@", "bob@")), ManyEmails).for_provider(mapped),
        of("the mapped attribute in two statements", &persistent().within("</saml:Assertion>", &format!("<saml:AttributeStatement>{}</saml:AttributeStatement></saml:Assertion>", mail.swap("ada@", "bob@"))), ManyEmails).for_provider(mapped),
        of("two values of the mapped attribute", &persistent().within("</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>", &format!("</saml:AttributeValue>{other}</saml:Attribute></saml:AttributeStatement>")), ManyEmails).for_provider(mapped),
        of("a value and an empty one", &persistent().within("</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>", "</saml:AttributeValue><saml:AttributeValue></saml:AttributeValue></saml:Attribute></saml:AttributeStatement>"), ManyEmails).for_provider(mapped),
        of("a value and one that is not text", &persistent().within("</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>", "</saml:AttributeValue><saml:AttributeValue><x></x></saml:AttributeValue></saml:Attribute></saml:AttributeStatement>"), MixedText).for_provider(mapped),
        of("two usual attributes that differ", &with(&mail.swap("\"mail\"", "\"email\"").swap("ada@", "bob@")), ManyEmails),
        of("two of another case of letters beyond ASCII", &with(&mail.swap("\"mail\"", "\"email\"").swap("ada@", "ad\u{e4}@")), ManyEmails),
        of("a name that differs only by a prefix", &persistent().within("Name=\"mail\"", "Name=\"x:mail\""), NoEmail),
        of("the mapped name in another case", &persistent().within("Name=\"mail\"", "Name=\"Mail\""), NoEmail).for_provider(mapped),
        of("the mapped name only as FriendlyName", &persistent().within("Name=\"mail\"", "Name=\"urn:x\" FriendlyName=\"mail\""), NoEmail).for_provider(mapped),
        of("the mapped name in a namespace", &persistent().within("Name=\"mail\"", "Name=\"x\" xmlns:x=\"urn:x\" x:Name=\"mail\""), NoEmail).for_provider(mapped),
        of("the mapped attribute is encrypted", &persistent().within(mail, "<saml:EncryptedAttribute></saml:EncryptedAttribute>"), NoEmail).for_provider(mapped),
        of("no attribute of an address", &persistent().within(mail, ""), NoEmail),
        of("an empty mapped attribute", &persistent().within(mail, "<saml:Attribute Name=\"mail\"></saml:Attribute>"), NoEmail).for_provider(mapped),
        of("an empty mapped value", &persistent().within(mail, "<saml:Attribute Name=\"mail\"><saml:AttributeValue></saml:AttributeValue></saml:Attribute>"), BadEmail).for_provider(mapped),
        of("the mapped address has another domain, the name has ours", &Build::assertion_signed().within(mail, &mail.swap("corp.example", "other.example")), ForeignDomain).for_provider(mapped),
        of("the name's address has another domain, an attribute has ours", &Build::assertion_signed().within(">ada@corp.example</saml:NameID>", ">ada@other.example</saml:NameID>"), ForeignDomain),
    ]
}
