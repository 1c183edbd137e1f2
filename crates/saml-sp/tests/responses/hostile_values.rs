//! Values that could be read differently than they were compared: they contain comments, elements or instructions.
//! The canonical form omits comments, so all of these signatures are valid.

use saml_sp::Reason::{self, Audience, BadEmail, Issuer, MixedText, NoEmail};

use crate::{
    factory::{Build, Swap},
    hostile::Hostile,
    world::{IDP_ENTITY, WORLD},
};

pub(crate) fn all() -> Vec<Hostile> {
    let xml = Build::assertion_signed().xml();
    let whole = Build::response_signed().xml();
    let of = |name: &str, xml: String| Hostile::of(name, xml, MixedText);
    let name = ">ada@corp.example</saml:NameID>";
    let mail = ">ada@corp.example</saml:AttributeValue>";
    let signed = |from: &str, to: &str, reason: Reason, name: &str| {
        Hostile::built(name, &Build::assertion_signed().within(from, to), reason)
    };
    let (audience, method) = (&WORLD.service.entity_id, "PasswordProtectedTransport<");
    vec![
        of(
            "a comment in the NameID",
            xml.swap(name, ">ada@corp.example<!-- -->.evil.example</saml:NameID>")
                .swap("<!-- -->.evil.example", "<!-- -->"),
        ),
        of("a comment in the middle of the NameID", xml.swap(name, ">ada@corp.<!---->example</saml:NameID>")),
        of(
            "a comment at the beginning of the NameID",
            xml.swap(name, "><!--x-->ada@corp.example</saml:NameID>"),
        ),
        of(
            "a comment in the NameID of a signed response",
            whole.swap(name, ">ada@corp.example<!-- --></saml:NameID>"),
        ),
        of("a comment in a value", xml.swap(mail, ">ada@<!-- -->corp.example</saml:AttributeValue>")),
        of("a comment in the Issuer of the assertion", {
            let (_, issuer) = Build::assertion_signed().lone().cut("<saml:Issuer>", "</saml:Issuer>");
            let at = xml.rfind(&issuer).unwrap();
            format!("{}{}", &xml[..at], xml[at..].first(IDP_ENTITY, &IDP_ENTITY.swap("//", "//<!-- -->")))
        }),
        of(
            "a comment in the Issuer of the response",
            xml.first(IDP_ENTITY, &IDP_ENTITY.swap("//", "//<!-- -->")),
        ),
        of("a comment in the Audience", xml.swap(audience, &audience.swap("//", "//<!-- -->"))),
        of("a comment in the class of the context", xml.swap(method, "Password<!-- -->ProtectedTransport<")),
        of("a comment in the certificate", xml.swap("<ds:X509Certificate>", "<ds:X509Certificate><!-- -->")),
        signed(name, ">ada@corp.example<b></b></saml:NameID>", MixedText, "an element in the NameID"),
        signed(name, "><b>ada@corp.example</b></saml:NameID>", MixedText, "the NameID in an element"),
        signed(name, "></saml:NameID>", BadEmail, "an empty NameID"),
        signed(name, "> ada@corp.example</saml:NameID>", BadEmail, "white space before the NameID"),
        signed(name, ">ada@corp.example\n</saml:NameID>", BadEmail, "a line feed after the NameID"),
        signed(name, ">ada@corp.example&#13;</saml:NameID>", BadEmail, "a carriage return after the NameID"),
        signed(
            &format!("<saml:Issuer>{IDP_ENTITY}"),
            &format!("<saml:Issuer><b>{IDP_ENTITY}</b>"),
            MixedText,
            "the Issuer in an element",
        ),
        signed(
            &format!("<saml:Issuer>{IDP_ENTITY}"),
            &format!("<saml:Issuer> {IDP_ENTITY}"),
            Issuer,
            "white space before the Issuer",
        ),
        signed(audience, &format!("<b>{audience}</b>"), MixedText, "the Audience in an element"),
        signed(audience, &format!("{audience} "), Audience, "white space after the Audience"),
        signed(
            mail,
            "><b>ada@corp.example</b></saml:AttributeValue>",
            MixedText,
            "the mapped address in an element",
        )
        .for_provider(|provider| provider.mapping.email = Some("mail".into())),
        signed(mail, "><b></b></saml:AttributeValue>", MixedText, "an element instead of the mapped address")
            .for_provider(|provider| provider.mapping.email = Some("mail".into())),
        signed(
            "<saml:AttributeValue>ada@corp.example</saml:AttributeValue>",
            "<x>ada@corp.example</x>",
            NoEmail,
            "the mapped address in something else than a value",
        )
        .for_provider(|provider| provider.mapping.email = Some("mail".into())),
    ]
}
