//! Random mutations of documents, reproducible by seed: of bytes, of tokens, of trees.

use std::ops::Range;

use crate::hostile::VICTIM;

/// SplitMix64.
pub(crate) struct Random(u64);

impl Random {
    /// Returns the generator for a seed and the number of a document.
    pub(crate) fn of(seed: u64, number: u64) -> Self {
        Self(Self(seed).next().wrapping_add(Self(number).next()))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end.max(1)).unwrap()).unwrap()
    }

    fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Texts with a meaning in XML or SAML.
const WORDS: [&str; 40] = [
    "<!-- -->",
    "<!---->",
    "<![CDATA[",
    "]]>",
    "<![CDATA[]]>",
    "&amp;",
    "&#65;",
    "&#x41;",
    "&#13;",
    "&lt;",
    " ",
    "\t",
    "\n",
    "\r\n",
    "\r",
    "<",
    ">",
    "/>",
    "\"",
    "'",
    "=",
    ":",
    "#",
    "_a1",
    "_r1",
    "ID=\"_a1\"",
    " ID=\"_x\"",
    " xmlns=\"\"",
    " xmlns:x=\"urn:x\"",
    " xmlns:saml=\"urn:x\"",
    " x=\"y\"",
    "<x/>",
    "saml:",
    "ds:",
    "\u{feff}",
    "\u{e9}",
    "\u{1f980}",
    VICTIM,
    "<?x?>",
    "<!DOCTYPE x>",
];

/// Returns the text with one to three mutations.
pub(crate) fn mutated(random: &mut Random, text: &str) -> String {
    let count = 1 + random.below(3);
    (0..count).fold(text.to_owned(), |text, _| match random.below(5) {
        _ if text.is_empty() => text,
        0 => characters(random, &text),
        1 => tokens(random, &text),
        2 => quiet(random, &text),
        _ => tree(random, &text),
    })
}

/// Returns a random character boundary.
fn place(random: &mut Random, text: &str) -> usize {
    let at = random.below(text.len() + 1);
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap()
}

fn range(random: &mut Random, text: &str, most: usize) -> Range<usize> {
    let start = place(random, text);
    let mut end = (start + random.below(most)).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

fn replaced(text: &str, range: &Range<usize>, by: &str) -> String {
    format!("{}{by}{}", &text[..range.start], &text[range.end..])
}

fn characters(random: &mut Random, text: &str) -> String {
    let from = range(random, text, 40);
    match random.below(6) {
        0 => replaced(text, &range(random, text, 2), random.pick(&WORDS)),
        1 => {
            let at = place(random, text);
            replaced(text, &(at..at), random.pick(&WORDS))
        }
        2 => replaced(text, &from, ""),
        3 => replaced(text, &(from.end..from.end), &text[from.clone()]),
        4 => {
            let at = place(random, text);
            replaced(text, &(at..at), &text[from.clone()])
        }
        _ => {
            let flipped: String = text[from.clone()]
                .chars()
                .map(|c| if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() })
                .collect();
            replaced(text, &from, &flipped)
        }
    }
}

/// Splits a document into tags and the text between them.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('>')
        .flat_map(|part| {
            let at = part.find('<').unwrap_or(part.len());
            [&part[..at], &part[at..]]
        })
        .filter(|part| !part.is_empty())
        .collect()
}

fn tokens(random: &mut Random, text: &str) -> String {
    let mut all = split(text);
    let (one, other) = (random.below(all.len()), random.below(all.len()));
    match random.below(5) {
        0 => all.swap(one, other),
        1 => drop(all.remove(one)),
        2 => all.insert(other, all[one]),
        3 => all[one] = all[other],
        _ => {
            let moved = all.remove(one);
            all.insert(other.min(all.len()), moved);
        }
    }
    all.concat()
}

