//! Different encodings of the same content.

use data_encoding::BASE64;

use crate::{
    factory::{Build, SAML2, Swap, XS, XSI, field},
    valid::Valid,
};

const NOT_NORMALISED: &str = "it leaves a tab or a line feed in an attribute unchanged";
const LINE_ENDS: &str = "it leaves CR LF in CDATA unchanged";

pub(crate) fn all() -> Vec<Valid> {
    [types(), base64(), written(), white(), characters()].into_iter().flatten().collect()
}

/// Namespaces that only values use.
fn types() -> Vec<Valid> {
    let typed = |on: &'static str| {
        move |build: Build| {
            let declared = format!(" xmlns:xs=\"{XS}\" xmlns:xsi=\"{XSI}\"");
            let (assertion, value) = if on == "assertion" { (&*declared, "") } else { ("", &*declared) };
            let text = build.assertion.all(
                "<saml2:AttributeValue>",
                &format!("<saml2:AttributeValue{value} xsi:type=\"xs:string\">"),
            );
            Build { assertion: text.swap(" ID=\"_a1\"", &format!("{assertion} ID=\"_a1\"")), ..build }
        }
    };
    let signed = |assertion: bool, response: bool| Build::signed(SAML2, assertion, response);
    let kept = |build: Build| build.signing(|signing| signing.prefixes = &["xs"]);
    let mut inner_alone = typed("assertion")(signed(true, true));
    inner_alone.signs_assertion.as_mut().unwrap().prefixes = &["xs"];
    vec![
        Valid::built("types, declared at each value", &typed("value")(signed(true, false))),
        Valid::built("types, declared at the assertion", &typed("assertion")(signed(true, false))),
        Valid::built("types, kept by a PrefixList", &kept(typed("assertion")(signed(true, false)))),
        Valid::built("types, kept in both signatures", &kept(typed("assertion")(signed(true, true)))),
        Valid::built("types, kept only in the inner signature", &inner_alone),
        Valid::built(
            "several prefixes and the default namespace are kept",
            &typed("assertion")(signed(true, false))
                .signing(|signing| signing.prefixes = &["xs", "xsi", "saml2", "#default", "absent"]),
        ),
    ]
}

fn base64() -> Vec<Valid> {
    let wrapped = Build::assertion_signed().signing(|signing| {
        signing.wraps = true;
        signing.key_info = signing.key_info.replace("<ds:X509Certificate>", "<ds:X509Certificate>\n");
    });
    let lines = |width: usize, end: &str| {
        let text = Build::assertion_signed().field();
        text.as_bytes().chunks(width).map(|line| format!("{}{end}", str::from_utf8(line).unwrap())).collect()
    };
    let sent = |name, field: String| {
        let xml =
            String::from_utf8(BASE64.decode(field.replace(['\r', '\n'], "").as_bytes()).unwrap()).unwrap();
        Valid { field: Some(field), ..Valid::of(name, xml) }
    };
    vec![
        Valid::built("values in lines of 76", &wrapped),
        Valid::of("values in lines that end with CR LF", wrapped.xml().all("\n", "\r\n")),
        sent("a field in lines of 76 that end with CR LF", lines(76, "\r\n")),
        sent("a field in lines of 64 that end with LF", lines(64, "\n")),
    ]
}

/// Text that is changed after signing without changing its canonical form.
fn written() -> Vec<Valid> {
    let (assertion, response) = (Build::assertion_signed().xml(), Build::response_signed().xml());
    let declared = |what: &str| format!("<?xml version=\"1.0\"{what}?>\n{assertion}");
    let short = |text: &str| {
        text.all("></saml:SubjectConfirmationData>", "/>")
            .all("></samlp:StatusCode>", " />")
            .all("></ds:Transform>", "/>")
            .all("></ds:SignatureMethod>", "/>")
    };
    let order = |text: &str| {
        text.swap(
            " ID=\"_a1\" IssueInstant=\"2026-03-01T11:59:58Z\" Version=\"2.0\"",
            "\n  Version='2.0'  IssueInstant = '2026-03-01T11:59:58Z'\tID='_a1'\n",
        )
    };
    vec![
        Valid::of("an XML declaration", declared(" encoding=\"UTF-8\"")),
        Valid::of("a standalone XML declaration", declared(" encoding='utf-8' standalone='no'")),
        Valid::of("an XML declaration without encoding", declared("")),
        Valid::of("a byte order mark", format!("\u{feff}{assertion}")),
        Valid::of(
            "a byte order mark and a declaration",
            format!("\u{feff}{}", declared(" encoding=\"UTF-8\"")),
        ),
        Valid::of("a line feed at the end", format!("{assertion}\n\n")),
        Valid::of("empty elements in short", short(&assertion)),
        Valid::of("empty elements in short, the response signed", short(&response)),
        Valid::of("attributes in another order and quotes", order(&assertion)),
        Valid::of("attributes in another order and quotes, the response signed", order(&response)),
        Valid::of("comments between elements", {
            let text = assertion.swap("<saml:Subject>", "<!-- who --><saml:Subject><!-- <saml:NameID> -->");
            let text = text.swap("<samlp:Status>", "<!-- how --><samlp:Status>");
            text.swap("<ds:Transforms>", "<ds:Transforms><!-- two -->")
                .swap("<ds:KeyInfo>", "<!-- --><ds:KeyInfo>")
        }),
        Valid::of(
            "characters by number",
            response.swap(">ada@corp.example</saml:NameID>", ">&#97;d&#x61;@corp.example</saml:NameID>"),
        ),
        Valid::of(
            "a NameID as CDATA",
            assertion.swap(">ada@corp.example</saml:NameID>", "><![CDATA[ada@corp.example]]></saml:NameID>"),
        ),
        Valid::of(
            "a NameID of text and CDATA",
            assertion.swap(
                ">ada@corp.example</saml:NameID>",
                ">ada<![CDATA[@]]>corp.<![CDATA[]]>example</saml:NameID>",
            ),
        ),
    ]
}

