//! Different statements and numbers of values.

use saml_sp::Provider;

use crate::{
    factory::{ADDRESS, Build, Swap},
    valid::Valid,
    world::WORLD,
};

pub(crate) fn all() -> Vec<Valid> {
    [audiences(), times(), optional(), people(), many()].into_iter().flatten().collect()
}

fn usual() -> Build {
    Build::assertion_signed()
}

fn audiences() -> Vec<Valid> {
    let ours = format!("<saml:Audience>{}</saml:Audience>", WORLD.service.entity_id);
    let other = "<saml:Audience>https://other.example</saml:Audience>";
    vec![
        Valid::built("several audiences", &usual().within(&ours, &format!("{other}{ours}{other}"))),
        Valid::built(
            "two restrictions that both name us",
            &usual().within(
                "</saml:Conditions>",
                &format!("<saml:AudienceRestriction>{ours}</saml:AudienceRestriction></saml:Conditions>"),
            ),
        ),
        Valid::built(
            "OneTimeUse",
            &usual().within("</saml:Conditions>", "<saml:OneTimeUse></saml:OneTimeUse></saml:Conditions>"),
        ),
        Valid::built(
            "ProxyRestriction",
            &usual().within(
                "</saml:Conditions>",
                "<saml:ProxyRestriction Count=\"0\"></saml:ProxyRestriction></saml:Conditions>",
            ),
        ),
    ]
}

fn times() -> Vec<Valid> {
    let conditions =
        "<saml:Conditions NotBefore=\"2026-03-01T11:55:00Z\" NotOnOrAfter=\"2026-03-01T12:05:00Z\">";
    let valid = |times: &str| usual().within(conditions, &format!("<saml:Conditions{times}>"));
    let data = "NotOnOrAfter=\"2026-03-01T12:05:00Z\" Recipient";
    let instant = "AuthnInstant=\"2026-03-01T11:59:50Z\"";
    vec![
        Valid::built("the last moment, with the skew", &valid(" NotOnOrAfter=\"2026-03-01T11:59:00.001Z\"")),
        Valid::built("the first moment, with the skew", &valid(" NotBefore=\"2026-03-01T12:01:00Z\"")),
        Valid::built("no times in Conditions", &valid("")),
        Valid::built(
            "the last moment of the bearer, with the skew",
            &usual().within(data, "NotOnOrAfter=\"2026-03-01T11:59:00.001Z\" Recipient"),
        ),
        Valid::built(
            "seven digits of a second, as ADFS writes",
            &usual().within(instant, "AuthnInstant=\"2026-03-01T11:59:50.1234567Z\""),
        ),
        Valid::built(
            "issued by a clock that is a minute ahead",
            &usual().within("IssueInstant=\"2026-03-01T11:59:58Z\"", "IssueInstant=\"2026-03-01T12:01:00Z\""),
        ),
        Valid::built(
            "a session that ends later",
            &usual().within(instant, &format!("{instant} SessionNotOnOrAfter=\"2026-03-01T20:00:00Z\"")),
        ),
        Valid::built(
            "signed in yesterday",
            &usual().within(instant, "AuthnInstant=\"2026-02-28T09:00:00Z\""),
        ),
    ]
}

fn optional() -> Vec<Valid> {
    let destination = format!(" Destination=\"{}\"", WORLD.service.acs_url);
    let answers = format!(" InResponseTo=\"{}\" IssueInstant", WORLD.request.id);
    let holder = "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:holder-of-key\"></saml:SubjectConfirmation>";
    let bearer = "<saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\">";
    let class = "<saml:AuthnContextClassRef>";
    let (unsaid, _) = usual().response.cut("<saml:Issuer>", "</saml:Issuer>");
    vec![
        Valid::built("an unsigned response without Destination", &usual().around(&destination, "")),
        Valid::built("an unsigned response without Issuer", &Build { response: unsaid, ..usual() }),
        Valid::built("a response that names no request", &usual().around(&answers, " IssueInstant")),
        Valid::built("a consent", &usual().around(" ID=\"_r1\"", " Consent=\"urn:oasis:names:tc:SAML:2.0:consent:obtained\" ID=\"_r1\"")),
        Valid::built(
            "extensions of others",
            &Build::both_signed().around("<samlp:Status>", "<samlp:Extensions><x:Hint xmlns:x=\"urn:x\">1</x:Hint></samlp:Extensions><samlp:Status>"),
        ),
        Valid::built(
            "a success with a message",
            &usual().around("</samlp:Status>", "<samlp:StatusMessage>welcome</samlp:StatusMessage></samlp:Status>"),
        ),
        Valid::built("an empty Advice", &usual().within("</saml:Conditions>", "</saml:Conditions><saml:Advice></saml:Advice>")),
        Valid::built("holder of key, and bearer", &usual().within(bearer, &format!("{holder}{bearer}"))),
        Valid::built(
            "a SubjectLocality",
            &usual().within(
                "<saml:AuthnContext>",
                "<saml:SubjectLocality Address=\"192.0.2.7\"></saml:SubjectLocality><saml:AuthnContext>",
            ),
        ),
        Valid::built("more of the context", &usual().within(
            "</saml:AuthnContext>",
            "<saml:AuthenticatingAuthority>https://upstream.example</saml:AuthenticatingAuthority></saml:AuthnContext>",
        )),
        Valid::built("the requested context", &usual().within(class, class)).for_provider(|provider| {
            provider.authn_contexts =
                vec!["urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport".into()];
        }),
        Valid::built("qualifiers of the name", &usual().within(
            &format!("<saml:NameID Format=\"{ADDRESS}\""),
            &format!("<saml:NameID Format=\"{ADDRESS}\" NameQualifier=\"https://idp.example\" SPNameQualifier=\"{}\"", WORLD.service.entity_id),
        )),
        Valid::built("an Issuer with a format", &usual().within("<saml:Issuer>", "<saml:Issuer Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:entity\">")),
    ]
}

