//! Limits the cost of a document by scanning its bytes before any parser runs.
//!
//! The scan is not a second parser: it can only reject. Malformed markup is left to the real parser.

use crate::refusal::{Reason, Refusal};

/// Maximum number of elements: [`crate::MAX_VALUES`] attribute values, and 2,000 others.
const MAX_ELEMENTS: usize = crate::MAX_VALUES + 2_000;
/// Maximum nesting of elements.
const MAX_DEPTH: usize = 64;
/// Maximum number of attributes, including namespace declarations, of one element; and of the whole document.
const MAX_ATTRIBUTES: usize = 64;
const MAX_ALL_ATTRIBUTES: usize = 3 * MAX_ELEMENTS;
/// Maximum number of namespaces in scope at one element. Canonical XML looks at each of them for each element.
const MAX_NAMESPACES: usize = 64;
/// Maximum sum of the namespaces in scope over all elements, which bounds the work of canonicalization.
const MAX_ALL_NAMESPACES: usize = 128_000;
/// Maximum number of comments.
const MAX_COMMENTS: usize = 64;

/// Rejects documents beyond the limits, and markup that no SAML message contains.
pub(super) fn check(text: &str) -> Result<(), Refusal> {
    let mut count = Count::default();
    let mut rest = declaration(text)?;
    while let Some(at) = rest.find('<') {
        let markup = rest.get(at + 1..).unwrap_or_default();
        rest = if let Some(comment) = markup.strip_prefix("!--") {
            count.comments += 1;
            after(comment, "-->")
        } else if let Some(data) = markup.strip_prefix("![CDATA[") {
            after(data, "]]>")
        } else if markup.starts_with(['!', '?']) {
            let what = if markup.starts_with('!') {
                "the document contains a DOCTYPE or declaration"
            } else {
                "the document contains a processing instruction"
            };
            return Err(Refusal::new(Reason::ForbiddenMarkup, what));
        } else if let Some(end) = markup.strip_prefix('/') {
            count.close();
            after(end, ">")
        } else {
            let (tag, after) = tag(markup);
            count.open(&tag);
            count.check()?;
            if tag.is_empty {
                count.close();
            }
            after
        };
        count.check()?;
    }
    Ok(())
}

/// Returns the text after the XML declaration, which may only specify version 1.0 and UTF-8.
fn declaration(text: &str) -> Result<&str, Refusal> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = body.strip_prefix("<?xml") else { return Ok(body) };
    let refused =
        || Refusal::new(Reason::ForbiddenMarkup, "the XML declaration is not version 1.0 with UTF-8");
    let (said, after) = rest.split_once("?>").ok_or_else(refused)?;
    let said = said.to_ascii_lowercase().replace('\'', "\"").replace(char::is_whitespace, "");
    match said.as_str() {
        "version=\"1.0\""
        | "version=\"1.0\"encoding=\"utf-8\""
        | "version=\"1.0\"encoding=\"utf-8\"standalone=\"yes\""
        | "version=\"1.0\"encoding=\"utf-8\"standalone=\"no\""
        | "version=\"1.0\"standalone=\"no\""
        | "version=\"1.0\"standalone=\"yes\"" => Ok(after),
        _ => Err(refused()),
    }
}

/// Returns the text after the first `end`; empty if there is none.
fn after<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// A start tag.
struct Tag {
    attributes: usize,
    namespaces: usize,
    is_empty: bool,
}

/// Reads a start tag, given the text after its `<`. A `>` inside quotes does not end the tag.
fn tag(text: &str) -> (Tag, &str) {
    let mut tag = Tag { attributes: 0, namespaces: 0, is_empty: false };
    // The last word outside quotes. When a quote opens, it is the attribute's name; white space and `=` may be in
    // between.
    let (mut quote, mut word, mut in_word, mut last) = (None, 0..0, false, ' ');
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                in_word = false;
                tag.attributes += 1;
                let name = text.get(word.clone()).unwrap_or_default();
                tag.namespaces += usize::from(name.starts_with("xmlns"));
            }
            None if c == '>' => {
                tag.is_empty = last == '/';
                return (tag, text.get(at + 1..).unwrap_or_default());
            }
            None if c.is_whitespace() || c == '=' => in_word = false,
            None => {
                let from = if in_word { word.start } else { at };
                (word, in_word) = (from..at + c.len_utf8(), true);
            }
        }
        last = c;
    }
    (tag, "")
}

#[derive(Default)]
struct Count {
    elements: usize,
    comments: usize,
    attributes: usize,
    all_attributes: usize,
    /// The number of namespaces that each open element declares.
    open: Vec<usize>,
    namespaces: usize,
    /// The sum of the namespaces in scope over all elements.
    all_namespaces: usize,
}

