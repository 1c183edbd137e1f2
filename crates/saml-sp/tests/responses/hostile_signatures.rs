//! Signatures in an unsupported form, made with the real key.

use openssl::hash::{MessageDigest, hash};
use saml_sp::Reason::{self, SignatureAlgorithm, SignatureShape};

use crate::{
    factory::{Build, Swap},
    hostile::Hostile,
    keys::IDP,
    sign::{ENVELOPED, EXCLUSIVE, Hash, Signing},
};

pub(crate) fn all() -> Vec<Hostile> {
    [parts(), values(), methods(), transforms()].into_iter().flatten().collect()
}

/// Returns the default response with a `Signature` that is changed before the real key signs it.
fn changed(from: &str, to: &str) -> String {
    Build::assertion_signed().signing(|signing| signing.change(from, to)).xml()
}

fn parts() -> Vec<Hostile> {
    let xml = Build::assertion_signed().xml();
    let (_, info) = xml.cut("<ds:SignedInfo>", "</ds:SignedInfo>");
    let (_, value) = xml.cut("<ds:SignatureValue>", "</ds:SignatureValue>");
    let (_, reference) = xml.cut("<ds:Reference", "</ds:Reference>");
    let (_, keys) = xml.cut("<ds:KeyInfo>", "</ds:KeyInfo>");
    let (_, canonical) = xml.cut("<ds:CanonicalizationMethod", "</ds:CanonicalizationMethod>");
    let (_, method) = xml.cut("<ds:SignatureMethod", "</ds:SignatureMethod>");
    let (_, digest) = xml.cut("<ds:DigestMethod", "</ds:DigestMethod>");
    let evil = info.swap("</ds:DigestValue>", "AAAA</ds:DigestValue>");
    let of = |name: &str, xml: String| Hostile::of(name, xml, SignatureShape);
    vec![
        of("two SignedInfos, the forged one first", xml.swap(&info, &format!("{evil}{info}"))),
        of("two SignedInfos, the forged one second", xml.swap(&info, &format!("{info}{evil}"))),
        of("a second SignedInfo after the value", xml.swap(&value, &format!("{value}{evil}"))),
        of(
            "a second SignedInfo in an Object",
            xml.swap(&keys, &format!("{keys}<ds:Object>{evil}</ds:Object>")),
        ),
        of("the value before the SignedInfo", xml.swap(&value, "").swap(&info, &format!("{value}{info}"))),
        of("the KeyInfo before the value", xml.swap(&keys, "").swap(&value, &format!("{keys}{value}"))),
        of("two values", xml.swap(&value, &value.repeat(2))),
        of("no value", xml.swap(&value, "")),
        of("two KeyInfos", xml.swap(&keys, &keys.repeat(2))),
        of("an unknown element in the signature", xml.swap(&keys, &format!("{keys}<x></x>"))),
        of(
            "a SignedInfo of another namespace",
            xml.swap("<ds:SignedInfo>", "<x:SignedInfo xmlns:x=\"urn:x\">")
                .swap("</ds:SignedInfo>", "</x:SignedInfo>"),
        ),
        of("two References", changed("<ds:Reference ", &format!("{reference}<ds:Reference "))),
        of("no Reference", xml.swap(&reference, "")),
        of(
            "a Manifest in an Object",
            xml.swap(&keys, &format!("{keys}<ds:Object><ds:Manifest>{reference}</ds:Manifest></ds:Object>")),
        ),
        of("no CanonicalizationMethod", xml.swap(&canonical, "")),
        of("two SignatureMethods", xml.swap(&method, &method.repeat(2))),
        of("two DigestMethods", changed(&digest, &digest.repeat(2))),
        of("no DigestMethod", changed(&digest, "")),
        Hostile::of(
            "text in the SignedInfo",
            changed("<ds:SignedInfo>", "<ds:SignedInfo>x"),
            Reason::MixedText,
        ),
    ]
}

