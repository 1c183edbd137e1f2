//! The ledger's entries.

use async_trait::async_trait;
use audit::{AuditStore, Entry, EntryMac, StoredEntry};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, TenantId, Timestamp};

use crate::{
    Tx, db::Row, db::read, entry_time::EntryTime, json::JsonText, schema::audit_entries, webhooks::FanOut,
};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = audit_entries, treat_none_as_default_value = false)]
pub(crate) struct EntryRow {
    tenant_id: String,
    id: String,
    created_at: EntryTime,
    actor_type: String,
    actor_id: String,
    action: String,
    resource_type: String,
    resource_id: String,
    ip: Option<String>,
    metadata: JsonText,
    salt: Option<Vec<u8>>,
    leaf: Vec<u8>,
    ip_commitment: Option<Vec<u8>>,
    mac_key: Option<String>,
    mac: Option<Vec<u8>>,
}

/// The statement that keeps an entry, for a connection of either database.
macro_rules! insert_entry {
    ($row:expr, $conn:expr) => {
        diesel_async::RunQueryDsl::execute(
            diesel::insert_into($crate::schema::audit_entries::table).values($row),
            $conn,
        )
        .await
    };
}
pub(crate) use insert_entry;

impl EntryRow {
    fn new(tenant: &TenantId, entry: StoredEntry) -> Self {
        let (mac_key, mac) = entry.mac.map(|mac| (mac.key, mac.tag)).unzip();
        Self {
            tenant_id: tenant.to_string(),
            id: entry.id,
            created_at: EntryTime(entry.timestamp.naive()),
            actor_type: entry.actor_type,
            actor_id: entry.actor_id,
            action: entry.action,
            resource_type: entry.resource_type,
            resource_id: entry.resource_id,
            ip: entry.ip,
            metadata: JsonText(entry.metadata),
            salt: entry.salt,
            leaf: entry.leaf.to_vec(),
            ip_commitment: entry.ip_commitment,
            mac_key,
            mac,
        }
    }
}

/// The MAC in two columns. Half of one is a wrong one, not a missing one.
pub(crate) fn entry_mac(key: Option<String>, tag: Option<Vec<u8>>) -> Option<EntryMac> {
    (key.is_some() || tag.is_some())
        .then(|| EntryMac { key: key.unwrap_or_default(), tag: tag.unwrap_or_default() })
}

#[async_trait]
impl AuditStore for Tx {
    async fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        if entries.iter().any(|entry| entry.tenant != self.tenant) {
            return Err(StoreError::Aborted("an entry of another tenant"));
        }
        for entry in entries {
            let stored = entry.stored(&self.entry_keys)?;
            self.db.later(Row::Entry(Box::new(EntryRow::new(&self.tenant, stored))))?;
            self.db.later(Row::FanOut(FanOut::from(entry)))?;
        }
        Ok(())
    }

    async fn latest(&mut self, limit: u32) -> Result<Vec<StoredEntry>, StoreError> {
        let query = audit_entries::table
            .filter(audit_entries::tenant_id.eq(self.tenant.as_str()))
            .order(audit_entries::id.desc())
            .limit(i64::from(limit));
        let rows: Vec<EntryRow> = read!(self, c => query.select(EntryRow::as_select()).load(c).await)?;
        Ok(rows.into_iter().map(StoredEntry::from).collect())
    }
}

impl From<EntryRow> for StoredEntry {
    fn from(row: EntryRow) -> Self {
        Self {
            id: row.id,
            timestamp: Timestamp::from_naive(row.created_at.0),
            actor_type: row.actor_type,
            actor_id: row.actor_id,
            action: row.action,
            resource_type: row.resource_type,
            resource_id: row.resource_id,
            ip: row.ip,
            metadata: row.metadata.0,
            // One that was shortened behind our back is another one.
            leaf: row.leaf.try_into().unwrap_or_default(),
            salt: row.salt,
            ip_commitment: row.ip_commitment,
            mac: entry_mac(row.mac_key, row.mac),
        }
    }
}
