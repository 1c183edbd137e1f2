//! Validly signed, but for another recipient, by another issuer, or for another time.

use saml_sp::Reason::{
    self, Audience, AuthnContext, Destination, IssueInstant, Issuer, NoAuthnStatement, NoConditions,
    NotSuccess, OutsideTime, SessionOver, UnknownCondition,
};

use crate::{
    factory::{Build, SUCCESS, Swap, XSI},
    hostile::Hostile,
    world::{IDP_ENTITY, WORLD},
};

pub(crate) fn all() -> Vec<Hostile> {
    [statuses(), addresses(), issuers(), instants(), conditions(), statements()]
        .into_iter()
        .flatten()
        .collect()
}

fn within(name: &str, from: &str, to: &str, reason: Reason) -> Hostile {
    Hostile::built(name, &Build::assertion_signed().within(from, to), reason)
}

fn around(name: &str, from: &str, to: &str, reason: Reason) -> Hostile {
    Hostile::built(name, &Build::assertion_signed().around(from, to), reason)
}

fn statuses() -> Vec<Hostile> {
    let code = format!("<samlp:StatusCode Value=\"{SUCCESS}\"></samlp:StatusCode>");
    let of = |name: &str, to: &str| around(name, &code, to, NotSuccess);
    let (responder, denied) =
        ("urn:oasis:names:tc:SAML:2.0:status:Responder", "urn:oasis:names:tc:SAML:2.0:status:RequestDenied");
    vec![
        of(
            "the identity provider failed",
            &format!("<samlp:StatusCode Value=\"{responder}\"></samlp:StatusCode>"),
        ),
        of(
            "success within a failure",
            &format!("<samlp:StatusCode Value=\"{responder}\">{code}</samlp:StatusCode>"),
        ),
        of(
            "denied, with a message",
            &format!(
                "<samlp:StatusCode Value=\"{responder}\"><samlp:StatusCode Value=\"{denied}\"></samlp:StatusCode></samlp:StatusCode><samlp:StatusMessage>no</samlp:StatusMessage>"
            ),
        ),
        of("no value of the status", "<samlp:StatusCode></samlp:StatusCode>"),
        of(
            "a status in lower case",
            &code
                .to_lowercase()
                .replace("samlp:statuscode value", "samlp:StatusCode Value")
                .replace("samlp:statuscode", "samlp:StatusCode"),
        ),
        of("a status with white space", &code.swap(SUCCESS, &format!("{SUCCESS} "))),
    ]
}

fn addresses() -> Vec<Hostile> {
    let acs = &WORLD.service.acs_url;
    let original = format!(" Destination=\"{acs}\"");
    let of = |name: &str, to: &str| around(name, &original, &format!(" Destination=\"{to}\""), Destination);
    let mut other = acs.clone();
    let last = other.pop().unwrap();
    vec![
        of("for another host", &acs.swap("gatehouse.example", "gatehouse.example.evil.example")),
        of("for another of our providers", &acs.swap("/acs", "x/acs")),
        of("for a longer address", &format!("{acs}/")),
        of("for a shorter address", &other),
        of("for the address in capitals", &acs.to_uppercase()),
        of("for the address with a query", &format!("{acs}?{last}")),
        of("for the address over http", &acs.swap("https", "http")),
        of("for the address with white space", &format!(" {acs}")),
        of("for an empty address", ""),
        Hostile::built(
            "no Destination of a signed response",
            &Build::response_signed().around(&original, ""),
            Destination,
        ),
        Hostile::built(
            "no Destination, both signed",
            &Build::both_signed().around(&original, ""),
            Destination,
        ),
        Hostile::built(
            "a Destination in a namespace",
            &Build::response_signed()
                .around(&original, &format!(" xmlns:x=\"urn:x\" x:Destination=\"{acs}\"")),
            Destination,
        ),
    ]
}

