//! Text values of elements.

use roxmltree::Node;

use crate::refusal::{Reason, Refusal};

/// Returns the text of an element that contains nothing but one text.
pub(crate) fn only_text<'a>(node: Node<'a, '_>) -> Result<&'a str, Refusal> {
    let mut children = node.children();
    match (children.next(), children.next()) {
        (None, _) => Ok(""),
        (Some(text), None) if text.is_text() => Ok(text.text().unwrap_or_default()),
        _ => {
            let name = node.tag_name().name();
            Err(Refusal::new(Reason::MixedText, format!("{name} contains more than text")))
        }
    }
}

/// Returns whether the text is an ASCII name without a colon, as IDs must be.
pub(crate) fn is_ncname(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first
        && text.len() <= 256
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
}
