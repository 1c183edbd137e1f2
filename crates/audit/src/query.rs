//! Finding entries: what is looked for, and pages of it.

use crate::error::FilterError;
use crate::store::AuditQueryStore;
use kernel::{StoreResult, Timestamp};

use crate::{Catalog, StoredEntry};

/// Entries whose text is looked at for one page at most.
pub const MAX_SCANNED: usize = 50_000;
/// Entries whose text is looked at in one statement.
const SCANNED_AT_ONCE: usize = 5_000;
/// Codes of one search at most.
pub const MAX_CODES: usize = 200;
/// Of more codes than this those of a time are gone through; of fewer, each is found by itself.
pub const CODES_BY_INDEX: usize = 24;
/// Characters of a text that is looked for, at most.
pub const MAX_TEXT: usize = 200;

/// What entries are looked for: all that is said applies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// The id of who acted.
    pub actor: Option<String>,
    /// Codes of what happened, in order and each once.
    pub actions: Option<Vec<String>>,
    /// The type of the resource.
    pub resource_type: Option<String>,
    /// ID of the resource.
    pub resource_id: Option<String>,
    /// In action, resource or metadata, small or capital letters alike (ASCII).
    pub text: Option<String>,
    /// From then on.
    pub from: Option<Timestamp>,
    /// Latest timestamp, exclusive.
    pub to: Option<Timestamp>,
}

/// Where an entry stands in the ledger by time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Timestamp of the entry.
    pub timestamp: Timestamp,
    /// Which of those at the same time.
    pub id: String,
}

/// A part of the entries, newest first: those after a position, up to and with another.
#[derive(Debug, Clone, Copy, Default)]
pub struct Span<'a> {
    /// Older than this one.
    pub after: Option<&'a Position>,
    /// Down to this one.
    pub until: Option<&'a Position>,
}

/// An entry as it is listed.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedEntry {
    /// As it was written.
    pub entry: StoredEntry,
    /// What the one who acted is called today; no part of the ledger.
    pub actor_name: Option<String>,
}

impl ListedEntry {
    /// Where it stands.
    pub fn position(&self) -> Position {
        Position { timestamp: self.entry.timestamp, id: self.entry.id.clone() }
    }
}

/// A page of what was found, newest first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EntryPage {
    /// Entries of this page.
    pub entries: Vec<ListedEntry>,
    /// After which the next page begins, if there may be one.
    pub next: Option<Position>,
    /// Where the look at texts has stopped before there was a page.
    pub scan_stopped_at: Option<Timestamp>,
}

/// A page of what was sealed, in the order of the log.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SealedPage {
    /// The entries, each with its place.
    pub entries: Vec<(u64, ListedEntry)>,
    /// The place at which the next page begins, which may not be there yet.
    pub next: u64,
    /// Whether the page was to begin behind the end: the log was longer once.
    pub is_ahead: bool,
}

impl Filter {
    /// Looks for these actions: codes, or beginnings of codes with `*` at their end, separated by commas. A beginning
    /// stands for the codes of the catalog that it begins; one that begins all of them for anything.
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

    /// Looks for what was about a resource of this type, by the codes of the catalog that are; said after the actions.
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

    /// Looks for this text.
    pub fn with_text(mut self, text: &str) -> Result<Self, FilterError> {
        if text.chars().count() > MAX_TEXT {
            return Err(FilterError::Text);
        }
        self.text = Some(text.to_ascii_lowercase()).filter(|text| !text.is_empty());
        Ok(self)
    }

    /// Whether storages find it by an index alone, and in order.
    pub fn is_indexed(&self) -> bool {
        *self == self.range()
    }

    /// Whether several codes are looked for and nothing beside them: each is found by itself.
    pub fn is_of_few_codes(&self) -> bool {
        let few = self.actions.as_ref().is_some_and(|actions| actions.len() <= CODES_BY_INDEX);
        few && self.actor.is_none() && self.resource_id.is_none() && self.text.is_none()
    }

    /// The part of it that storages find by an index, and in order: what is gone through for the rest.
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

    /// Whether nothing can be found.
    pub fn is_empty(&self) -> bool {
        self.actions.as_ref().is_some_and(Vec::is_empty)
    }

    /// Whether an entry is looked for: the meaning that every storage has to keep to.
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

/// What matches of what is sealed, in the order of the log, from a place on.
///
/// Whoever goes on at [`SealedPage::next`] misses nothing and gets nothing twice, however late entries are committed: an
/// entry gets its place when it can be seen.
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
            return Ok(SealedPage { next: last + 1, entries, is_ahead: false });
        }
        (next, scanned) = (to, scanned + SCANNED_AT_ONCE);
    }
    let next = if filter.is_empty() { size.max(next) } else { next };
    Ok(SealedPage { entries, next, is_ahead: from > size })
}

/// A page of what matches, newest first, after a position.
///
/// What no index finds, a text above all, is looked for in [`MAX_SCANNED`] entries at most: then the page says where it
/// has stopped, and the next one goes on there. So it does where the storage has no time left.
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

/// The page of what was found, one more than the limit if there is a next one.
fn cut(mut entries: Vec<ListedEntry>, limit: usize) -> EntryPage {
    let more = entries.len() > limit;
    entries.truncate(limit);
    let next = entries.last().filter(|_| more).map(ListedEntry::position);
    EntryPage { entries, next, scan_stopped_at: None }
}