fn values() -> Vec<Hostile> {
    let xml = Build::assertion_signed().xml();
    let (_, digest) = xml.cut("<ds:DigestValue>", "</ds:DigestValue>");
    let twice = "<ds:DigestValue>AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=</ds:DigestValue>";
    let of = |name: &str, xml: String, reason: Reason| Hostile::of(name, xml, reason);
    let mixed = Reason::MixedText;
    vec![
        // The canonical form omits comments, so the signature remains valid with them.
        of(
            "a comment at the end of the DigestValue",
            xml.swap("</ds:DigestValue>", "<!-- --></ds:DigestValue>"),
            mixed,
        ),
        of(
            "a digest in a comment before the DigestValue's",
            xml.swap("<ds:DigestValue>", "<ds:DigestValue><!--AAAA-->"),
            mixed,
        ),
        of(
            "a DigestValue of only a comment",
            xml.swap(&digest, "<ds:DigestValue><!--AAAA--></ds:DigestValue>"),
            SignatureShape,
        ),
        of(
            "CDATA in the DigestValue",
            xml.swap("<ds:DigestValue>", "<ds:DigestValue><![CDATA[]]>"),
            SignatureShape,
        ),
        of(
            "CDATA in the SignatureValue",
            xml.swap("</ds:SignatureValue>", "<![CDATA[]]></ds:SignatureValue>"),
            SignatureShape,
        ),
        of("an element in the DigestValue", changed("</ds:DigestValue>", "<x></x></ds:DigestValue>"), mixed),
        of(
            "a DigestValue in the DigestValue",
            changed("<ds:DigestValue>", &format!("<ds:DigestValue>{twice}")),
            mixed,
        ),
        of(
            "two DigestValues",
            changed("<ds:DigestValue>", &format!("{twice}<ds:DigestValue>")),
            SignatureShape,
        ),
        of(
            "two DigestValues, reversed",
            changed("</ds:DigestValue>", &format!("</ds:DigestValue>{twice}")),
            SignatureShape,
        ),
        of("an empty DigestValue", changed(&digest, "<ds:DigestValue></ds:DigestValue>"), SignatureShape),
        of(
            "a DigestValue that is not base64",
            changed("<ds:DigestValue>", "<ds:DigestValue>%"),
            SignatureShape,
        ),
        of(
            "a DigestValue with padding in it",
            changed("<ds:DigestValue>", "<ds:DigestValue>AAA="),
            SignatureShape,
        ),
        of(
            "a DigestValue in another place",
            xml.swap("</ds:KeyInfo>", &format!("{twice}</ds:KeyInfo>")).swap(&digest, ""),
            SignatureShape,
        ),
        of(
            "a comment in the SignatureValue",
            xml.swap("<ds:SignatureValue>", "<ds:SignatureValue><!-- -->"),
            mixed,
        ),
        of(
            "an element in the SignatureValue",
            xml.swap("</ds:SignatureValue>", "<x></x></ds:SignatureValue>"),
            mixed,
        ),
        of(
            "a SignatureValue that is not base64",
            xml.swap("<ds:SignatureValue>", "<ds:SignatureValue>-_"),
            SignatureShape,
        ),
        of(
            "an empty SignatureValue",
            {
                let (_, value) = xml.cut("<ds:SignatureValue>", "</ds:SignatureValue>");
                xml.swap(&value, "<ds:SignatureValue></ds:SignatureValue>")
            },
            SignatureShape,
        ),
    ]
}

