//! Verifies unsealed entries, which are protected only by their MAC.

use std::collections::HashMap;

use kernel::{StoreError, StoreResult};

use super::{MOST, Verifier};
use crate::store::VerifyStore;
use crate::{MacProblem, StoredEntry, log::finding::Finding};

impl<S: VerifyStore + ?Sized> Verifier<'_, S> {
    /// Verifies all unsealed entries.
    pub(super) async fn waiting(&mut self) -> StoreResult<()> {
        let mut after = String::new();
        loop {
            let ids = self.store.waiting(&after, MOST).await;
            let at = if after.is_empty() { String::new() } else { format!("after {after}") };
            let ids = self.readable(ids, "audit_unsealed", &at)?.unwrap_or_default();
            let Some(last) = ids.last() else { return Ok(()) };
            after.clone_from(last);
            self.result.waiting += ids.len() as u64;
            self.check_waiting(ids).await?;
        }
    }

    async fn check_waiting(&mut self, ids: Vec<String>) -> StoreResult<()> {
        let read = match self.store.entries_of(&ids).await {
            Err(StoreError::Corrupt(_)) => None,
            read => Some(read?),
        };
        let mut entries: HashMap<String, StoredEntry> =
            read.iter().flatten().map(|entry| (entry.id.clone(), entry.clone())).collect();
        for id in ids {
            if read.is_none() {
                let one = self.store.entries_of(std::slice::from_ref(&id)).await;
                let Some(one) = self.readable(one, "audit_entries", &id)? else { continue };
                entries.extend(one.into_iter().map(|entry| (entry.id.clone(), entry)));
            }
            match entries.remove(&id) {
                None => self.result.found(Finding::DeletedUnsealed { id }),
                Some(entry) => self.check_unsealed(id, &entry),
            }
        }
        Ok(())
    }

    fn check_unsealed(&mut self, id: String, entry: &StoredEntry) {
        let leaf = entry.content_leaf(self.tenant).filter(|leaf| *leaf == entry.leaf);
        let verified = match (leaf, self.keys.entries) {
            (None, _) => Err(MacProblem::Wrong),
            (Some(_), None) => Ok(()),
            (Some(leaf), Some(keys)) => keys.verify(self.tenant, &id, &leaf, entry.mac.as_ref()),
        };
        match verified {
            Ok(()) => {
                self.result.macs += u64::from(self.keys.entries.is_some());
                self.erasures.check_entry(entry);
            }
            Err(problem) => self.result.found(Finding::Unauthenticated { sequence: None, id, problem }),
        }
    }
}