fn issuers() -> Vec<Hostile> {
    let original = format!(">{IDP_ENTITY}<");
    let mut cases = Vec::new();
    for other in [
        "https://evil.example/saml",
        "https://idp.example/saml/",
        "https://IDP.example/saml",
        "https://idp.example/sam",
        "https://idp.example/saml?",
        "",
    ] {
        let to = format!(">{other}<");
        cases.push(within(&format!("the assertion from {other}"), &original, &to, Issuer));
        cases.push(around(&format!("the response from {other}"), &original, &to, Issuer));
    }
    cases.push(Hostile::built(
        "a signed response from another issuer",
        &Build::response_signed().around(&original, ">https://evil.example/saml<"),
        Issuer,
    ));
    cases.push(Hostile::built(
        "encrypted, from another issuer",
        &Build::encrypted().within(&original, ">https://evil.example/saml<"),
        Issuer,
    ));
    cases
}

fn instants() -> Vec<Hostile> {
    let issued = "IssueInstant=\"2026-03-01T11:59:58Z\"";
    let mut cases = vec![
        within("issued in 60.001 seconds", issued, "IssueInstant=\"2026-03-01T12:01:00.001Z\"", IssueInstant),
        around(
            "the response issued in 60.001 seconds",
            issued,
            "IssueInstant=\"2026-03-01T12:01:00.001Z\"",
            IssueInstant,
        ),
        within("issued never", issued, "", IssueInstant),
        around("the response issued never", issued, "", IssueInstant),
    ];
    for odd in [
        "yesterday",
        "2026-03-01",
        "2026-03-01T11:59:58",
        "2026-03-01T11:59:58+00:00",
        "2026-02-30T11:59:58Z",
        "2026-03-01T25:00:00Z",
        "1772366398",
        "",
    ] {
        cases.push(within(
            &format!("issued at {odd:?}"),
            issued,
            &format!("IssueInstant=\"{odd}\""),
            OutsideTime,
        ));
    }
    cases
}

