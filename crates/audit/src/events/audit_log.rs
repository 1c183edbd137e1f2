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
    /// `COMPLETED`; `ABANDONED` by the client; or `FAILED`.
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
