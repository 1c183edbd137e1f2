//! Verifies XML signatures.

mod native;
mod query;
mod shape;
mod signer;

use ring::digest;
use roxmltree::Node;

pub use self::native::warm_up;
use self::signer::signer;
pub(crate) use self::{
    native::sign,
    query::verify_query,
    shape::{is_signature, shape},
};
use crate::{
    certificate::Certificate,
    refusal::{Reason, Refusal},
    xml,
};

/// Data signed by a pinned certificate, or derived only from such data.
///
/// Only this module can create one from bytes. Values read from it stay wrapped, so claims can come only from signed
/// data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<T>(T);

impl<T> Verified<T> {
    /// Returns the verified data.
    pub fn get(&self) -> &T {
        &self.0
    }

    /// Derives a value from the verified data.
    pub(crate) fn read<U>(
        &self,
        read: impl FnOnce(&T) -> Result<U, Refusal>,
    ) -> Result<Verified<U>, Refusal> {
        read(&self.0).map(Verified)
    }
}

/// Verifies the signature of an element of `text` and returns the element's canonical form without the signature.
/// `text` must have passed the structure checks, and `parent` must be the element that contains `signature`.
pub(crate) fn verify(
    text: &str,
    parent: Node<'_, '_>,
    signature: Node<'_, '_>,
    pinned: &[&Certificate],
) -> Result<Verified<String>, Refusal> {
    let expected = shape(parent, signature)?;
    let fitting: Vec<_> =
        pinned.iter().copied().filter(|one| one.kind() == expected.algorithm.kind()).collect();
    let info = xml::elements(signature).next();
    let signer = info.and_then(|info| signer(info, &expected, &fitting));
    let Some(certificate) = signer else { return Err(by_none(parent.tag_name().name(), &fitting)) };
    let changed = |what: &str| {
        let name = parent.tag_name().name();
        Refusal::new(Reason::BadDigest, format!("{what}: the signature does not cover this {name}"))
    };
    let bytes = native::verify(text, &path(parent), &path(signature), &expected, certificate)
        .ok_or_else(|| changed("the digest does not match"))?;
    // Digest the bytes again and parse them with our own parser, to cross-check the C library.
    if digest::digest(expected.digest.ring(), &bytes).as_ref() != expected.digest_value {
        return Err(changed("the digest of the signed bytes differs"));
    }
    let signed = String::from_utf8(bytes).map_err(|_| changed("the signed bytes are not UTF-8"))?;
    let tree = xml::parse(&signed)?;
    let same = tree.root_element().tag_name() == parent.tag_name()
        && xml::attribute(tree.root_element(), "ID") == Some(expected.id.as_str());
    drop(tree);
    if same { Ok(Verified(signed)) } else { Err(changed("another element was signed")) }
}

fn by_none(signed: &str, tried: &[&Certificate]) -> Refusal {
    let tried = tried.iter().map(|one| one.fingerprint().chars().take(16).collect::<String>());
    let tried = tried.collect::<Vec<_>>().join(", ");
    let detail = format!(
        "no pinned certificate verifies the signature of the {signed} (tried: {})",
        if tried.is_empty() { "none" } else { &tried }
    );
    Refusal::new(Reason::BadSignature, detail)
}

/// Returns the path from the root to an element, as indexes of child elements.
fn path(node: Node<'_, '_>) -> Vec<usize> {
    let mut path: Vec<usize> = node
        .ancestors()
        .take_while(|one| one.parent_element().is_some())
        .map(|one| one.prev_siblings().skip(1).filter(Node::is_element).count())
        .collect();
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_counts_only_elements() {
        let tree = xml::parse("<a> <b/><!-- --><c><d/>x<e/></c></a>").unwrap();
        let find = |name: &str| tree.descendants().find(|node| node.has_tag_name(name)).unwrap();
        assert!(path(find("a")).is_empty());
        assert_eq!(path(find("b")), [0]);
        assert_eq!(path(find("e")), [1, 1]);
    }
}
