//! Checks that no more addresses are erased than the log declares.

use std::collections::BTreeMap;

use crate::{EventData, StoredEntry, events::audit_log::AuditAddressesErased, log::finding::Finding};

/// Numbers of erased addresses and of declared erasures, by actor.
#[derive(Default)]
pub(super) struct Erasures {
    erased: BTreeMap<String, u64>,
    declared: BTreeMap<String, u64>,
}

impl Erasures {
    /// Counts a verified entry.
    pub(super) fn check_entry(&mut self, entry: &StoredEntry) {
        if entry.ip_commitment.is_some() {
            *self.erased.entry(entry.actor_id.clone()).or_default() += 1;
        }
        if entry.action == AuditAddressesErased::CODE {
            let data: Option<serde_json::Value> = serde_json::from_str(&entry.metadata).ok();
            let entries = data.and_then(|data| data.get("entries")?.as_u64()).unwrap_or_default();
            *self.declared.entry(entry.resource_id.clone()).or_default() += entries;
        }
    }

    /// Returns a finding for each actor with more erased addresses than declared.
    pub(super) fn findings(&self) -> impl Iterator<Item = Finding> {
        self.erased.iter().filter_map(|(actor, erased)| {
            let (erased, declared) = (*erased, self.declared.get(actor).copied().unwrap_or_default());
            (erased > declared).then(|| Finding::ErasedUndeclared { actor: actor.clone(), erased, declared })
        })
    }
}
