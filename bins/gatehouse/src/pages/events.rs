//! The newest audit entries that match one of several filters.

use audit::{AuditQueryStore, Filter, ListedEntry, Span, events::catalog};
use kernel::StoreResult;

use super::times::PageTime;

/// Maximum number of entries that a page shows.
const SHOWN: usize = 10;

/// An audit entry, in words.
pub(super) struct EventRow {
    pub(super) what: String,
    pub(super) code: String,
    pub(super) by: String,
    pub(super) from: Option<String>,
    pub(super) at: PageTime,
}

/// Returns the newest entries that match one of the filters, newest first.
pub(super) async fn newest(
    store: &mut dyn AuditQueryStore,
    filters: &[Filter],
) -> StoreResult<Vec<ListedEntry>> {
    let mut entries = Vec::new();
    for filter in filters {
        entries.extend(store.entries(filter, Span { after: None, until: None }, SHOWN).await?);
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.position()));
    entries.dedup_by(|one, other| one.entry.id == other.entry.id);
    entries.truncate(SHOWN);
    Ok(entries)
}

impl From<ListedEntry> for EventRow {
    fn from(ListedEntry { entry, actor_name }: ListedEntry) -> Self {
        let spec = catalog().specs().iter().find(|spec| spec.code == entry.action);
        Self {
            what: spec.map_or_else(|| entry.action.clone(), |spec| spec.description.to_owned()),
            code: entry.action,
            by: actor_name.unwrap_or(entry.actor_id),
            from: entry.ip,
            at: entry.timestamp.into(),
        }
    }
}
