//! Pagination by index (RFC 7644 §3.4.2.4) or by cursor (RFC 9865).

use data_encoding::BASE64URL_NOPAD;
use serde_json::{Map, Value, json};

use crate::{Error, User, filter::Filter, json::write_text};

/// The default page size.
pub const DEFAULT_COUNT: u32 = 100;
/// The maximum page size; a larger `count` is clamped.
pub const MAX_COUNT: u32 = 200;

/// A filter and the page of matches to return.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// The filter that resources must match; `None` for all resources.
    pub filter: Option<Filter>,
    /// The page to return.
    pub page: Page,
    /// The checksum of the query that its cursors belong to; [`Page::parse`] rejects cursors of another query.
    pub belongs_to: u32,
}

impl Query {
    /// Returns whether the user matches the filter.
    pub fn matches(&self, user: &User) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(&user.clone().into_json("")))
    }

    /// Returns the page of users that match the filter.
    pub fn page_of(&self, users: impl Iterator<Item = User>) -> ResourcePage<User> {
        let mut matching: Vec<_> = users.filter(|user| self.matches(user)).collect();
        matching.sort_by(|one, other| one.id.cmp(&other.id));
        ResourcePage::page_of(matching.iter(), &self.page, |user| user.id.as_str())
    }
}

/// A section of a list that is sorted by the text of the id. Generated ids begin with the time, so the oldest is first; of
/// your own, zero-pad numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The position of the first resource.
    pub start: Start,
    /// The maximum number of resources; 0 requests only the total.
    pub count: u32,
}

/// The start of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// The resource at this position, counted from 1.
    Index(u64),
    /// The first resource; further pages follow by cursor.
    First,
    /// The resource after a cursor. The cost does not depend on the position in the list.
    After(Cursor),
}

/// The end of a page, from which the next page continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The id of the page's last resource.
    pub last: String,
    /// The number of matches when the first page was read; later pages do not count again.
    pub total: u64,
}

impl Default for Page {
    fn default() -> Self {
        Self { start: Start::Index(1), count: DEFAULT_COUNT }
    }
}

impl Page {
    /// Parses the pagination parameters of a request. `startIndex` is at least 1; `count` is clamped to 0 up to
    /// [`MAX_COUNT`]. Fails if either is not an integer. A cursor, even an empty one, takes precedence over
    /// `startIndex`.
    pub fn parse(
        start_index: Option<&str>,
        count: Option<&str>,
        cursor: Option<&str>,
        belongs_to: u32,
    ) -> Result<Self, Error> {
        let count = integer("count", count)?.unwrap_or(i64::from(DEFAULT_COUNT));
        let count = u32::try_from(count.clamp(0, i64::from(MAX_COUNT))).unwrap_or(MAX_COUNT);
        let start = match cursor {
            Some("") => Start::First,
            Some(cursor) => Start::After(Cursor::read(cursor, belongs_to)?),
            None => {
                let start_index = integer("startIndex", start_index)?.unwrap_or(1).max(1);
                Start::Index(start_index.unsigned_abs())
            }
        };
        Ok(Self { start, count })
    }

    /// Returns the number of resources to skip; 0 for a page by cursor.
    pub fn offset(&self) -> u64 {
        match self.start {
            Start::Index(index) => index.saturating_sub(1),
            Start::First | Start::After(_) => 0,
        }
    }
}

/// Parses an integer of any size, clamped to 64 bits.
fn integer(name: &str, text: Option<&str>) -> Result<Option<i64>, Error> {
    let Some(text) = text else { return Ok(None) };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::invalid(name, "must be an integer"));
    }
    let huge = if text.starts_with('-') { i64::MIN } else { i64::MAX };
    Ok(Some(text.parse().unwrap_or(huge)))
}

impl Cursor {
    /// Encodes the cursor for clients, with a checksum of the query that it belongs to. It is not secret: access to
    /// resources does not depend on it.
    fn print(&self, belongs_to: u32) -> String {
        let text = format!("{belongs_to:08x}{:x}.{}", self.total, self.last);
        BASE64URL_NOPAD.encode(text.as_bytes())
    }

    fn read(text: &str, belongs_to: u32) -> Result<Self, Error> {
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).map_err(|_| Error::InvalidCursor)?;
        let text = String::from_utf8(bytes).map_err(|_| Error::InvalidCursor)?;
        let parts = text.split_at_checked(8).and_then(|(sum, rest)| Some((sum, rest.split_once('.')?)));
        let Some((sum, (total, last))) = parts else { return Err(Error::InvalidCursor) };
        let total = u64::from_str_radix(total, 16).ok().filter(|total| i64::try_from(*total).is_ok());
        match total {
            Some(total) if sum == format!("{belongs_to:08x}") && is_id(last) => {
                Ok(Self { last: last.to_owned(), total })
            }
            _ => Err(Error::InvalidCursor),
        }
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_control)
}

/// A page of resources.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourcePage<T> {
    /// The number of matches on all pages. After a cursor, the number that the cursor contains.
    pub total: u64,
    /// The resources of this page, oldest first.
    pub resources: Vec<T>,
    /// Whether there are more matches after this page.
    pub more: bool,
    /// Whether related data, such as a user's groups, exceeded a limit and was not read completely.
    pub cut: bool,
}