/// Mutations that probably keep the canonical form.
fn quiet(random: &mut Random, text: &str) -> String {
    let mut all: Vec<String> = split(text).into_iter().map(str::to_owned).collect();
    let at = random.below(all.len());
    let token = &all[at];
    let is_start = token.starts_with('<') && !token.starts_with("</") && !token.starts_with("<!");
    all[at] = match random.below(6) {
        0 if is_start => token.replacen(' ', " \n ", 1),
        1 if is_start => token.replace('"', "'"),
        2 if is_start => {
            let mut parts: Vec<&str> = token.trim_end_matches('>').split(' ').collect();
            let count = parts.len();
            if count > 2 {
                parts.swap(1, count - 1);
            }
            format!("{}>", parts.join(" "))
        }
        3 => format!("{token}<!-- {} -->", random.below(100)),
        4 if !token.starts_with('<') => format!("<![CDATA[{token}]]>"),
        5 if !token.starts_with('<') => token
            .chars()
            .map(|c| if random.below(4) == 0 { format!("&#{};", u32::from(c)) } else { c.to_string() })
            .collect(),
        _ => format!("<!-- -->{token}"),
    };
    all.concat()
}

/// Moves, copies, renames or changes elements, signatures in particular.
fn tree(random: &mut Random, text: &str) -> String {
    let Ok(tree) = roxmltree::Document::parse(text) else { return characters(random, text) };
    let all: Vec<_> = tree.root_element().descendants().filter(roxmltree::Node::is_element).collect();
    let famous: Vec<_> = all
        .iter()
        .copied()
        .filter(|node| {
            matches!(
                node.tag_name().name(),
                "Signature"
                    | "SignedInfo"
                    | "Reference"
                    | "Assertion"
                    | "NameID"
                    | "Issuer"
                    | "Subject"
                    | "AttributeValue"
                    | "DigestValue"
                    | "KeyInfo"
            )
        })
        .collect();
    let pick = |random: &mut Random| {
        if random.below(2) == 0 {
            random.pick(&all)
        } else {
            random.pick(if famous.is_empty() { &all } else { &famous })
        }
    };
    let (one, other) = (pick(random), pick(random));
    let (from, to) = (one.range(), other.range());
    let source = &text[from.clone()];
    let open = text[to.clone()].find('>').map_or(to.end, |at| to.start + at + 1);
    match random.below(10) {
        0 => replaced(text, &from, ""),
        1 => replaced(text, &from, &source.repeat(2)),
        2 => replaced(text, &(to.start..to.start), source),
        3 => replaced(text, &(to.end..to.end), source),
        4 => replaced(text, &(open..open), source),
        // Move: copy after or before the target, then remove the original.
        5 if to.start >= from.end => replaced(&replaced(text, &(to.start..to.start), source), &from, ""),
        5 | 6 if to.end <= from.start => replaced(&replaced(text, &from, ""), &(to.end..to.end), source),
        6 => replaced(text, &from, &text[to]),
        7 => {
            let victim = source.replacen("ada@corp.example", VICTIM, 1);
            let id = random.pick(&["_a1", "_a2", "_r1", "_evil"]);
            replaced(text, &(to.start..to.start), &victim.replace("_a1", id))
        }
        8 => match one.children().find(roxmltree::Node::is_text) {
            Some(value) => replaced(text, &value.range(), random.pick(&WORDS)),
            None => replaced(text, &from, &format!("<x xmlns=\"urn:x\">{source}</x>")),
        },
        _ => {
            let attributes: Vec<_> = one.attributes().collect();
            if attributes.is_empty() {
                return replaced(text, &from, "");
            }
            let attribute = random.pick(&attributes);
            let values: Vec<_> =
                all.iter().flat_map(roxmltree::Node::attributes).map(|known| known.value()).collect();
            let value = if random.below(2) == 0 { random.pick(&values) } else { random.pick(&WORDS) };
            replaced(text, &attribute.range_value(), value)
        }
    }
}

/// Normalizes line ends to a line feed and white space in tags to spaces, as XML requires of parsers. The second
/// verifier's parser does not do this in all cases.
pub(crate) fn normalised(text: &str) -> String {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n");
    let is_tag = |token: &str| token.starts_with('<') && !token.starts_with("<!");
    split(&text)
        .into_iter()
        .map(|token| if is_tag(token) { token.replace(['\t', '\n'], " ") } else { token.to_owned() })
        .collect()
}