fn methods() -> Vec<Hostile> {
    let of = |name: &str, xml: String| Hostile::of(name, xml, SignatureAlgorithm);
    let method = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256";
    let digest = Hash::Sha256.uri();
    let shaped = |name: &str, xml: String| Hostile::of(name, xml, SignatureShape);
    let hmac = |secret: Vec<u8>, uri: &str| {
        Build::assertion_signed()
            .signing(|signing| {
                signing.hmac = Some(secret.clone());
                signing.change(method, uri);
            })
            .xml()
    };
    let public = IDP.private.public_key_to_der().unwrap();
    let pem = IDP.private.public_key_to_pem().unwrap();
    let hashed = |change: fn(&mut Signing)| Build::assertion_signed().signing(change).xml();
    let canonical = format!("<ds:CanonicalizationMethod Algorithm=\"{EXCLUSIVE}\">");
    let canonical =
        |uri: &str| changed(&canonical, &format!("<ds:CanonicalizationMethod Algorithm=\"{uri}\">"));
    let mut cases = vec![
        of(
            "HMAC with the public key",
            hmac(public.clone(), "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"),
        ),
        of(
            "HMAC with the public key as PEM",
            hmac(pem, "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256"),
        ),
        of(
            "HMAC with the certificate",
            hmac(IDP.certificate.der().to_vec(), "http://www.w3.org/2001/04/xmldsig-more#hmac-sha512"),
        ),
        of("HMAC of SHA-1 with the public key", hmac(public, "http://www.w3.org/2000/09/xmldsig#hmac-sha1")),
        of("HMAC with an empty key", hmac(vec![0], "http://www.w3.org/2001/04/xmldsig-more#hmac-sha256")),
        of(
            "HMAC of no length",
            changed(
                "<ds:SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#rsa-sha256\">",
                "<ds:SignatureMethod Algorithm=\"http://www.w3.org/2000/09/xmldsig#hmac-sha1\"><ds:HMACOutputLength>0</ds:HMACOutputLength>",
            ),
        ),
        shaped(
            "RSA with a length of HMAC",
            changed(
                &format!("<ds:SignatureMethod Algorithm=\"{method}\">"),
                &format!(
                    "<ds:SignatureMethod Algorithm=\"{method}\"><ds:HMACOutputLength>0</ds:HMACOutputLength>"
                ),
            ),
        ),
        of("SHA-1 in the signature", hashed(|signing| signing.hash = Hash::Sha1)),
        of("SHA-1 in the digest", hashed(|signing| signing.digest = Hash::Sha1)),
        of("SHA-1 in both", hashed(|signing| (signing.hash, signing.digest) = (Hash::Sha1, Hash::Sha1))),
        of("MD5 in the digest", {
            assert_eq!(hash(MessageDigest::md5(), b"").unwrap().len(), 16);
            changed(digest, "http://www.w3.org/2001/04/xmldsig-more#md5")
        }),
        of("no method", changed(&format!(" Algorithm=\"{method}\""), "")),
        shaped(
            "a method in a namespace",
            changed(
                &format!(" Algorithm=\"{method}\""),
                &format!(" xmlns:x=\"urn:x\" x:Algorithm=\"{method}\""),
            ),
        ),
        shaped("a parameter of the digest", changed("</ds:DigestMethod>", "<x></x></ds:DigestMethod>")),
        shaped("text in the method", changed("</ds:SignatureMethod>", "x</ds:SignatureMethod>")),
    ];
    for other in [
        "http://www.w3.org/2000/09/xmldsig#dsa-sha1",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-md5",
        "http://www.w3.org/2001/04/xmldsig-more#rsa-sha224",
        "http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1",
        "http://www.w3.org/2021/04/xmldsig-more#eddsa-ed25519",
        "HTTP://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
        "",
    ] {
        cases.push(of(&format!("the method {other}"), changed(method, other)));
    }
    for other in [
        "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        "http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments",
        "http://www.w3.org/2006/12/xml-c14n11",
        "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
        "http://www.w3.org/TR/1999/REC-xslt-19991116",
        "urn:x",
    ] {
        cases.push(of(&format!("the canonical form {other}"), canonical(other)));
    }
    cases
}

