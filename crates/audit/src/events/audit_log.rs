//! Events of the audit log itself.

use super::define::{BY_CLI, BY_USER, TENANT, USER, events};

const ORIGIN: &str = "gatehouse/audit/ten_01jz1111111111111111111111";
const ROOT: &str = "1nl8UVmKxLmMd+zR5ZtBSFcyxbmB3PZMQsMtGTVv1uI=";

events! {
    /// An export of the audit log started.
    AuditLogExported = "ACCOUNT_AUDIT_LOG_EXPORTED" (TENANT, BY_USER) {
        /// `csv`, `ndjson` or `ocsf`.
        format: &'static str = "csv",
        /// Names of the query parameters that filtered the entries.
        filters: Vec<String> = vec!["action".into(), "from".into()],
    }
    /// An export of the audit log ended. `outcome` says whether it is complete.
    AuditLogExportFinished = "ACCOUNT_AUDIT_LOG_EXPORT_FINISHED" (TENANT, BY_USER) {
        /// Number of entries sent.
        rows: u64 = 1204,
        /// `COMPLETED`, `ABANDONED` by the client, `TIMED_OUT`, or `FAILED`.
        outcome: &'static str = "COMPLETED",
    }
    /// The operator changed the retention of the audit log.
    AuditRetentionChanged = "ACCOUNT_AUDIT_RETENTION_CHANGED" (TENANT, BY_CLI) {
        /// New retention in days; `null`: forever.
        days: Option<u32> = Some(400),
    }
    /// Audit entries past their retention were purged. Their hashes remain.
    AuditEntriesDropped = "ACCOUNT_AUDIT_ENTRIES_DROPPED" (TENANT, BY_CLI) {
        /// First index that was purged.
        from_sequence: u64 = 0,
        /// First index that remains.
        before_sequence: u64 = 25_600,
    }
    /// A user's IP addresses were erased from the audit log. Proofs stay valid.
    AuditAddressesErased = "ACCOUNT_AUDIT_ADDRESSES_ERASED" (USER, BY_CLI) {
        /// Number of entries whose address was erased.
        entries: u64 = 1204,
    }
    /// A signed checkpoint of the audit log, at most hourly. Delivered to webhooks only; not an audit entry.
    AuditCheckpointPublished = "ACCOUNT_AUDIT_CHECKPOINT_PUBLISHED" (TENANT, ("sealer", "SYSTEM")) {
        /// Number of entries in the log.
        size: u64 = 1204,
        /// Root hash in base64.
        root: String = ROOT.into(),
        /// The checkpoint as a signed note (C2SP).
        note: String = format!("{ORIGIN}\n1204\n{ROOT}\n\n— {ORIGIN} …\n"),
    }
}
