//! Shared state of the audit log routes on this instance.

use std::time::Duration;

use audit::ExportSlots;
use kernel::Timestamp;

use crate::config::Settings;

/// Shared state of the audit log routes on this instance.
pub(crate) struct AuditLogs {
    pub(crate) exports: ExportSlots,
    /// Maximum duration of an export.
    pub(crate) export_limit: Duration,
    /// Until this time, entries without a MAC are sealed.
    pub(crate) accept_missing_macs_until: Option<Timestamp>,
}

impl AuditLogs {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            exports: ExportSlots::default(),
            export_limit: settings.export_limit,
            accept_missing_macs_until: settings.audit_accept_missing_macs_until,
        }
    }
}