impl<T> ResourcePage<T> {
    /// Returns a page of resources that are all in memory, sorted by id.
    pub fn page_of<'t>(all: impl Iterator<Item = &'t T>, page: &Page, id: impl Fn(&T) -> &str) -> Self
    where
        T: Clone + 't,
    {
        let all: Vec<_> = all.collect();
        let before = match &page.start {
            Start::Index(index) => usize::try_from(index.saturating_sub(1)).unwrap_or(usize::MAX),
            Start::First => 0,
            Start::After(cursor) => all.iter().take_while(|one| id(one) <= cursor.last.as_str()).count(),
        };
        let resources: Vec<_> =
            all.iter().skip(before).take(page.count as usize).map(|one| (*one).clone()).collect();
        let more = before.saturating_add(resources.len()) < all.len();
        let total = match &page.start {
            Start::After(cursor) => cursor.total,
            Start::Index(_) | Start::First => all.len() as u64,
        };
        Self { total, resources, more, cut: false }
    }

    /// Converts the resources of the page.
    pub fn map<U>(self, convert: impl FnMut(T) -> U) -> ResourcePage<U> {
        let Self { total, resources, more, cut } = self;
        ResourcePage { total, resources: resources.into_iter().map(convert).collect(), more, cut }
    }

    /// Returns the cursor of the next page; `None` on the last page or if the query does not use cursors.
    pub fn next_cursor(&self, query: &Query, id: impl Fn(&T) -> &str) -> Option<String> {
        let last = self.resources.last().filter(|_| self.more)?;
        match query.page.start {
            Start::Index(_) => None,
            Start::First | Start::After(_) => {
                let cursor = Cursor { last: id(last).to_owned(), total: self.total };
                Some(cursor.print(query.belongs_to))
            }
        }
    }
}

/// Returns the body of a list response (RFC 7644 §3.4.2): with `startIndex` for pages by index, with `nextCursor`
/// for pages by cursor.
pub fn list_response(total: u64, start: &Start, next_cursor: Option<String>, resources: Vec<Value>) -> Value {
    let mut body = Map::with_capacity(5);
    body.insert("schemas".into(), json!(["urn:ietf:params:scim:api:messages:2.0:ListResponse"]));
    body.insert("totalResults".into(), total.into());
    if let Start::Index(index) = start {
        body.insert("startIndex".into(), (*index).into());
    }
    if let Some(next_cursor) = next_cursor {
        body.insert("nextCursor".into(), next_cursor.into());
    }
    body.insert("itemsPerPage".into(), resources.len().into());
    body.insert("Resources".into(), Value::Array(resources));
    Value::Object(body)
}

/// Writes the text of [`list_response`]; `resource` writes each resource.
pub fn write_list<T>(
    total: u64,
    start: &Start,
    next_cursor: Option<String>,
    resources: Vec<T>,
    mut resource: impl FnMut(T, &mut String),
) -> String {
    let count = resources.len();
    let mut text = String::with_capacity(256 + count * 1024);
    text.push_str(r#"{"schemas":["urn:ietf:params:scim:api:messages:2.0:ListResponse"],"totalResults":"#);
    text.push_str(&total.to_string());
    if let Start::Index(index) = start {
        text.push_str(",\"startIndex\":");
        text.push_str(&index.to_string());
    }
    if let Some(next_cursor) = next_cursor {
        text.push_str(",\"nextCursor\":");
        write_text(&next_cursor, &mut text);
    }
    text.push_str(",\"itemsPerPage\":");
    text.push_str(&count.to_string());
    text.push_str(",\"Resources\":[");
    for (number, one) in resources.into_iter().enumerate() {
        if number > 0 {
            text.push(',');
        }
        resource(one, &mut text);
    }
    text.push_str("]}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_numbers_are_clamped_and_non_integers_refused() {
        let page =
            |start, count| Page::parse(start, count, None, 0).map(|page| (page.offset(), page.count)).ok();
        assert_eq!(page(None, None), Some((0, 100)));
        assert_eq!(page(Some("0"), Some("-3")), Some((0, 0)));
        assert_eq!(page(Some("-7"), Some("201")), Some((0, 200)));
        assert_eq!(page(Some("99999999999999999999"), Some("0")), Some((i64::MAX as u64 - 1, 0)));
        for odd in ["", "x", "1.0", "1e2", " 1", "-", "+", "0x10"] {
            assert_eq!(page(Some(odd), None), None, "{odd}");
            assert_eq!(page(None, Some(odd)), None, "{odd}");
        }
    }

    #[test]
    fn written_list_equals_the_json_value() {
        for count in 0..3_u64 {
            let ones: Vec<_> = (0..count).map(|one| json!({ "one": one })).collect();
            for (start, cursor) in [(Start::Index(3), None), (Start::First, Some("x".to_owned()))] {
                let written = write_list(count, &start, cursor.clone(), ones.clone(), |one, out| {
                    *out += &one.to_string();
                });
                let written: Value = serde_json::from_str(&written).unwrap();
                assert_eq!(written, list_response(count, &start, cursor, ones.clone()));
            }
        }
    }

    #[test]
    fn a_cursor_is_refused_for_another_query() {
        let cursor = Cursor { last: "usr_1".into(), total: 7 };
        let text = cursor.print(7);
        let start =
            |text: &str, query| Page::parse(None, None, Some(text), query).map(|page| page.start).ok();
        assert_eq!(start(&text, 7), Some(Start::After(cursor)));
        assert_eq!(start(&text, 0), None, "the cursor belongs to another query");
        assert_eq!(start("", 0), Some(Start::First));
        let print = |last: &str, total| Cursor { last: last.into(), total }.print(0);
        for odd in [
            "x",
            "AAAA",
            "é",
            &text[1..],
            &format!("{text}="),
            &print("", 1),
            &print("\0", 1),
            &print("usr_1", u64::MAX),
        ] {
            assert_eq!(start(odd, 0), None, "{odd}");
        }
    }
}
