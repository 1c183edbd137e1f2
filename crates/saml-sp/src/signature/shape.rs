//! Checks that a signature has the only accepted form: one reference to its parent, enveloped, exclusive canonical
//! form.

use ring::digest;
use roxmltree::Node;

use crate::{
    certificate::KeyKind,
    encode,
    refusal::{Reason, Refusal},
    xml::{self, DS, attribute, elements, is, only_text},
};

const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
/// Maximum length of an InclusiveNamespaces prefix list, in characters.
const MAX_PREFIXES: usize = 512;
/// Maximum length of a base64 value in characters, enough for an RSA key of 8,192 bits with line breaks.
const MAX_VALUE: usize = 4096;

/// The digest method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digest {
    Sha256,
    Sha384,
    Sha512,
}

impl Digest {
    pub(crate) fn ring(self) -> &'static digest::Algorithm {
        match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        }
    }

    fn read(uri: &str) -> Option<Self> {
        match uri {
            "http://www.w3.org/2001/04/xmlenc#sha256" => Some(Self::Sha256),
            "http://www.w3.org/2001/04/xmldsig-more#sha384" => Some(Self::Sha384),
            "http://www.w3.org/2001/04/xmlenc#sha512" => Some(Self::Sha512),
            _ => None,
        }
    }
}

/// The signature method. HMAC and SHA-1 are not supported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Rsa(Digest),
    Ecdsa(Digest),
}

impl Algorithm {
    pub(crate) fn kind(self) -> KeyKind {
        match self {
            Self::Rsa(_) => KeyKind::Rsa,
            Self::Ecdsa(_) => KeyKind::Ec,
        }
    }

    pub(crate) fn read(uri: &str) -> Option<Self> {
        let name = uri.strip_prefix("http://www.w3.org/2001/04/xmldsig-more#")?;
        match name {
            "rsa-sha256" => Some(Self::Rsa(Digest::Sha256)),
            "rsa-sha384" => Some(Self::Rsa(Digest::Sha384)),
            "rsa-sha512" => Some(Self::Rsa(Digest::Sha512)),
            "ecdsa-sha256" => Some(Self::Ecdsa(Digest::Sha256)),
            "ecdsa-sha384" => Some(Self::Ecdsa(Digest::Sha384)),
            "ecdsa-sha512" => Some(Self::Ecdsa(Digest::Sha512)),
            _ => None,
        }
    }
}

/// The parameters in a signature, which the verifier must confirm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// The ID of the signed element, which is the parent.
    pub(crate) id: String,
    /// Its local name.
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) algorithm: Algorithm,
    pub(crate) digest: Digest,
    pub(crate) digest_value: Vec<u8>,
    /// The signature bytes.
    pub(crate) value: Vec<u8>,
}

fn refused(detail: &str) -> Refusal {
    Refusal::new(Reason::SignatureShape, detail)
}

/// Checks a signature's form and returns its parameters. Computes nothing.
pub(crate) fn shape(parent: Node<'_, '_>, signature: Node<'_, '_>) -> Result<Expected, Refusal> {
    let id = attribute(parent, "ID").ok_or_else(|| refused("the signed element has no ID"))?;
    let parts: Vec<_> = elements(signature).collect();
    let (info, value, rest) = match parts.as_slice() {
        [info, value, rest @ ..] => (*info, *value, rest),
        _ => return Err(refused("a Signature must have a SignedInfo and a SignatureValue")),
    };
    let ordered = is(info, DS, "SignedInfo")
        && is(value, DS, "SignatureValue")
        && matches!(rest, [] | [_])
        && rest.iter().all(|node| is(*node, DS, "KeyInfo"));
    if !ordered {
        return Err(refused(
            "a Signature must consist of SignedInfo, SignatureValue and an optional KeyInfo",
        ));
    }
    let value = base64(value)?;
    // Parsers disagree about attributes in namespaces, so none are allowed.
    let in_namespace = |node: Node<'_, '_>| node.attributes().any(|one| one.namespace().is_some());
    if info.descendants().any(in_namespace) {
        return Err(refused("an attribute in a SignedInfo has a namespace"));
    }
    let parts_of_info: Vec<_> = elements(info).collect();
    let [canonical, method, reference] = parts_of_info.as_slice() else {
        return Err(refused(
            "a SignedInfo must have one CanonicalizationMethod, SignatureMethod and Reference",
        ));
    };
    if !is(*canonical, DS, "CanonicalizationMethod") || attribute(*canonical, "Algorithm") != Some(EXCLUSIVE)
    {
        return Err(algorithm("CanonicalizationMethod", *canonical));
    }
    kept_prefixes(*canonical)?;
    let signed = attribute(*method, "Algorithm").and_then(Algorithm::read);
    let signed = signed.filter(|_| is(*method, DS, "SignatureMethod"));
    let signed = signed.ok_or_else(|| algorithm("SignatureMethod", *method))?;
    childless(*method)?;
    let (digest, digest_value) = referenced(*reference, id)?;
    Ok(Expected {
        id: id.to_owned(),
        name: parent.tag_name().name().to_owned(),
        namespace: parent.tag_name().namespace().unwrap_or_default().to_owned(),
        algorithm: signed,
        digest,
        digest_value,
        value,
    })
}

