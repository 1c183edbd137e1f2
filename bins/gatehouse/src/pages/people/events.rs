//! The newest audit entries about a user.

use audit::{AuditQueryStore, Filter, ListedEntry, Span, events::catalog};
use kernel::{StoreResult, UserId};

use super::super::times::PageTime;

/// Maximum number of entries that the page of a user shows.
const SHOWN: usize = 10;

/// An audit entry, in words.
pub(super) struct EventRow {
    pub(super) what: String,
    pub(super) code: String,
    pub(super) by: String,
    pub(super) from: Option<String>,
    pub(super) at: PageTime,
}

/// Returns the newest entries that the user caused or that are about the user, newest first.
pub(super) async fn newest(store: &mut dyn AuditQueryStore, user: &UserId) -> StoreResult<Vec<EventRow>> {
    let id = user.to_string();
    let caused = Filter { actor: Some(id.clone()), ..Filter::default() };
    let about = Filter { resource_id: Some(id), ..Filter::default() };
    let all = Span { after: None, until: None };
    let mut entries = store.entries(&caused, all, SHOWN).await?;
    entries.extend(store.entries(&about, all, SHOWN).await?);
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.position()));
    entries.dedup_by(|one, other| one.entry.id == other.entry.id);
    entries.truncate(SHOWN);
    Ok(entries.into_iter().map(EventRow::from).collect())
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