impl Count {
    fn open(&mut self, tag: &Tag) {
        self.elements += 1;
        self.attributes = tag.attributes;
        self.all_attributes += tag.attributes;
        self.namespaces += tag.namespaces;
        self.all_namespaces += self.namespaces;
        self.open.push(tag.namespaces);
    }

    fn close(&mut self) {
        self.namespaces -= self.open.pop().unwrap_or_default();
    }

    fn check(&self) -> Result<(), Refusal> {
        let bounds = [
            (self.elements, MAX_ELEMENTS, "elements"),
            (self.open.len(), MAX_DEPTH, "nested elements"),
            (self.attributes, MAX_ATTRIBUTES, "attributes on one element"),
            (self.all_attributes, MAX_ALL_ATTRIBUTES, "attributes"),
            (self.namespaces, MAX_NAMESPACES, "namespaces in scope of one element"),
            (self.all_namespaces, MAX_ALL_NAMESPACES, "namespaces in all scopes"),
            (self.comments, MAX_COMMENTS, "comments"),
        ];
        let over = bounds.into_iter().find(|(count, most, _)| count > most);
        match over {
            Some((_, most, what)) => {
                Err(Refusal::new(Reason::OutOfBounds, format!("more than {most} {what}")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(text: &str) -> Option<Reason> {
        check(text).err().map(|refusal| refusal.reason)
    }

    #[test]
    fn ordinary_documents_are_accepted() {
        for text in [
            "<a/>",
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a b='>' c=\"<\"><!-- <!DOCTYPE --><![CDATA[<!DOCTYPE <?]]></a>",
            "<?xml version='1.0' encoding='utf-8' standalone='yes'?><a/>",
            "not XML at all",
        ] {
            assert_eq!(reason(text), None, "{text}");
        }
    }

    #[test]
    fn declarations_and_processing_instructions_are_refused() {
        for text in [
            "<!DOCTYPE a><a/>",
            " <!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
            "<a><!doctype b></a>",
            "<a><?php ?></a>",
            "<?xml-stylesheet href='x'?><a/>",
            " <?xml version='1.0'?><a/>",
            "<?xml version='1.1'?><a/>",
            "<?xml version='1.0' encoding='utf-16'?><a/>",
            "<?xml version='1.0'",
        ] {
            assert_eq!(reason(text), Some(Reason::ForbiddenMarkup), "{text}");
        }
    }

    #[test]
    fn limits_are_exact() {
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        let flat = |count: usize| format!("<r>{}</r>", "<a/>".repeat(count - 1));
        let attributes = |count: usize| {
            format!("<a {}/>", (0..count).map(|n| format!("b{n}='x=\"y'")).collect::<Vec<_>>().join(" "))
        };
        // Spread over few elements, so that no other limit is reached first.
        let namespaces = |count: usize, equals: &str| {
            let of = |some: std::ops::Range<usize>| {
                some.map(|n| format!("xmlns:p{n}{equals}'u'")).collect::<Vec<_>>().join(" ")
            };
            format!("<a {}><b {}></b></a>", of(0..count / 2), of(count / 2..count))
        };
        let comments = |count: usize| format!("<a>{}</a>", "<!---->".repeat(count));
        assert_eq!(reason(&nested(MAX_DEPTH)), None);
        assert_eq!(reason(&nested(MAX_DEPTH + 1)), Some(Reason::OutOfBounds));
        assert_eq!(reason(&attributes(MAX_ATTRIBUTES)), None);
        assert_eq!(reason(&attributes(MAX_ATTRIBUTES + 1)), Some(Reason::OutOfBounds));
        for equals in ["=", " =", "= ", "\n=\n", "\t=\u{a0}"] {
            assert_eq!(reason(&namespaces(MAX_NAMESPACES, equals)), None, "{equals:?}");
            let over = reason(&namespaces(MAX_NAMESPACES + 1, equals));
            assert_eq!(over, Some(Reason::OutOfBounds), "{equals:?}");
        }
        assert_eq!(reason(&comments(MAX_COMMENTS)), None);
        assert_eq!(reason(&comments(MAX_COMMENTS + 1)), Some(Reason::OutOfBounds));
        let product = |elements: usize| {
            let declared: Vec<_> = (0..MAX_NAMESPACES).map(|n| format!(" xmlns:n{n}='u'")).collect();
            let declared = declared.concat();
            format!("<a{declared}>{}</a>", "<b/>".repeat(elements - 1))
        };
        assert_eq!(reason(&product(MAX_ALL_NAMESPACES / MAX_NAMESPACES)), None);
        assert_eq!(reason(&product(MAX_ALL_NAMESPACES / MAX_NAMESPACES + 1)), Some(Reason::OutOfBounds));
        assert_eq!(reason(&flat(MAX_ELEMENTS)), None);
        assert_eq!(reason(&flat(MAX_ELEMENTS + 1)), Some(Reason::OutOfBounds));
    }
}
