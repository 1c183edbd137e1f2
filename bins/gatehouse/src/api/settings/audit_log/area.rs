//! Shared state of the audit log routes on this instance: running exports and their limits.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use kernel::{TenantId, Timestamp};

use crate::config::Settings;

/// Maximum concurrent exports per tenant.
const OF_TENANT: usize = 2;
/// Maximum concurrent exports per instance; each uses a database connection of its own.
const OF_ALL: usize = 8;
/// Shared state of the audit log routes on this instance.
pub(crate) struct AuditLogs {
    pub(crate) exports: Exports,
    /// Maximum duration of an export.
    pub(crate) export_limit: Duration,
    /// Until this time, entries without a MAC are sealed.
    pub(crate) accept_missing_macs_until: Option<Timestamp>,
}

impl AuditLogs {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            exports: Exports::default(),
            export_limit: settings.export_limit,
            accept_missing_macs_until: settings.audit_accept_missing_macs_until,
        }
    }
}

/// The users with a running export on this instance, by tenant.
#[derive(Clone, Default)]
pub(crate) struct Exports(Arc<Mutex<BTreeMap<TenantId, Vec<String>>>>);

impl Exports {
    /// Reserves a slot, unless a limit is reached or the user already has a running export.
    pub(crate) fn take(&self, tenant: &TenantId, user: &str) -> Option<ExportSlot> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.values().map(Vec::len).sum::<usize>() >= OF_ALL {
            return None;
        }
        let own = all.entry(tenant.clone()).or_default();
        if own.len() >= OF_TENANT || own.iter().any(|other| other == user) {
            return None;
        }
        own.push(user.to_owned());
        Some(ExportSlot { of: self.clone(), tenant: tenant.clone(), user: user.to_owned() })
    }
}

/// A reserved export slot. It is released on drop: when reading ends, not when the client disconnects.
pub(crate) struct ExportSlot {
    of: Exports,
    tenant: TenantId,
    user: String,
}

impl Drop for ExportSlot {
    fn drop(&mut self) {
        let mut all = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = all.get_mut(&self.tenant) else { return };
        if let Some(place) = own.iter().position(|user| *user == self.user) {
            own.swap_remove(place);
        }
        if own.is_empty() {
            all.remove(&self.tenant);
        }
    }
}
