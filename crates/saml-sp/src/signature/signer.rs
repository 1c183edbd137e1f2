//! Finds the signer: verifies a canonical `SignedInfo` with the pinned keys before anything else is computed.
//!
//! This is a cheap early rejection, not the trust decision. Without a signature by a pinned key, a document reaches
//! neither the C libraries nor work that grows with its size. libxmlsec1 then verifies the whole signature.

use std::{collections::BTreeMap, iter::once};

use openssl::{
    bn::BigNum, ecdsa::EcdsaSig, error::ErrorStack, hash::MessageDigest, sign::Verifier, x509::X509,
};
use roxmltree::Node;

use super::shape::{Algorithm, Digest, Expected};
use crate::{
    certificate::{Certificate, KeyKind},
    xml::{attribute, elements},
};

/// Returns the certificate whose key made this signature.
pub(super) fn signer<'c>(
    info: Node<'_, '_>,
    expected: &Expected,
    pinned: &[&'c Certificate],
) -> Option<&'c Certificate> {
    let canonical = canonical(info)?;
    let has_signed = |certificate: &&Certificate| {
        verify_signature(expected.algorithm, &expected.value, canonical.as_bytes(), certificate)
            .unwrap_or(false)
    };
    pinned.iter().copied().find(has_signed)
}

/// Returns whether the key of a certificate has signed these bytes. A signature of ECDSA is r and s concatenated (RFC 4050).
pub(super) fn verify_signature(
    algorithm: Algorithm,
    value: &[u8],
    signed: &[u8],
    certificate: &Certificate,
) -> Result<bool, ErrorStack> {
    if certificate.kind() == KeyKind::Rsa {
        return verify_der(algorithm, value, signed, certificate);
    }
    let key = X509::from_der(certificate.der())?.public_key()?;
    // r and s are each as long as the curve's order.
    let width = usize::try_from(key.bits()).unwrap_or_default().div_ceil(8);
    let Some((r, s)) = value.split_at_checked(width).filter(|(_, s)| s.len() == width) else {
        return Ok(false);
    };
    let pair = EcdsaSig::from_private_components(BigNum::from_slice(r)?, BigNum::from_slice(s)?)?;
    verify_der(algorithm, &pair.to_der()?, signed, certificate)
}

/// Returns whether the key of a certificate has signed these bytes. A signature of ECDSA is in DER form.
pub(super) fn verify_der(
    algorithm: Algorithm,
    value: &[u8],
    signed: &[u8],
    certificate: &Certificate,
) -> Result<bool, ErrorStack> {
    let key = X509::from_der(certificate.der())?.public_key()?;
    let (Algorithm::Rsa(digest) | Algorithm::Ecdsa(digest)) = algorithm;
    let digest = match digest {
        Digest::Sha256 => MessageDigest::sha256(),
        Digest::Sha384 => MessageDigest::sha384(),
        Digest::Sha512 => MessageDigest::sha512(),
    };
    Verifier::new(digest, &key)?.verify_oneshot(value, signed)
}

/// Returns the Exclusive XML Canonicalization 1.0 of a `SignedInfo` whose form was checked. Its attributes have no
/// namespace, and only elements and text are kept.
fn canonical(info: Node<'_, '_>) -> Option<String> {
    let list = elements(info).next().and_then(|method| elements(method).next());
    let kept = list.and_then(|list| attribute(list, "PrefixList")).unwrap_or_default();
    let kept = kept.split_ascii_whitespace().map(|prefix| if prefix == "#default" { "" } else { prefix });
    let kept: Vec<&str> = kept.filter(|prefix| *prefix != "xml").collect();
    let mut text = String::new();
    write(&mut text, info, &kept, &BTreeMap::new())?;
    Some(text)
}

/// Writes an element; `known` are the namespaces declared by its ancestors.
fn write(text: &mut String, node: Node<'_, '_>, kept: &[&str], known: &BTreeMap<&str, &str>) -> Option<()> {
    let name = written_name(node)?;
    let prefix = name.split_once(':').map_or("", |(prefix, _)| prefix);
    text.push('<');
    text.push_str(name);
    let mut known = known.clone();
    let used: BTreeMap<&str, &str> = once(prefix)
        .chain(kept.iter().copied())
        .map(|prefix| (prefix, node.lookup_namespace_uri(Some(prefix).filter(|some| !some.is_empty()))))
        .map(|(prefix, uri)| (prefix, uri.unwrap_or_default()))
        .collect();
    for (prefix, uri) in used {
        if known.get(prefix).copied().unwrap_or_default() != uri {
            let name = if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") };
            write_attribute(text, &name, uri);
            known.insert(prefix, uri);
        }
    }
    let attributes: BTreeMap<&str, &str> = node.attributes().map(|one| (one.name(), one.value())).collect();
    for (name, value) in attributes {
        write_attribute(text, name, value);
    }
    text.push('>');
    for child in node.children() {
        if child.is_element() {
            write(text, child, kept, &known)?;
        } else if child.is_text() {
            escape(text, child.text().unwrap_or_default(), |c| match c {
                '>' => Some("&gt;"),
                _ => None,
            });
        }
    }
    text.push_str("</");
    text.push_str(name);
    text.push('>');
    Some(())
}

