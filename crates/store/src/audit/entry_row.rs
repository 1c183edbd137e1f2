//! The row of an audit entry.

use audit::{EntryMac, StoredEntry};
use diesel::prelude::*;
use kernel::{TenantId, Timestamp};

use super::entry_time::EntryTime;
use crate::{json::JsonText, schema::audit_entries};

#[derive(Insertable, Queryable, Selectable)]
#[diesel(table_name = audit_entries, treat_none_as_default_value = false)]
pub(crate) struct EntryRow {
    pub(crate) tenant_id: String,
    pub(crate) id: String,
    pub(crate) created_at: EntryTime,
    pub(crate) actor_type: String,
    pub(crate) actor_id: String,
    pub(crate) action: String,
    pub(crate) resource_type: String,
    pub(crate) resource_id: String,
    pub(crate) ip: Option<String>,
    pub(crate) metadata: JsonText,
    pub(crate) salt: Option<Vec<u8>>,
    pub(crate) leaf: Vec<u8>,
    pub(crate) ip_commitment: Option<Vec<u8>>,
    pub(crate) mac_key: Option<String>,
    pub(crate) mac: Option<Vec<u8>>,
}

/// Returns the insert statement of an entry, for a connection to either database.
macro_rules! insert_entry {
    ($row:expr, $conn:expr) => {
        diesel_async::RunQueryDsl::execute(
            $crate::prepared::Kept(diesel::insert_into($crate::schema::audit_entries::table).values($row)),
            $conn,
        )
        .await
    };
}
pub(crate) use insert_entry;

impl EntryRow {
    pub(crate) fn new(tenant: &TenantId, entry: StoredEntry) -> Self {
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

/// Builds the MAC from its two columns. A half MAC is invalid, not missing.
pub(crate) fn entry_mac(key: Option<String>, tag: Option<Vec<u8>>) -> Option<EntryMac> {
    (key.is_some() || tag.is_some())
        .then(|| EntryMac { key: key.unwrap_or_default(), tag: tag.unwrap_or_default() })
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
            // A leaf of another length was altered in the database, so it must not match.
            leaf: row.leaf.try_into().unwrap_or_default(),
            salt: row.salt,
            ip_commitment: row.ip_commitment,
            mac: entry_mac(row.mac_key, row.mac),
        }
    }
}