fn transforms() -> Vec<Hostile> {
    let xml = Build::assertion_signed().xml();
    let (_, all) = xml.cut("<ds:Transforms>", "</ds:Transforms>");
    let step = |uri: &str| format!("<ds:Transform Algorithm=\"{uri}\"></ds:Transform>");
    let (enveloped, exclusive) = (step(ENVELOPED), step(EXCLUSIVE));
    let instead = |steps: &str| changed(&all, &format!("<ds:Transforms>{steps}</ds:Transforms>"));
    let shaped = |name: &str, xml: String| Hostile::of(name, xml, SignatureShape);
    let of = |name: &str, xml: String| Hostile::of(name, xml, SignatureAlgorithm);
    let trap = &crate::hostile::TRAP.1;
    let xpath = "http://www.w3.org/TR/1999/REC-xpath-19991116";
    let xslt = format!(
        "<ds:Transform Algorithm=\"http://www.w3.org/TR/1999/REC-xslt-19991116\"><xsl:stylesheet xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\" version=\"1.0\"><xsl:include href=\"{trap}/x.xsl\"></xsl:include></xsl:stylesheet></ds:Transform>"
    );
    let kept = |list: &str, child: &str| {
        let kept = format!(
            "<ds:Transform Algorithm=\"{EXCLUSIVE}\"><ec:InclusiveNamespaces xmlns:ec=\"{EXCLUSIVE}\" PrefixList=\"{list}\">{child}</ec:InclusiveNamespaces></ds:Transform>"
        );
        instead(&format!("{enveloped}{kept}"))
    };
    let mut cases = vec![
        shaped("no Transforms", changed(&all, "")),
        shaped("empty Transforms", instead("")),
        shaped("only enveloped", instead(&enveloped)),
        shaped("only exclusive", instead(&exclusive)),
        of("in the other order", instead(&format!("{exclusive}{enveloped}"))),
        of("enveloped twice", instead(&enveloped.repeat(2))),
        of("exclusive twice", instead(&exclusive.repeat(2))),
        shaped("three", instead(&format!("{enveloped}{exclusive}{exclusive}"))),
        shaped("Transforms twice", changed(&all, &all.repeat(2))),
        of(
            "XPath that selects nothing",
            instead(&format!(
                "{enveloped}<ds:Transform Algorithm=\"{xpath}\"><ds:XPath>false()</ds:XPath></ds:Transform>"
            )),
        ),
        shaped(
            "XPath before the usual two",
            instead(&format!(
                "<ds:Transform Algorithm=\"{xpath}\"><ds:XPath>not(ancestor-or-self::*[local-name()='NameID'])</ds:XPath></ds:Transform>{enveloped}{exclusive}"
            )),
        ),
        of("XSLT with a URL", instead(&format!("{enveloped}{xslt}"))),
        of("XSLT first", instead(&format!("{xslt}{exclusive}"))),
        shaped(
            "a parameter of the enveloped one",
            instead(&format!("{}{exclusive}", enveloped.swap("></", "><ds:XPath>1</ds:XPath></"))),
        ),
        shaped(
            "an unknown parameter",
            kept("xs", "")
                .swap("ec:InclusiveNamespaces xmlns:ec", "x:InclusiveNamespaces xmlns:x=\"urn:x\" xmlns:ec")
                .swap("</ec:", "</x:"),
        ),
        shaped("a PrefixList of 2,000 prefixes", kept(&"a ".repeat(2_000), "")),
        shaped("a PrefixList with a child", kept("xs", "<x></x>")),
        shaped("no PrefixList", kept("xs", "").swap(" PrefixList=\"xs\"", "")),
        of(
            "a transform of another name",
            instead(&format!("{enveloped}<ds:Step Algorithm=\"{EXCLUSIVE}\"></ds:Step>")),
        ),
    ];
    for other in [
        "http://www.w3.org/2000/09/xmldsig#base64",
        "http://www.w3.org/TR/2001/REC-xml-c14n-20010315",
        "http://www.w3.org/2001/10/xml-exc-c14n#WithComments",
        "http://www.w3.org/2002/06/xmldsig-filter2",
        "http://www.w3.org/2002/07/decrypt#XML",
        "http://www.w3.org/2001/04/xmlenc#sha256",
        "",
    ] {
        cases.push(of(
            &format!("the second transform {other}"),
            instead(&format!("{enveloped}{}", step(other))),
        ));
    }
    cases.push(of(
        "the first transform base64",
        instead(&format!("{}{exclusive}", step("http://www.w3.org/2000/09/xmldsig#base64"))),
    ));
    cases
}
