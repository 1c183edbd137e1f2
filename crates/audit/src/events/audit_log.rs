//! Events of the audit log itself.

use serde::Serialize;
use utoipa::ToSchema;

use super::define::{BY_CLI, BY_USER, TENANT, USER, event};

/// An export of the audit log started.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditLogExported {
    /// `csv` or `ndjson`.
    pub format: &'static str,
    /// Names of the query parameters that filtered the entries.
    pub filters: Vec<String>,
}

event! {
    AuditLogExported = "ACCOUNT_AUDIT_LOG_EXPORTED", about TENANT, by BY_USER;
    "An export of the audit log started.";
    Self { format: "csv", filters: vec!["action".into(), "from".into()] }
}

/// An export of the audit log ended. `outcome` says whether it is complete.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditLogExportFinished {
    /// Number of entries sent.
    pub rows: u64,
    /// `COMPLETED`, `ABANDONED` by the client, `TIMED_OUT`, or `FAILED`.
    pub outcome: &'static str,
}

event! {
    AuditLogExportFinished = "ACCOUNT_AUDIT_LOG_EXPORT_FINISHED", about TENANT, by BY_USER;
    "An export of the audit log ended. `outcome` says whether it is complete.";
    Self { rows: 1204, outcome: "COMPLETED" }
}

/// The operator changed the retention of the audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditRetentionChanged {
    /// New retention in days; `null`: forever.
    pub days: Option<u32>,
}

event! {
    AuditRetentionChanged = "ACCOUNT_AUDIT_RETENTION_CHANGED", about TENANT, by BY_CLI;
    "The operator changed the retention of the audit log.";
    Self { days: Some(400) }
}

/// Audit entries past their retention were purged. Their hashes remain.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntriesDropped {
    /// First index that was purged.
    pub from_sequence: u64,
    /// First index that remains.
    pub before_sequence: u64,
}

event! {
    AuditEntriesDropped = "ACCOUNT_AUDIT_ENTRIES_DROPPED", about TENANT, by BY_CLI;
    "Audit entries past their retention were purged. Their hashes remain.";
    Self { from_sequence: 0, before_sequence: 25_600 }
}

/// A user's IP addresses were erased from the audit log. Proofs stay valid.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditAddressesErased {
    /// Number of entries whose address was erased.
    pub entries: u64,
}

event! {
    AuditAddressesErased = "ACCOUNT_AUDIT_ADDRESSES_ERASED", about USER, by BY_CLI;
    "A user's IP addresses were erased from the audit log. Proofs stay valid.";
    Self { entries: 1204 }
}

/// A signed checkpoint of the audit log, at most hourly. Delivered to webhooks only; not an audit entry.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditCheckpointPublished {
    /// Number of entries in the log.
    pub size: u64,
    /// Root hash in base64.
    pub root: String,
    /// The checkpoint as a signed note (C2SP).
    pub note: String,
}

event! {
    AuditCheckpointPublished = "ACCOUNT_AUDIT_CHECKPOINT_PUBLISHED", about TENANT, by ("sealer", "SYSTEM");
    "A signed checkpoint of the audit log, at most hourly. Delivered to webhooks only; not an audit entry.";
    {
        let root = "1nl8UVmKxLmMd+zR5ZtBSFcyxbmB3PZMQsMtGTVv1uI=".to_owned();
        let origin = "gatehouse/audit/ten_01jz1111111111111111111111";
        Self { size: 1204, note: format!("{origin}\n1204\n{root}\n\n— {origin} …\n"), root }
    }
}
