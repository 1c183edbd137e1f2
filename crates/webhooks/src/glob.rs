//! Filters for event types.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Maximum length of a filter, in characters.
const LONGEST: usize = 128;

/// A pattern for event types: `*` matches any characters or none; `A-Z`, `a-z`, `0-9`, `_` and `.` match themselves.
/// Matching is case-sensitive and covers the whole type.
///
/// ```
/// let steps: webhooks::EventFilter = "ACCOUNT_STEPUP_*".parse()?;
/// assert!(steps.matches("ACCOUNT_STEPUP_ISSUED") && !steps.matches("ACCOUNT_USER_CREATED"));
/// # Ok::<(), webhooks::ParseEventFilterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventFilter(String);

/// The text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write 1 to 128 characters of A-Z, a-z, 0-9, _, . and *")]
pub struct ParseEventFilterError;

impl EventFilter {
    /// Returns the filter that matches every event.
    pub fn all() -> Self {
        Self("*".into())
    }

    /// Returns the pattern.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the filter matches this event type. The time is at most proportional to the product of both
    /// lengths.
    pub fn matches(&self, event_type: &str) -> bool {
        let (pattern, text) = (self.0.as_bytes(), event_type.as_bytes());
        let (mut at, mut of) = (0, 0);
        // The last star's position, and the end of the text that it matches.
        let mut star: Option<(usize, usize)> = None;
        while let Some(byte) = text.get(at) {
            match pattern.get(of) {
                Some(b'*') => {
                    star = Some((of, at));
                    of += 1;
                }
                Some(wanted) if wanted == byte => (at, of) = (at + 1, of + 1),
                _ => {
                    // The star matches one character more.
                    let Some((place, taken)) = star else { return false };
                    (at, of) = (taken + 1, place);
                }
            }
        }
        pattern.iter().skip(of).all(|byte| *byte == b'*')
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for EventFilter {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        let description = "Event types to deliver: letters, digits, `_`, `.`, and `*` for any characters.";
        utoipa::openapi::ObjectBuilder::new()
            .schema_type(utoipa::openapi::schema::Type::String)
            .description(Some(description))
            .min_length(Some(1))
            .max_length(Some(LONGEST))
            .pattern(Some("^[A-Za-z0-9_.*]+$"))
            .examples(["ACCOUNT_*"])
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for EventFilter {}

impl FromStr for EventFilter {
    type Err = ParseEventFilterError;

    fn from_str(text: &str) -> Result<Self, ParseEventFilterError> {
        let known = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'*');
        if (1..=LONGEST).contains(&text.len()) && text.bytes().all(known) {
            Ok(Self(text.to_owned()))
        } else {
            Err(ParseEventFilterError)
        }
    }
}

impl fmt::Display for EventFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EventFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EventFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The reference implementation: a star matches nothing, or one character and more.
    fn means(pattern: &[u8], text: &[u8]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), None) => means(rest, text),
            (Some((b'*', rest)), Some((_, shorter))) => means(rest, text) || means(pattern, shorter),
            (Some((wanted, rest)), Some((byte, shorter))) => wanted == byte && means(rest, shorter),
            _ => false,
        }
    }

    #[test]
    fn invalid_patterns_are_refused() {
        for text in ["", "A-B", "a b", "ä", "A?", "[A]", "A,B", &"A".repeat(129)] {
            assert!(text.parse::<EventFilter>().is_err(), "{text}");
        }
        assert!("*".repeat(128).parse::<EventFilter>().is_ok());
    }

    #[test]
    fn many_stars_do_not_cause_backtracking() {
        let filter: EventFilter = "*A".repeat(64).parse().unwrap();
        let text = format!("{}B", "A".repeat(100_000));
        assert!(!filter.matches(&text), "the text ends with B, which the filter does not match");
    }

    proptest! {
        #[test]
        fn matching_is_what_the_definition_says(pattern in "[AB*]{1,8}", text in "[AB]{0,10}") {
            let filter: EventFilter = pattern.parse().unwrap();
            prop_assert_eq!(filter.matches(&text), means(pattern.as_bytes(), text.as_bytes()));
        }
    }
}
