//! The ledger itself is looked at.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_CLI, BY_USER, TENANT, USER, event};

/// An export of the audit log began.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditLogExported {
    /// `csv` or `ndjson`.
    pub format: &'static str,
    /// Names of the parameters by which entries were chosen.
    pub filters: Vec<String>,
}

event! {
    AuditLogExported = "ACCOUNT_AUDIT_LOG_EXPORTED", about TENANT, by BY_USER;
    "An export of the audit log began.";
    Self { format: "csv", filters: vec!["action".into(), "from".into()] }
}

/// An export of the audit log ended, whole or not.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditLogExportFinished {
    /// Entries that were handed over to the connection.
    pub rows: u64,
    /// `COMPLETED`; `ABANDONED` by the client; `TIMED_OUT` after the longest time an export may take; or `FAILED`.
    pub outcome: &'static str,
}

event! {
    AuditLogExportFinished = "ACCOUNT_AUDIT_LOG_EXPORT_FINISHED", about TENANT, by BY_USER;
    "An export of the audit log ended, whole or not.";
    Self { rows: 1204, outcome: "COMPLETED" }
}

/// The operator set how long entries of the audit log are kept.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditRetentionChanged {
    /// Days that entries are kept from now on; `null`: for ever.
    pub days: Option<u32>,
}

event! {
    AuditRetentionChanged = "ACCOUNT_AUDIT_RETENTION_CHANGED", about TENANT, by BY_CLI;
    "The operator set how long entries of the audit log are kept.";
    Self { days: Some(400) }
}

/// Entries of the audit log were dropped, as their time to be kept was over; their hashes stay.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntriesDropped {
    /// The first place of the log that is dropped.
    pub from_sequence: u64,
    /// The first one that is kept.
    pub before_sequence: u64,
}

event! {
    AuditEntriesDropped = "ACCOUNT_AUDIT_ENTRIES_DROPPED", about TENANT, by BY_CLI;
    "Entries of the audit log were dropped, as their time to be kept was over; their hashes stay.";
    Self { from_sequence: 0, before_sequence: 25_600 }
}

/// The addresses from which somebody acted were erased from the audit log; its proofs stay valid.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditAddressesErased {
    /// Entries from which the address was erased.
    pub entries: u64,
}

event! {
    AuditAddressesErased = "ACCOUNT_AUDIT_ADDRESSES_ERASED", about USER, by BY_CLI;
    "The addresses from which somebody acted were erased from the audit log; its proofs stay valid.";
    Self { entries: 1204 }
}

/// A signed checkpoint of the audit log, at most hourly, for whoever keeps it elsewhere; it is no entry of
/// the log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditCheckpointPublished {
    /// Entries in the log.
    pub size: u64,
    /// The root of the tree over them, in base64.
    pub root: String,
    /// The checkpoint as a signed note (C2SP).
    pub note: String,
}

event! {
    AuditCheckpointPublished = "ACCOUNT_AUDIT_CHECKPOINT_PUBLISHED", about TENANT, by ("sealer", "SYSTEM");
    "A signed checkpoint of the audit log, at most hourly, for whoever keeps it elsewhere; it is no entry of the log.";
    {
        let root = "1nl8UVmKxLmMd+zR5ZtBSFcyxbmB3PZMQsMtGTVv1uI=".to_owned();
        let origin = "gatehouse/audit/ten_01jz1111111111111111111111";
        Self { size: 1204, note: format!("{origin}\n1204\n{root}\n\n— {origin} …\n"), root }
    }
}
