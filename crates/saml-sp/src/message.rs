//! Checks that all signed documents have to pass before any cryptography.

use std::collections::HashSet;

use roxmltree::Node;

use crate::{
    refusal::{Reason, Refusal},
    xml,
};

/// Checks the IDs, signatures and text values of all elements in a document. `signatures` are those in the right places.
pub(crate) fn check(root: Node<'_, '_>, signatures: [Option<Node<'_, '_>>; 2]) -> Result<(), Refusal> {
    let mut ids = HashSet::new();
    for node in root.descendants().filter(Node::is_element) {
        identified(node, &mut ids)?;
        let name = node.tag_name().name();
        if name == "Signature" && !signatures.contains(&Some(node)) {
            let parent = node.parent_element().map_or("nothing", |parent| parent.tag_name().name());
            return Err(Refusal::new(Reason::MisplacedSignature, format!("misplaced Signature in {parent}")));
        }
        let has_text = node.children().any(|child| child.is_text() && !is_blank(child));
        if has_text && node.children().any(|child| !child.is_text()) {
            return Err(Refusal::new(
                Reason::MixedText,
                format!("{name} contains both text and other nodes"),
            ));
        }
    }
    Ok(())
}

/// Checks that IDs are ASCII names without namespace and unique in the document.
fn identified<'a>(node: Node<'a, '_>, ids: &mut HashSet<&'a str>) -> Result<(), Refusal> {
    for attribute in node.attributes().filter(|known| known.name().eq_ignore_ascii_case("id")) {
        let detail = if attribute.namespace().is_some() {
            "an ID attribute is in a namespace"
        } else if !xml::is_ncname(attribute.value()) {
            "an ID is not an ASCII name"
        } else if !ids.insert(attribute.value()) {
            "two elements have the same ID"
        } else {
            continue;
        };
        return Err(Refusal::new(Reason::BadId, detail));
    }
    Ok(())
}

fn is_blank(node: Node<'_, '_>) -> bool {
    node.text().unwrap_or_default().chars().all(|c| c.is_ascii_whitespace())
}
