//! Pages by position (RFC 7644 §3.4.2.4).

use serde_json::{Value, json};

use crate::{Error, User};

/// Users of a page unless the client says otherwise.
pub const DEFAULT_COUNT: u32 = 100;
/// Users of a page at most; a larger `count` is clamped.
pub const MAX_COUNT: u32 = 200;

/// A part of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Position of the first one, from 1.
    pub start_index: u64,
    /// How many at most; 0 asks for the total alone.
    pub count: u32,
}

impl Page {
    /// From the query parameters. A start below 1 is 1, a negative count is 0, a count over
    /// [`MAX_COUNT`] is that; what is not an integer is refused.
    pub fn parse(start_index: Option<&str>, count: Option<&str>) -> Result<Self, Error> {
        let start_index = integer("startIndex", start_index)?.unwrap_or(1).max(1);
        let count = integer("count", count)?.unwrap_or(i64::from(DEFAULT_COUNT));
        Ok(Self {
            start_index: u64::try_from(start_index).unwrap_or(1),
            count: u32::try_from(count.clamp(0, i64::from(MAX_COUNT))).unwrap_or(MAX_COUNT),
        })
    }

    /// How many come before it.
    pub fn offset(&self) -> u64 {
        self.start_index - 1
    }
}

/// An integer of any size, cut to 64 bits.
fn integer(name: &str, text: Option<&str>) -> Result<Option<i64>, Error> {
    let Some(text) = text else { return Ok(None) };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::invalid(name, "must be an integer"));
    }
    let huge = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Ok(Some(text.parse().unwrap_or(huge)))
}

/// A page of users and how many there are in all.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// All that match, on whatever page.
    pub total: u64,
    /// Those of the page, oldest first.
    pub users: Vec<User>,
}

/// The body of a list (RFC 7644 §3.4.2).
pub fn list_response(total: u64, start_index: u64, resources: Vec<Value>) -> Value {
    let mut body = json!({
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:ListResponse"],
        "totalResults": total,
        "startIndex": start_index,
        "itemsPerPage": resources.len(),
    });
    if let Some(members) = body.as_object_mut() {
        members.insert("Resources".into(), Value::Array(resources));
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_numbers_are_met_halfway_and_words_are_not() {
        let page = |start, count| Page::parse(start, count).map(|page| (page.start_index, page.count)).ok();
        assert_eq!(page(None, None), Some((1, 100)));
        assert_eq!(page(Some("0"), Some("-3")), Some((1, 0)));
        assert_eq!(page(Some("-7"), Some("201")), Some((1, 200)));
        assert_eq!(page(Some("99999999999999999999"), Some("0")), Some((i64::MAX as u64, 0)));
        for odd in ["", "x", "1.0", "1e2", " 1", "-", "+", "0x10"] {
            assert_eq!(page(Some(odd), None), None, "{odd}");
            assert_eq!(page(None, Some(odd)), None, "{odd}");
        }
    }
}
