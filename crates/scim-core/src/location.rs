//! URLs of resources.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters of an id that a path does not contain as they are: all but the unreserved ones (RFC 3986 §2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the URL of a resource; `collection` is `Users` or `Groups`.
pub(crate) fn location(base: &str, collection: &str, id: &str) -> String {
    format!("{base}/{collection}/{}", utf8_percent_encode(id, RESERVED))
}

/// Returns the id in a segment of a path; `None` if it is not UTF-8.
pub(crate) fn id_of(segment: &str) -> Option<String> {
    percent_decode_str(segment).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_any_text_stay_one_segment() {
        for (id, expected) in [
            ("usr_01jz", "usr_01jz"),
            ("9f1c62e4-7d55", "9f1c62e4-7d55"),
            ("ada@example.com", "ada%40example.com"),
            ("a/../b?c#d e", "a%2F..%2Fb%3Fc%23d%20e"),
            ("ø", "%C3%B8"),
        ] {
            let url = location("https://x/scim", "Users", id);
            assert_eq!(url, format!("https://x/scim/Users/{expected}"));
            assert_eq!(id_of(expected).as_deref(), Some(id));
        }
        assert_eq!(id_of("%FF"), None);
    }
}
