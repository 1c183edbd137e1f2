//! Text from outside: what may be stored, and what is safe to show.

/// Maximum length of a text for the administrator, in characters.
const MAX_SHOWN: usize = 500;

/// Returns whether the text has at least one and at most `max` characters, all of them printable.
pub(super) fn is_printable(text: &str, max: usize) -> bool {
    !text.is_empty() && text.chars().take(max + 1).count() <= max && !text.chars().any(is_unsafe)
}

/// Truncates a text to 500 characters and replaces those that are not printable.
pub(super) fn printable(text: &str) -> String {
    text.chars().take(MAX_SHOWN).map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

/// Control characters, line separators and invisible characters, which could change how the text around them is displayed.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_have_no_invisible_characters() {
        assert_eq!(printable("Ada Łöveläce 🦉"), "Ada Łöveläce 🦉");
        assert_eq!(printable("a\nb\u{202e}c\u{2028}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
        assert_eq!(printable(&"x".repeat(10_000)).len(), MAX_SHOWN);
        assert!(is_printable("ä", 1) && is_printable("a b", 3));
        for text in ["", "abcd", "a\n", "\u{200b}", "\u{0}"] {
            assert!(!is_printable(text, 3), "{text:?}");
        }
    }
}
