//! Query parameters for reading and listing, from a query string or the body of `.search` (RFC 7644 §3.4.3).

use serde_json::{Map, Value};

use crate::{Error, Page, Projection, Query, filter::Filter, input::member, schema::ResourceType};

/// Unvalidated query parameters. Sorting is not supported, so `sortBy` and `sortOrder` are ignored, as RFC 7644
/// permits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Params {
    filter: Option<String>,
    start_index: Option<String>,
    count: Option<String>,
    cursor: Option<String>,
    attributes: Vec<String>,
    excluded_attributes: Vec<String>,
}

impl Params {
    /// Reads a query string, in which `+` is a space. Names are case-sensitive; the first of each name counts.
    pub fn of_query(text: &str) -> Self {
        let mut params = Self::default();
        for (name, value) in form_urlencoded::parse(text.as_bytes()) {
            let place = match &*name {
                "filter" => &mut params.filter,
                "startIndex" => &mut params.start_index,
                "count" => &mut params.count,
                "cursor" => &mut params.cursor,
                "attributes" => {
                    names(&value, &mut params.attributes);
                    continue;
                }
                "excludedAttributes" => {
                    names(&value, &mut params.excluded_attributes);
                    continue;
                }
                _ => continue,
            };
            place.get_or_insert_with(|| value.into_owned());
        }
        params
    }

    /// Reads the body of `.search`. Names are case-insensitive, numbers may be strings, and null means absent.
    pub fn of_search(body: &Value) -> Result<Self, Error> {
        let Some(body) = body.as_object() else {
            return Err(Error::InvalidSyntax(
                "the body must be a JSON object that describes a search".into(),
            ));
        };
        Ok(Self {
            filter: text(body, "filter")?,
            start_index: text(body, "startIndex")?,
            count: text(body, "count")?,
            cursor: text(body, "cursor")?,
            attributes: list(body, "attributes")?,
            excluded_attributes: list(body, "excludedAttributes")?,
        })
    }

    /// Decrypts the cursor with `open`, for services that seal the cursors they hand out. Fails if `open` returns
    /// `None`. An empty cursor requests the first page and is not sealed.
    pub fn unsealed(self, open: impl FnOnce(&str) -> Option<String>) -> Result<Self, Error> {
        match self.cursor.as_deref() {
            None | Some("") => Ok(self),
            Some(sealed) => {
                let cursor = open(sealed).ok_or(Error::InvalidCursor)?;
                Ok(Self { cursor: Some(cursor), ..self })
            }
        }
    }

    /// Returns the query over resources of this kind.
    pub fn query(&self, kind: &'static ResourceType) -> Result<Query, Error> {
        let filter = self.filter.as_deref().map(|text| Filter::parse(kind, text)).transpose()?;
        let (start, count) = (self.start_index.as_deref(), self.count.as_deref());
        let belongs_to = self.checksum(kind.name);
        let page = Page::parse(start, count, self.cursor.as_deref(), belongs_to)?;
        Ok(Query { filter, page, belongs_to })
    }

    /// Returns the query of a search over several kinds for one of them. Attributes that only the others have are
    /// absent.
    pub fn query_among(
        &self,
        kind: &'static ResourceType,
        kinds: &[&'static ResourceType],
    ) -> Result<Query, Error> {
        let filter = self.filter.as_deref().map(|text| Filter::parse_among(kind, kinds, text)).transpose()?;
        let (start, count) = (self.start_index.as_deref(), self.count.as_deref());
        let belongs_to = self.checksum("");
        let page = Page::parse(start, count, self.cursor.as_deref(), belongs_to)?;
        Ok(Query { filter, page, belongs_to })
    }

    /// Returns a checksum of the resource type (empty for a search over all types) and the filter as sent.
    fn checksum(&self, kind: &str) -> u32 {
        crc32fast::hash(format!("{kind}\0{}", self.filter.as_deref().unwrap_or_default()).as_bytes())
    }

    /// Returns the projection that `attributes` and `excludedAttributes` select.
    pub fn projection(&self, kind: &'static ResourceType) -> Projection {
        Projection::new(kind, &self.attributes, &self.excluded_attributes)
    }
}

/// Maximum number of attribute names read: more than ten times the number that exist.
const MAX_NAMES: usize = 1000;

fn names(text: &str, into: &mut Vec<String>) {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    into.extend(names.take(MAX_NAMES.saturating_sub(into.len())).map(str::to_owned));
}

/// Returns the member with this name, unless it is null.
fn given<'v>(body: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    member(body, name).filter(|value| !value.is_null())
}

fn text(body: &Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
    match given(body, name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) if name != "filter" => Ok(Some(whole(number))),
        Some(_) => Err(Error::invalid(name, "has the wrong type")),
    }
}

/// Converts a number to text. A whole number has no decimal point, whatever its notation and size.
fn whole(number: &serde_json::Number) -> String {
    match number.as_f64().filter(|float| !number.is_i64() && !number.is_u64() && float.fract() == 0.0) {
        Some(float) => format!("{float:.0}"),
        None => number.to_string(),
    }
}

fn list(body: &Map<String, Value>, name: &str) -> Result<Vec<String>, Error> {
    let wrong = || Error::invalid(name, "must be an array of names");
    let mut read = Vec::new();
    match given(body, name) {
        None => {}
        Some(Value::String(text)) => names(text, &mut read),
        Some(Value::Array(all)) => {
            for one in all {
                names(one.as_str().ok_or_else(wrong)?, &mut read);
            }
        }
        Some(_) => return Err(wrong()),
    }
    Ok(read)
}
