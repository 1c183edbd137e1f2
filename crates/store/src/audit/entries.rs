//! Appends audit entries.

use async_trait::async_trait;
use audit::{AuditStore, Entry, StoredEntry};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult};

use super::entry_row::EntryRow;
use crate::{
    Tx,
    db::{Row, read},
    schema::audit_entries,
    webhooks::FanOut,
};

#[async_trait]
impl AuditStore for Tx {
    async fn append(&mut self, entries: &[Entry]) -> StoreResult<()> {
        if entries.iter().any(|entry| entry.tenant != self.tenant) {
            return Err(StoreError::Aborted("it recorded an audit entry of another tenant"));
        }
        for entry in entries {
            let stored = entry.stored(&self.entry_keys)?;
            self.db.later(Row::Entry(Box::new(EntryRow::new(&self.tenant, stored))))?;
            self.db.later(Row::FanOut(Box::new(FanOut::new(entry, &self.changed_emails))))?;
        }
        Ok(())
    }

    async fn latest(&mut self, limit: u32) -> StoreResult<Vec<StoredEntry>> {
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(self.tenant.as_str()))
            .order(audit_entries::id.desc())
            .limit(i64::from(limit));
        let rows: Vec<EntryRow> = read!(self, c => query.select(EntryRow::as_select()).load(c).await)?;
        Ok(rows.into_iter().map(StoredEntry::from).collect())
    }
}
