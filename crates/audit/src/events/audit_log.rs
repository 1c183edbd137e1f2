//! The ledger itself is looked at.

use serde::Serialize;
use utoipa::ToSchema;

use crate::EventData;

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditLogExported {
    /// `csv` or `ndjson`.
    pub format: &'static str,
    /// Names of the parameters by which entries were chosen.
    pub filters: Vec<String>,
}

impl EventData for AuditLogExported {
    const CODE: &'static str = "ACCOUNT_AUDIT_LOG_EXPORTED";
    const DESCRIPTION: &'static str = "An export of the audit log began.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { format: "csv", filters: vec!["action".into(), "from".into()] }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditLogExportFinished {
    /// Entries that were handed over to the connection.
    pub rows: u64,
    /// `COMPLETED`; `ABANDONED` by the client; `TIMED_OUT` after the longest time an export may take; or `FAILED`.
    pub outcome: &'static str,
}

impl EventData for AuditLogExportFinished {
    const CODE: &'static str = "ACCOUNT_AUDIT_LOG_EXPORT_FINISHED";
    const DESCRIPTION: &'static str = "An export of the audit log ended, whole or not.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("usr_01jz2222222222222222222222", "USER");

    fn example() -> Self {
        Self { rows: 1204, outcome: "COMPLETED" }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditRetentionChanged {
    /// Days that entries are kept from now on; `null`: for ever.
    pub days: Option<u32>,
}

impl EventData for AuditRetentionChanged {
    const CODE: &'static str = "ACCOUNT_AUDIT_RETENTION_CHANGED";
    const DESCRIPTION: &'static str = "The operator set how long entries of the audit log are kept.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("cli", "SYSTEM");

    fn example() -> Self {
        Self { days: Some(400) }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntriesDropped {
    /// The first place of the log that is dropped.
    pub from_sequence: u64,
    /// The first one that is kept.
    pub before_sequence: u64,
}

impl EventData for AuditEntriesDropped {
    const CODE: &'static str = "ACCOUNT_AUDIT_ENTRIES_DROPPED";
    const DESCRIPTION: &'static str =
        "Entries of the audit log were dropped, as their time to be kept was over; their hashes stay.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("cli", "SYSTEM");

    fn example() -> Self {
        Self { from_sequence: 0, before_sequence: 25_600 }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditAddressesErased {
    /// Entries from which the address was erased.
    pub entries: u64,
}

impl EventData for AuditAddressesErased {
    const CODE: &'static str = "ACCOUNT_AUDIT_ADDRESSES_ERASED";
    const DESCRIPTION: &'static str =
        "The addresses from which somebody acted were erased from the audit log; its proofs stay valid.";
    const RESOURCE_TYPE: &'static str = "user";
    const EXAMPLE_ID: &'static str = "usr_01jz2222222222222222222222";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("cli", "SYSTEM");

    fn example() -> Self {
        Self { entries: 1204 }
    }
}

/// See [`EventData::DESCRIPTION`].
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditCheckpointPublished {
    /// Entries in the log.
    pub size: u64,
    /// The root of the tree over them, in base64.
    pub root: String,
    /// The checkpoint as a signed note (C2SP).
    pub note: String,
}

impl EventData for AuditCheckpointPublished {
    const CODE: &'static str = "ACCOUNT_AUDIT_CHECKPOINT_PUBLISHED";
    const DESCRIPTION: &'static str = "A signed checkpoint of the audit log, at most hourly, for whoever keeps it elsewhere; it is no entry of the log.";
    const RESOURCE_TYPE: &'static str = "tenant";
    const EXAMPLE_ID: &'static str = "ten_01jz1111111111111111111111";
    const EXAMPLE_ACTOR: (&'static str, &'static str) = ("sealer", "SYSTEM");

    fn example() -> Self {
        let root = "1nl8UVmKxLmMd+zR5ZtBSFcyxbmB3PZMQsMtGTVv1uI=".to_owned();
        let origin = "gatehouse/audit/ten_01jz1111111111111111111111";
        Self { size: 1204, note: format!("{origin}\n1204\n{root}\n\n— {origin} …\n"), root }
    }
}
