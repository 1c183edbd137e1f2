//! Reads the NameID of a user, plain or encrypted.

use roxmltree::Node;

use crate::{
    decrypt,
    keys::KeyPair,
    logout::IdpSession,
    refusal::Refusal,
    xml::{self, SAML, attribute, is, only_text},
};

/// Returns the NameID in a `NameID` or `EncryptedID` element, without a SessionIndex; `None` for another element.
pub(crate) fn read(node: Node<'_, '_>, keys: &[KeyPair]) -> Result<Option<IdpSession>, Refusal> {
    if is(node, SAML, "NameID") {
        return plain(node).map(Some);
    }
    if !is(node, SAML, "EncryptedID") {
        return Ok(None);
    }
    let text = decrypt::name_id(node, keys)?;
    let tree = xml::parse(&text).map_err(|_| decrypt::failed_name_id())?;
    let root = tree.root_element();
    if !is(root, SAML, "NameID") {
        return Err(decrypt::failed_name_id());
    }
    plain(root).map(Some)
}

fn plain(node: Node<'_, '_>) -> Result<IdpSession, Refusal> {
    let text = |name: &str| attribute(node, name).map(str::to_owned);
    Ok(IdpSession {
        name_id: only_text(node)?.to_owned(),
        format: text("Format"),
        name_qualifier: text("NameQualifier"),
        sp_name_qualifier: text("SPNameQualifier"),
        session_index: None,
    })
}
