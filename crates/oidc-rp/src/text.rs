//! Text from outside, made safe to show.

/// Maximum length of a text for the administrator, in characters.
const MAX: usize = 500;

/// Truncates a text to 500 characters, and replaces control characters, line separators and invisible characters, which could
/// change how the text around them is displayed.
pub(crate) fn printable(text: &str) -> String {
    let is_unsafe = |c: char| {
        c.is_control()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().take(MAX).map(|c| if is_unsafe(c) { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_have_no_invisible_characters() {
        assert_eq!(printable("Ada Łöveläce 🦉"), "Ada Łöveläce 🦉");
        assert_eq!(printable("a\nb\u{202e}c\u{2028}d\u{200b}e"), "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e");
        assert_eq!(printable(&"x".repeat(10_000)).len(), MAX);
    }
}
