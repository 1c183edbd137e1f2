//! Searches of audit entries, and pages of results.

use crate::error::FilterError;
use crate::store::AuditQueryStore;
use kernel::{StoreResult, Timestamp};

use crate::{Catalog, StoredEntry};

/// Maximum number of entries that an unindexed search scans per page.
pub const MAX_SCANNED: usize = 50_000;
/// Entries that an unindexed search scans per statement.
const SCANNED_AT_ONCE: usize = 5_000;
/// Maximum number of codes per search.
pub const MAX_CODES: usize = 200;
/// With at most this many codes, each is found by its index. With more, entries are scanned by time.
pub const CODES_BY_INDEX: usize = 24;
/// Maximum length of a search text, in characters.
pub const MAX_TEXT: usize = 200;

/// A search filter. All conditions must match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The actor's id.
    pub actor: Option<String>,
    /// Event codes, sorted and unique.
    pub actions: Option<Vec<String>>,
    /// The type of the resource.
    pub resource_type: Option<String>,
    /// ID of the resource.
    pub resource_id: Option<String>,
    /// Text in action, resource or metadata. ASCII case is ignored.
    pub text: Option<String>,
    /// Earliest timestamp, inclusive.
    pub from: Option<Timestamp>,
    /// Latest timestamp, exclusive.
    pub to: Option<Timestamp>,
}

/// The position of an entry in order of time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Timestamp of the entry.
    pub timestamp: Timestamp,
    /// The entry's id, which orders entries with the same timestamp.
    pub id: String,
}

/// A range of entries, newest first: after one position, up to and including another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span<'a> {
    /// Entries older than this one.
    pub after: Option<&'a Position>,
    /// Down to this entry, inclusive.
    pub until: Option<&'a Position>,
}

/// An entry in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedEntry {
    /// The stored entry.
    pub entry: StoredEntry,
    /// The actor's current name, which is not part of the audit log.
    pub actor_name: Option<String>,
}

impl ListedEntry {
    /// Returns the entry's position.
    pub fn position(&self) -> Position {
        Position { timestamp: self.entry.timestamp, id: self.entry.id.clone() }
    }
}

/// A page of results, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntryPage {
    /// Entries of this page.
    pub entries: Vec<ListedEntry>,
    /// Where the next page begins, if there may be one.
    pub next: Option<Position>,
    /// Where the scan stopped before it filled the page.
    pub scan_stopped_at: Option<Timestamp>,
}

/// A page of sealed entries, in the order of the log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SealedPage {
    /// The entries with their positions.
    pub entries: Vec<(u64, ListedEntry)>,
    /// The position where the next page begins, which may not exist yet.
    pub next: u64,
    /// Number of sealed entries.
    pub size: u64,
    /// Whether the requested position is beyond the end, which means that the log was longer before.
    pub is_ahead: bool,
}

impl Filter {
    /// Filters by actions: a comma-separated list of codes, or prefixes of codes that end in `*`. A prefix matches
    /// the catalog's codes. If a prefix matches all of them, every action matches.
    pub fn with_actions(mut self, words: &str, catalog: &Catalog) -> Result<Self, FilterError> {
        let is_code = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte))
        };
        let codes = || catalog.specs().iter().map(|spec| spec.code);
        let mut actions = Vec::new();
        for word in words.split(',').map(str::trim) {
            match word.strip_suffix('*') {
                Some(beginning) if beginning.is_empty() || is_code(beginning) => {
                    let begun = codes().filter(|code| code.starts_with(beginning));
                    let before = actions.len();
                    actions.extend(begun.map(str::to_owned));
                    if actions.len() - before == catalog.specs().len() {
                        return Ok(Self { actions: None, ..self });
                    }
                }
                None if is_code(word) => actions.push(word.to_owned()),
                _ => return Err(FilterError::Action(word.to_owned())),
            }
        }
        actions.sort_unstable();
        actions.dedup();
        if actions.len() > MAX_CODES {
            return Err(FilterError::Actions);
        }
        self.actions = Some(actions);
        Ok(self)
    }

    /// Filters by resource type and restricts the actions to its codes in the catalog. Call this after setting the
    /// actions.
    #[must_use]
    pub fn with_resource_type(mut self, kind: &str, catalog: &Catalog) -> Self {
        let kind_of =
            |code: &str| catalog.specs().iter().find(|spec| spec.code == code).map(|spec| spec.resource_type);
        let mut actions = self
            .actions
            .take()
            .unwrap_or_else(|| catalog.specs().iter().map(|spec| spec.code.to_owned()).collect());
        actions.retain(|code| kind_of(code).is_none_or(|known| known == kind));
        actions.sort_unstable();
        Self { actions: Some(actions), resource_type: Some(kind.to_owned()), ..self }
    }

    /// Filters by text.
    pub fn with_text(mut self, text: &str) -> Result<Self, FilterError> {
        if text.chars().count() > MAX_TEXT {
            return Err(FilterError::Text);
        }
        self.text = Some(text.to_ascii_lowercase()).filter(|text| !text.is_empty());
        Ok(self)
    }

    /// Returns whether storage can answer the filter by an index alone, in order.
    pub fn is_indexed(&self) -> bool {
        *self == self.range()
    }

    /// Returns whether the only conditions are a few codes, which are each found by index.
    pub fn is_of_few_codes(&self) -> bool {
        let few = self.actions.as_ref().is_some_and(|actions| actions.len() <= CODES_BY_INDEX);
        few && self.actor.is_none() && self.resource_id.is_none() && self.text.is_none()
    }

    /// Returns the part of the filter that an index answers in order. The remaining conditions are checked on each
    /// entry.
    #[must_use]
    pub fn range(&self) -> Self {
        let mut range = Self { from: self.from, to: self.to, ..Self::default() };
        if self.resource_id.is_some() {
            range.resource_id.clone_from(&self.resource_id);
        } else if self.actor.is_some() {
            range.actor.clone_from(&self.actor);
        } else if self.actions.as_ref().is_some_and(|actions| actions.len() == 1) {
            range.actions.clone_from(&self.actions);
        }
        range
    }

    /// Returns whether the filter cannot match anything.
    pub fn is_empty(&self) -> bool {
        self.actions.as_ref().is_some_and(Vec::is_empty)
    }

    /// Returns whether an entry matches. This defines the filter's meaning for every storage.
    pub fn matches(&self, entry: &StoredEntry) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let text = |wanted: &String| {
            let all = [&*entry.action, &entry.resource_type, &entry.resource_id, &entry.metadata].join(" ");
            all.to_ascii_lowercase().contains(wanted)
        };
        is(&self.actor, &entry.actor_id)
            && self.actions.as_ref().is_none_or(|actions| actions.contains(&entry.action))
            && is(&self.resource_type, &entry.resource_type)
            && is(&self.resource_id, &entry.resource_id)
            && self.from.is_none_or(|from| entry.timestamp >= from)
            && self.to.is_none_or(|to| entry.timestamp < to)
            && self.text.as_ref().is_none_or(text)
    }
}

