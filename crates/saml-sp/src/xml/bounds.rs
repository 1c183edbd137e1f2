//! What a document may cost, counted over its bytes before a parser sees them.
//!
//! This is no second parser: it only refuses. What it cannot make sense of it leaves to the real one.

use crate::refusal::{Reason, Refusal};

/// Elements: the values of [`crate::MAX_VALUES`] attributes, and 2,000 for everything else.
const MAX_ELEMENTS: usize = crate::MAX_VALUES + 2_000;
/// Elements within each other.
const MAX_DEPTH: usize = 64;
/// Attributes of an element, declarations of namespaces among them; and those of all.
const MAX_ATTRIBUTES: usize = 64;
const MAX_ALL_ATTRIBUTES: usize = 3 * MAX_ELEMENTS;
/// Declarations of namespaces that are in force at one place: canonical XML looks at each at each element.
const MAX_NAMESPACES: usize = 64;
/// The same, added up over all elements: the work of canonicalisation does not grow with elements times namespaces.
const MAX_ALL_NAMESPACES: usize = 128_000;
/// Maximum number of comments.
const MAX_COMMENTS: usize = 64;

/// Refuses what is out of bounds, and markup that no SAML message has.
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
            let what =
                if markup.starts_with('!') { "a DOCTYPE or declaration" } else { "a processing instruction" };
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

/// What comes after the XML declaration, which says 1.0 and UTF-8 or nothing.
fn declaration(text: &str) -> Result<&str, Refusal> {
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(rest) = body.strip_prefix("<?xml") else { return Ok(body) };
    let refused =
        || Refusal::new(Reason::ForbiddenMarkup, "an XML declaration of something else than 1.0 in UTF-8");
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

/// What comes after the first of these; nothing if there is none.
fn after<'t>(text: &'t str, end: &str) -> &'t str {
    text.split_once(end).map_or("", |(_, rest)| rest)
}

/// A start tag.
struct Tag {
    attributes: usize,
    namespaces: usize,
    is_empty: bool,
}

/// Reads a start tag, from behind its `<`: what is in quotes ends nothing.
fn tag(text: &str) -> (Tag, &str) {
    let mut tag = Tag { attributes: 0, namespaces: 0, is_empty: false };
    // The last word outside of quotes, which is the name of the attribute where a quote opens: white space and `=` may
    // stand between them.
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
    /// Namespaces that are declared by each of the elements that are open.
    open: Vec<usize>,
    namespaces: usize,
    /// Namespaces in force, added up over all elements.
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
            (self.open.len(), MAX_DEPTH, "elements within each other"),
            (self.attributes, MAX_ATTRIBUTES, "attributes of one element"),
            (self.all_attributes, MAX_ALL_ATTRIBUTES, "attributes"),
            (self.namespaces, MAX_NAMESPACES, "namespaces in one place"),
            (self.all_namespaces, MAX_ALL_NAMESPACES, "namespaces in all places together"),
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
    fn ordinary_documents_pass() {
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
    fn markup_that_no_message_has_is_refused() {
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
    fn bounds_hold_at_their_edges() {
        let nested = |depth: usize| "<a>".repeat(depth) + &"</a>".repeat(depth);
        let flat = |count: usize| format!("<r>{}</r>", "<a/>".repeat(count - 1));
        let attributes = |count: usize| {
            format!("<a {}/>", (0..count).map(|n| format!("b{n}='x=\"y'")).collect::<Vec<_>>().join(" "))
        };
        // However the declarations are written: in few elements, so that no other bound is met before.
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