/// Email addresses in different places.
fn people() -> Vec<Valid> {
    let persistent = |build: Build| {
        build
            .within(
                &format!("Format=\"{ADDRESS}\""),
                "Format=\"urn:oasis:names:tc:SAML:2.0:nameid-format:persistent\"",
            )
            .within(">ada@corp.example</saml:NameID>", ">G-7f3a</saml:NameID>")
    };
    let named = |valid: Valid| Valid { name_id: Some("G-7f3a"), ..valid };
    let mapped: fn(&mut Provider) = |provider| provider.mapping.email = Some("displayName".into());
    let (nameless, _) = usual().assertion.cut("<saml:NameID", "</saml:NameID>");
    let twice = "<saml:Attribute Name=\"email\"><saml:AttributeValue>Ada@Corp.Example</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>";
    vec![
        named(Valid::built("a persistent name, and mail", &persistent(usual()))),
        Valid { name_id: None, ..Valid::built("no name at all, and mail", &Build { assertion: nameless, ..usual() }) },
        Valid { email: "Grace@CORP.example", ..Valid::built("a mapped attribute", &usual().within(">Ada Lovelace<", ">Grace@CORP.example<")) }
            .for_provider(mapped)
            .with_attributes(vec![("displayName", vec!["Grace@CORP.example"]), ("mail", vec!["ada@corp.example"])]),
        named(Valid::built("the same address under two names", &persistent(usual()).within("</saml:AttributeStatement>", twice)))
            .with_attributes(vec![
                ("displayName", vec!["Ada Lovelace"]),
                ("mail", vec!["ada@corp.example"]),
                ("email", vec!["Ada@Corp.Example"]),
            ]),
        named(Valid::built("as Entra names it", &persistent(usual()).within(
            "Name=\"mail\"",
            "Name=\"http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress\"",
        )))
        .with_attributes(vec![
            ("displayName", vec!["Ada Lovelace"]),
            ("http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress", vec!["ada@corp.example"]),
        ]),
        named(Valid::built("as Shibboleth names it", &persistent(usual()).within(
            "Name=\"mail\"",
            "Name=\"urn:oid:0.9.2342.19200300.100.1.3\" NameFormat=\"urn:oasis:names:tc:SAML:2.0:attrname-format:uri\" FriendlyName=\"mail\"",
        )))
        .with_attributes(vec![
            ("displayName", vec!["Ada Lovelace"]),
            ("urn:oid:0.9.2342.19200300.100.1.3", vec!["ada@corp.example"]),
        ]),
    ]
}

fn many() -> Vec<Valid> {
    let value = |text: &str| format!("<saml:AttributeValue>{text}</saml:AttributeValue>");
    let groups =
        format!("<saml:Attribute Name=\"groups\">{}{}</saml:Attribute>", value("staff"), value("math"));
    let statement = format!("<saml:AttributeStatement>{groups}</saml:AttributeStatement></saml:Assertion>");
    let mut attributes = vec![("displayName", vec!["Ada Lovelace"]), ("mail", vec!["ada@corp.example"])];
    attributes.push(("groups", vec!["staff", "math"]));
    let (authn, again) = usual().assertion.cut("<saml:AuthnStatement", "</saml:AuthnStatement>");
    let two = authn.swap("<saml:AttributeStatement>", &format!("{again}{again}<saml:AttributeStatement>"));
    let (bare, _) = usual().assertion.cut("<saml:AttributeStatement>", "</saml:AttributeStatement>");
    let (_, statements) = usual().assertion.cut("<saml:AttributeStatement>", "</saml:AttributeStatement>");
    vec![
        Valid::built("several statements with attributes", &usual().within("</saml:Assertion>", &statement))
            .with_attributes(attributes),
        Valid::built("two statements of sign-in", &Build { assertion: two, ..usual() }),
        Valid::built("no attributes", &Build { assertion: bare.clone(), ..usual() })
            .with_attributes(Vec::new()),
        Valid::built(
            "attributes before the sign-in",
            &Build {
                assertion: bare.swap("<saml:AuthnStatement", &format!("{statements}<saml:AuthnStatement")),
                ..usual()
            },
        ),
    ]
}