/// Returns matching sealed entries from position `from`, in the order of the log.
///
/// A client that continues at [`SealedPage::next`] misses nothing and gets nothing twice, even if entries commit
/// late, because an entry gets its position only once it is visible.
pub async fn follow(
    store: &mut dyn AuditQueryStore,
    filter: &Filter,
    from: u64,
    limit: usize,
) -> StoreResult<SealedPage> {
    let size = store.sealed_size().await?;
    let (mut entries, mut next, mut scanned) = (Vec::new(), from, 0);
    while next < size && scanned < MAX_SCANNED && !filter.is_empty() && (scanned == 0 || store.has_time()) {
        let to = size.min(next + SCANNED_AT_ONCE as u64);
        entries.extend(store.sealed_entries(filter, next, to, limit - entries.len()).await?);
        if let Some((last, _)) = entries.last().filter(|_| entries.len() >= limit) {
            return Ok(SealedPage { next: last + 1, entries, size, is_ahead: false });
        }
        (next, scanned) = (to, scanned + SCANNED_AT_ONCE);
    }
    let next = if filter.is_empty() { size.max(next) } else { next };
    Ok(SealedPage { entries, next, size, is_ahead: from > size })
}

/// Returns matching entries after a position, newest first.
///
/// Unindexed searches, such as for text, scan at most [`MAX_SCANNED`] entries per page, and stop earlier if the
/// storage's time runs out. The page then says where the scan stopped, and the next page continues there.
pub async fn find(
    store: &mut dyn AuditQueryStore,
    filter: &Filter,
    after: Option<Position>,
    limit: usize,
) -> StoreResult<EntryPage> {
    if filter.is_empty() {
        return Ok(EntryPage::default());
    }
    if filter.is_indexed() || filter.is_of_few_codes() {
        let entries = store.entries(filter, Span { after: after.as_ref(), until: None }, limit + 1).await?;
        return Ok(cut(entries, limit));
    }
    let range = filter.range();
    let (mut after, mut entries, mut scanned) = (after, Vec::new(), 0);
    loop {
        let until = store.further(&range, after.as_ref(), SCANNED_AT_ONCE).await?;
        let wanted = limit + 1 - entries.len();
        let span = Span { after: after.as_ref(), until: until.as_ref() };
        entries.extend(store.entries(filter, span, wanted).await?);
        scanned += SCANNED_AT_ONCE;
        let Some(until) = until.filter(|_| entries.len() <= limit) else { return Ok(cut(entries, limit)) };
        if scanned >= MAX_SCANNED || !store.has_time() {
            let stopped = until.timestamp;
            return Ok(EntryPage { entries, next: Some(until), scan_stopped_at: Some(stopped) });
        }
        after = Some(until);
    }
}

/// Builds the page from the results. One more than the limit means that another page follows.
fn cut(mut entries: Vec<ListedEntry>, limit: usize) -> EntryPage {
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(ListedEntry::position);
    EntryPage { entries, next, scan_stopped_at: None }
}