/// White space between elements, which is signed too.
fn white() -> Vec<Valid> {
    let pretty = |build: Build| {
        let lines =
            |text: &str| text.replace("><", ">\n    <").replace("\n    </saml:NameID", "</saml:NameID");
        Build { assertion: lines(&build.assertion), response: lines(&build.response), ..build }
    };
    let pretty_signature = pretty(Build::assertion_signed()).signing(|signing| {
        signing.change("<ds:SignedInfo>", "\n  <ds:SignedInfo>\n    ");
        signing.change("</ds:Transforms>", "\n  </ds:Transforms>\n");
        signing.change("</ds:SignedInfo>", "\n</ds:SignedInfo>\n");
        signing.key_info = signing.key_info.replace("><", ">\n<");
    });
    let sent = pretty_signature.xml();
    vec![
        Valid::built("pretty-printed", &pretty(Build::assertion_signed())),
        Valid::built("pretty-printed, the response signed", &pretty(Build::response_signed())),
        Valid::built("pretty-printed, both signed", &pretty(Build::both_signed())),
        Valid::built("pretty-printed with its signature", &pretty_signature),
        Valid::of("pretty-printed in lines that end with CR LF", sent.all("\n", "\r\n")),
        Valid::of(
            "a tab and a line feed in an attribute",
            Build::assertion_signed()
                .within("Name=\"displayName\"", "Name=\"displayName\" FriendlyName=\"Ada's  name\"")
                .xml()
                .swap("Ada's  name", "Ada's\t\nname"),
        )
        .but_second(NOT_NORMALISED),
        Valid::of(
            "CR LF in an attribute, the response signed",
            Build::response_signed()
                .within("Name=\"displayName\"", "Name=\"displayName\" FriendlyName=\"Ada's name\"")
                .xml()
                .swap("Ada's name", "Ada's\r\nname"),
        )
        .but_second(NOT_NORMALISED),
        Valid::of(
            "CR LF in CDATA",
            Build::assertion_signed()
                .within(">Ada Lovelace<", ">Ada\nLovelace<")
                .xml()
                .swap(">Ada\nLovelace<", "><![CDATA[Ada\r\nLovelace]]><"),
        )
        .with_attributes(vec![("displayName", vec!["Ada\nLovelace"]), ("mail", vec!["ada@corp.example"])])
        .but_second(LINE_ENDS),
        Valid::of(
            "CR LF in a value",
            Build::assertion_signed()
                .within(">Ada Lovelace<", ">Ada\nLovelace<")
                .xml()
                .swap(">Ada\nLovelace<", ">Ada\r\nLovelace<"),
        )
        .with_attributes(vec![("displayName", vec!["Ada\nLovelace"]), ("mail", vec!["ada@corp.example"])]),
        Valid::of(
            "an escaped carriage return",
            Build::assertion_signed().within(">Ada Lovelace<", ">Ada&#13;Lovelace&#9;&#10;<").xml(),
        )
        .with_attributes(vec![
            ("displayName", vec!["Ada\rLovelace\t\n"]),
            ("mail", vec!["ada@corp.example"]),
        ]),
        Valid::of(
            "an escaped tab in an attribute",
            Build::assertion_signed()
                .within("Name=\"displayName\"", "Name=\"displayName\" FriendlyName=\"a&#9;b&#xA;c&#13;d\"")
                .xml(),
        ),
    ]
}

fn characters() -> Vec<Valid> {
    let named = |written: &str, meant: &'static str| {
        let build = Build::assertion_signed().within(">Ada Lovelace<", &format!(">{written}<"));
        (build, vec![("displayName", vec![meant]), ("mail", vec!["ada@corp.example"])])
    };
    let of = |name, written: &str, meant: &'static str| {
        let (build, attributes) = named(written, meant);
        Valid::built(name, &build).with_attributes(attributes)
    };
    let (both, attributes) = named("Ada &amp; Bob", "Ada & Bob");
    let long = "Ada ".repeat(5_000);
    vec![
        of("an ampersand in a value", "Ada &amp; Bob &lt;&gt;&quot;&apos;", "Ada & Bob <>\"'"),
        of("CDATA in a value", "<![CDATA[Ada & <b>Bob</b>]]>", "Ada & <b>Bob</b>"),
        of("letters beyond ASCII", "Ådä Łovelace 爱达 \u{1f980}", "Ådä Łovelace 爱达 \u{1f980}"),
        of("an empty value", "", ""),
        of("white space around a value", " Ada\n", " Ada\n"),
        of("a value of 20,000 characters", &long, long.clone().leak()),
        Valid {
            field: Some(field(Build { signs_response: both.signs_assertion.clone(), ..both.clone() }.xml())),
            ..Valid::built("an ampersand in a value, both signed", &both).with_attributes(attributes)
        },
        Valid::built(
            "an ampersand in an attribute",
            &Build::assertion_signed().within("SessionIndex=\"_s1\"", "SessionIndex=\"a&amp;b&lt;c&quot;d\""),
        ),
    ]
}