/// Returns the element's name with its prefix, as written in the document.
fn written_name<'i>(node: Node<'_, 'i>) -> Option<&'i str> {
    let tag = node.document().input_text().get(node.range().start..)?.strip_prefix('<')?;
    tag.split(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>').next()
}

fn write_attribute(text: &mut String, name: &str, value: &str) {
    text.push(' ');
    text.push_str(name);
    text.push_str("=\"");
    escape(text, value, |c| match c {
        '"' => Some("&quot;"),
        '\t' => Some("&#x9;"),
        '\n' => Some("&#xA;"),
        _ => None,
    });
    text.push('"');
}

fn escape(text: &mut String, value: &str, further: fn(char) -> Option<&'static str>) {
    for c in value.chars() {
        match c {
            '&' => text.push_str("&amp;"),
            '<' => text.push_str("&lt;"),
            '\r' => text.push_str("&#xD;"),
            _ => match further(c) {
                Some(escaped) => text.push_str(escaped),
                None => text.push(c),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml;

    #[track_caller]
    fn check(document: &str, expected: &str) {
        let tree = xml::parse(document).unwrap();
        let info = tree.descendants().find(|node| node.tag_name().name() == "SignedInfo").unwrap();
        assert_eq!(canonical(info).unwrap(), expected);
    }

    #[test]
    fn namespaces_are_declared_at_their_first_use() {
        check(
            "<a xmlns:u='urn:u' xmlns:d='urn:d'><d:SignedInfo><d:M B='2' A='1' /><!-- --><u:M/><d:M/></d:SignedInfo></a>",
            "<d:SignedInfo xmlns:d=\"urn:d\"><d:M A=\"1\" B=\"2\"></d:M><u:M xmlns:u=\"urn:u\"></u:M><d:M></d:M></d:SignedInfo>",
        );
        check(
            "<a xmlns='urn:a'><SignedInfo xmlns='urn:d'><M/><M xmlns='urn:u'><M xmlns='urn:d'/></M></SignedInfo></a>",
            "<SignedInfo xmlns=\"urn:d\"><M></M><M xmlns=\"urn:u\"><M xmlns=\"urn:d\"></M></M></SignedInfo>",
        );
        check(
            "<a xmlns:d='urn:1'><d:SignedInfo xmlns:d='urn:2'><d:M xmlns:d='urn:3'/></d:SignedInfo></a>",
            "<d:SignedInfo xmlns:d=\"urn:2\"><d:M xmlns:d=\"urn:3\"></d:M></d:SignedInfo>",
        );
    }

    #[test]
    fn inclusive_prefixes_are_declared_where_they_are_in_scope() {
        check(
            "<a xmlns='urn:a' xmlns:x='urn:x' xmlns:y='urn:y'><d:SignedInfo xmlns:d='urn:d'><d:C><d:I PrefixList='y #default\n z xml'/></d:C><d:M xmlns:z='urn:z'/></d:SignedInfo></a>",
            "<d:SignedInfo xmlns=\"urn:a\" xmlns:d=\"urn:d\" xmlns:y=\"urn:y\"><d:C><d:I PrefixList=\"y #default  z xml\"></d:I></d:C><d:M xmlns:z=\"urn:z\"></d:M></d:SignedInfo>",
        );
        check(
            "<a xmlns='urn:a'><SignedInfo xmlns=''><C><I PrefixList='#default'/></C></SignedInfo></a>",
            "<SignedInfo><C><I PrefixList=\"#default\"></I></C></SignedInfo>",
        );
    }

    #[test]
    fn text_and_values_are_escaped() {
        check(
            "<SignedInfo a='&lt;>\"&#9;&#10;&#13;&amp;\t'>&lt;&gt;\"&#13;\r\n&amp;<![CDATA[<]]>\t</SignedInfo>",
            "<SignedInfo a=\"&lt;>&quot;&#x9;&#xA;&#xD;&amp; \">&lt;&gt;\"&#xD;\n&amp;&lt;\t</SignedInfo>",
        );
    }
}
