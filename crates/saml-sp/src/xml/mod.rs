//! Parses untrusted XML: within limits, without DOCTYPE, and only once.

mod bounds;
mod names;
mod text;

use roxmltree::{Document, Node, ParsingOptions};

pub(crate) use self::{
    names::{DS, ENC, ENC11, MD, SAML, SAMLP, XSI},
    text::{is_ncname, only_text},
};
use crate::refusal::{Reason, Refusal};

/// Maximum number of tree nodes: 12,000 elements, each with a text and following white space, and comments fit.
const MAX_NODES: u32 = 40_000;

/// Parses a message. Checks the limits first and allows nothing outside the root element.
pub(crate) fn parse(text: &str) -> Result<Document<'_>, Refusal> {
    let tree = document(text)?;
    if tree.root().children().count() != 1 {
        return Err(Refusal::new(Reason::ForbiddenMarkup, "the document has nodes outside the root element"));
    }
    Ok(tree)
}

/// Parses a document that may have comments outside the root element. Checks the limits first.
pub(crate) fn document(text: &str) -> Result<Document<'_>, Refusal> {
    bounds::check(text)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let tree = Document::parse_with_options(text, options)
        .map_err(|error| Refusal::new(Reason::NotWellFormed, error.to_string()))?;
    if tree.descendants().any(|node| node.is_pi()) {
        return Err(Refusal::new(Reason::ForbiddenMarkup, "the document contains a processing instruction"));
    }
    Ok(tree)
}

/// Returns whether the node is the element with this name.
pub(crate) fn is(node: Node<'_, '_>, namespace: &'static str, name: &str) -> bool {
    node.is_element() && node.tag_name().namespace() == Some(namespace) && node.tag_name().name() == name
}

/// Returns the child elements.
pub(crate) fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// Returns the child elements with this name.
pub(crate) fn named<'a, 'i>(
    node: Node<'a, 'i>,
    namespace: &'static str,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    elements(node).filter(move |child| is(*child, namespace, name))
}

/// Returns the first child element with this name.
pub(crate) fn child<'a, 'i>(
    node: Node<'a, 'i>,
    namespace: &'static str,
    name: &'static str,
) -> Option<Node<'a, 'i>> {
    named(node, namespace, name).next()
}

/// Returns the value of an attribute without namespace.
pub(crate) fn attribute<'a>(node: Node<'a, '_>, name: &str) -> Option<&'a str> {
    node.attributes()
        .find(|known| known.namespace().is_none() && known.name() == name)
        .map(|known| known.value())
}