/// Checks that the reference refers to the parent by its ID, and returns its digest.
fn referenced(reference: Node<'_, '_>, id: &str) -> Result<(Digest, Vec<u8>), Refusal> {
    if !is(reference, DS, "Reference") {
        return Err(refused("the third element of a SignedInfo must be a Reference"));
    }
    let uri = attribute(reference, "URI").and_then(|uri| uri.strip_prefix('#'));
    if uri != Some(id) {
        return Err(refused("the Reference does not refer to the element that contains the Signature"));
    }
    let parts: Vec<_> = elements(reference).collect();
    let [transforms, method, value] = parts.as_slice() else {
        return Err(refused("a Reference must have Transforms, DigestMethod and DigestValue once each"));
    };
    if !is(*transforms, DS, "Transforms") || !is(*value, DS, "DigestValue") {
        return Err(refused("a Reference must have Transforms, DigestMethod and DigestValue in this order"));
    }
    let steps: Vec<_> = elements(*transforms).collect();
    let [first, second] = steps.as_slice() else {
        return Err(refused("a Reference must have exactly two Transforms"));
    };
    if !is(*first, DS, "Transform") || attribute(*first, "Algorithm") != Some(ENVELOPED) {
        return Err(algorithm("first Transform", *first));
    }
    if !is(*second, DS, "Transform") || attribute(*second, "Algorithm") != Some(EXCLUSIVE) {
        return Err(algorithm("second Transform", *second));
    }
    childless(*first)?;
    kept_prefixes(*second)?;
    let digest = attribute(*method, "Algorithm").and_then(Digest::read);
    let digest = digest.filter(|_| is(*method, DS, "DigestMethod"));
    let digest = digest.ok_or_else(|| algorithm("DigestMethod", *method))?;
    childless(*method)?;
    let value = base64(*value)?;
    if value.len() != digest.ring().output_len() {
        return Err(refused("the DigestValue does not have the length of its DigestMethod"));
    }
    Ok((digest, value))
}

fn algorithm(what: &str, node: Node<'_, '_>) -> Refusal {
    let found = attribute(node, "Algorithm").unwrap_or("a missing Algorithm");
    Refusal::new(Reason::SignatureAlgorithm, format!("{what}: {found} is not supported"))
}

/// Checks that a canonicalization has no child but an optional `InclusiveNamespaces`.
fn kept_prefixes(node: Node<'_, '_>) -> Result<(), Refusal> {
    let children: Vec<_> = elements(node).collect();
    match children.as_slice() {
        [] => childless(node),
        [one]
            if is(*one, EXCLUSIVE, "InclusiveNamespaces")
                && attribute(*one, "PrefixList").is_some_and(|list| list.len() <= MAX_PREFIXES)
                && !one.has_children() =>
        {
            Ok(())
        }
        _ => Err(refused("a canonicalization method may only contain InclusiveNamespaces")),
    }
}

fn childless(node: Node<'_, '_>) -> Result<(), Refusal> {
    if elements(node).next().is_some() || node.children().any(|child| child.is_text() && !blank(child)) {
        return Err(refused("algorithm parameters are not supported"));
    }
    Ok(())
}

fn blank(node: Node<'_, '_>) -> bool {
    node.text().unwrap_or_default().chars().all(|c| c.is_ascii_whitespace())
}

/// Decodes base64, with or without line breaks.
fn base64(node: Node<'_, '_>) -> Result<Vec<u8>, Refusal> {
    let text = only_text(node).map_err(|_| refused("a value of a Signature contains more than text"))?;
    // Parsers differ in whether they read text after a CDATA section.
    let source = node.document().input_text().get(node.range()).unwrap_or_default();
    if source.contains("<![CDATA[") {
        return Err(refused("a value of a Signature is a CDATA section"));
    }
    if text.len() > MAX_VALUE {
        return Err(refused("a value of a Signature is longer than any key requires"));
    }
    let packed: String = text.split_ascii_whitespace().collect();
    let value = encode::base64(&packed).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| refused("a value of a Signature is not base64"))
}

/// Returns whether the element is an XML signature.
pub(crate) fn is_signature(node: Node<'_, '_>) -> bool {
    xml::is(node, DS, "Signature")
}