fn conditions() -> Vec<Hostile> {
    let build = Build::assertion_signed;
    let times = " NotBefore=\"2026-03-01T11:55:00Z\" NotOnOrAfter=\"2026-03-01T12:05:00Z\"";
    let timed = |name: &str, to: &str| within(name, times, to, OutsideTime);
    let ours = format!("<saml:Audience>{}</saml:Audience>", WORLD.service.entity_id);
    let restriction = format!("<saml:AudienceRestriction>{ours}</saml:AudienceRestriction>");
    let other = "<saml:Audience>https://other.example</saml:Audience>";
    let (unconditional, _) = build().assertion.cut("<saml:Conditions", "</saml:Conditions>");
    let audience = |name: &str, to: &str| within(name, &ours, to, Audience);
    let unknown = |name: &str, condition: &str| {
        within(name, "</saml:Conditions>", &format!("{condition}</saml:Conditions>"), UnknownCondition)
    };
    let typed = |kind: &str| format!("xmlns:xsi=\"{XSI}\" xmlns:x=\"urn:x\" xsi:type=\"{kind}\"");
    vec![
        Hostile::built("no Conditions", &Build { assertion: unconditional, ..build() }, NoConditions),
        timed("ended 60 seconds ago", " NotOnOrAfter=\"2026-03-01T11:59:00Z\""),
        timed("ended a day ago", " NotOnOrAfter=\"2026-02-28T12:00:00Z\""),
        timed("begins in 60.001 seconds", " NotBefore=\"2026-03-01T12:01:00.001Z\""),
        timed("begins tomorrow", " NotBefore=\"2026-03-02T12:00:00Z\" NotOnOrAfter=\"2026-03-03T12:05:00Z\""),
        timed("ends at no time", " NotOnOrAfter=\"soon\""),
        timed("ends at a time without zone", " NotOnOrAfter=\"2026-03-01T12:05:00\""),
        timed("ends at a time of another zone", " NotOnOrAfter=\"2026-03-01T12:05:00+02:00\""),
        timed("an empty end", " NotOnOrAfter=\"\""),
        timed("begins at no time", " NotBefore=\"once\""),
        within("no restriction", &restriction, "", Audience),
        audience("no audience", ""),
        audience("another audience", other),
        audience("an audience with ours as its prefix", &ours.swap("</", "/x</")),
        audience("an audience that is a prefix of ours", &ours.swap("/metadata</", "/metadat</")),
        audience("our audience in capitals", &ours.to_uppercase().replace("SAML:AUDIENCE", "saml:Audience")),
        audience(
            "our address instead of our name",
            &format!("<saml:Audience>{}</saml:Audience>", WORLD.service.acs_url),
        ),
        audience("two audiences in one", &ours.swap("</", &format!(" {}</", WORLD.service.entity_id))),
        within(
            "another restriction next to ours",
            &restriction,
            &format!("{restriction}<saml:AudienceRestriction>{other}</saml:AudienceRestriction>"),
            Audience,
        ),
        within(
            "an empty restriction next to ours",
            &restriction,
            &format!("{restriction}<saml:AudienceRestriction></saml:AudienceRestriction>"),
            Audience,
        ),
        within("the audience next to the restriction", &restriction, &ours, UnknownCondition),
        unknown("an unknown condition", "<saml:Condition></saml:Condition>"),
        unknown(
            "a condition of another type",
            &format!("<saml:Condition {}></saml:Condition>", typed("x:Delegated")),
        ),
        unknown("a condition of another namespace", "<x:OneTimeUse xmlns:x=\"urn:x\"></x:OneTimeUse>"),
        unknown(
            "OneTimeUse, of another type",
            &format!("<saml:OneTimeUse {}></saml:OneTimeUse>", typed("x:Twice")),
        ),
        unknown(
            "another element in the restriction",
            "<saml:AudienceRestriction><saml:Except></saml:Except></saml:AudienceRestriction>",
        ),
    ]
}

fn statements() -> Vec<Hostile> {
    let build = Build::assertion_signed;
    let (none, statement) = build().assertion.cut("<saml:AuthnStatement", "</saml:AuthnStatement>");
    let instant = "AuthnInstant=\"2026-03-01T11:59:50Z\"";
    let session = |end: &str| format!("{instant} SessionNotOnOrAfter=\"{end}\"");
    let mut asked = vec![
        Hostile::built("another way to sign in", &build(), AuthnContext),
        within(
            "one of two ways to sign in",
            &statement,
            &format!("{}{statement}", statement.swap("classes:PasswordProtectedTransport", "classes:X509")),
            AuthnContext,
        ),
        within(
            "no way to sign in",
            "<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef>",
            "",
            AuthnContext,
        ),
    ];
    for case in &mut asked {
        case.change =
            |provider| provider.authn_contexts = vec!["urn:oasis:names:tc:SAML:2.0:ac:classes:X509".into()];
    }
    asked.extend([
        Hostile::built("no AuthnStatement", &Build { assertion: none, ..build() }, NoAuthnStatement),
        within("no AuthnInstant", instant, "", NoAuthnStatement),
        within(
            "an AuthnInstant in 60.001 seconds",
            instant,
            "AuthnInstant=\"2026-03-01T12:01:00.001Z\"",
            OutsideTime,
        ),
        within("an invalid AuthnInstant", instant, "AuthnInstant=\"now\"", OutsideTime),
        within("the session ended 60 seconds ago", instant, &session("2026-03-01T11:59:00Z"), SessionOver),
        within("the session ends at no time", instant, &session("later"), OutsideTime),
        within(
            "one of two sessions has ended",
            &statement,
            &format!("{statement}{}", statement.swap(instant, &session("2026-03-01T11:00:00Z"))),
            SessionOver,
        ),
    ]);
    asked
}
