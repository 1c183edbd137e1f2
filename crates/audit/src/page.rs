//! Pages of a search, and the cursors that continue them.

use data_encoding::HEXLOWER;
use kernel::Timestamp;
use ring::digest::{SHA256, digest};
use serde::Serialize;

use crate::{
    AuditQueryStore, EntryView, Filter, InvalidParameter, Position, error::SearchError, find, follow,
};

/// The order of a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Newest first.
    Newest,
    /// Sealed entries in the order of the log. A client that follows the cursor gets each entry exactly once.
    Sequence,
}

impl Order {
    /// Parses the value of the parameter `order`.
    pub fn read(value: Option<&str>) -> Result<Self, InvalidParameter> {
        match value {
            None | Some("") => Ok(Self::Newest),
            Some("sequence") => Ok(Self::Sequence),
            Some(_) => Err(InvalidParameter::new("order", "must be sequence, or omitted for newest first")),
        }
    }
}

/// A page of audit entries.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct AuditPage {
    /// Newest first, or in the order of the log.
    entries: Vec<EntryView>,
    /// Cursor of the next page; `null` on the last page. With `order=sequence` it is never `null`.
    #[cfg_attr(feature = "openapi", schema(required))]
    next_cursor: Option<String>,
    /// With `q`: time of the oldest entry scanned. A page scans at most 50,000 entries; the next page continues from here.
    #[cfg_attr(feature = "openapi", schema(nullable = false, value_type = Option<String>, format = "date-time"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    scan_stopped_at: Option<Timestamp>,
}

impl AuditPage {
    /// Seals the cursor of the next page with `seal`.
    #[must_use]
    pub fn seal_cursor(mut self, seal: impl FnOnce(&str) -> Option<String>) -> Self {
        self.next_cursor = self.next_cursor.and_then(|cursor| seal(&cursor));
        self
    }
}

/// A search in one order, from the beginning or from a cursor.
#[derive(Debug, Clone)]
pub struct Search {
    filter: Filter,
    start: Start,
}

/// Where a page begins.
#[derive(Debug, Clone)]
enum Start {
    After(Option<Position>),
    At(u64),
}

impl Search {
    /// Creates a search that begins at `cursor`, if there is one. A cursor by time is valid only for its own filter, a
    /// sequence number for any.
    pub fn new(filter: Filter, order: Order, cursor: Option<&str>) -> Result<Self, SearchError> {
        let start = match (order, cursor) {
            (Order::Newest, None) => Start::After(None),
            (Order::Newest, Some(cursor)) => {
                Start::After(Some(position(cursor, &filter).ok_or(SearchError::Cursor)?))
            }
            (Order::Sequence, None) => Start::At(0),
            (Order::Sequence, Some(cursor)) => {
                let sequence = cursor.strip_prefix("seq-").and_then(|sequence| sequence.parse().ok());
                Start::At(sequence.ok_or(SearchError::Cursor)?)
            }
        };
        Ok(Self { filter, start })
    }

    /// Returns whether storage can answer the search only from indexes.
    pub fn is_indexed(&self) -> bool {
        match self.start {
            Start::After(_) => self.filter.is_indexed() || self.filter.is_of_few_codes(),
            Start::At(_) => self.filter == Filter::default(),
        }
    }

    /// Reads a page of at most `limit` entries. Its cursor is not sealed.
    pub async fn page(self, store: &mut dyn AuditQueryStore, limit: usize) -> Result<AuditPage, SearchError> {
        match self.start {
            Start::After(after) => {
                let found = find(store, &self.filter, after, limit).await?;
                Ok(AuditPage {
                    entries: found.entries.into_iter().map(EntryView::try_from).collect::<Result<_, _>>()?,
                    next_cursor: found.next.map(|position| cursor(&position, &self.filter)),
                    scan_stopped_at: found.scan_stopped_at,
                })
            }
            Start::At(from) => {
                let found = follow(store, &self.filter, from, limit).await?;
                let view = |(sequence, listed)| EntryView::sealed(sequence, listed);
                Ok(AuditPage {
                    entries: found.entries.into_iter().map(view).collect::<Result<_, _>>()?,
                    next_cursor: Some(format!("seq-{}", found.next)),
                    scan_stopped_at: None,
                })
            }
        }
    }
}

/// Returns a short hash of the filter, so that a cursor is valid only for its own search.
fn mark(filter: &Filter) -> String {
    let hash = digest(&SHA256, format!("{filter:?}").as_bytes());
    HEXLOWER.encode(hash.as_ref().get(..8).unwrap_or_default())
}

fn cursor(position: &Position, filter: &Filter) -> String {
    format!("audit-{}-{}-{}", position.timestamp.unix_millis(), position.id, mark(filter))
}

/// Returns the last position of the previous page, if the cursor belongs to this search.
fn position(cursor: &str, filter: &Filter) -> Option<Position> {
    let mut parts = cursor.strip_prefix("audit-")?.split('-');
    let (millis, id, of) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    let position = Position { timestamp: Timestamp::from_unix_millis(millis), id: id.to_owned() };
    (parts.next().is_none() && of == mark(filter)).then_some(position)
}
