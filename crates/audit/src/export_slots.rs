//! Limits how many exports run at the same time in one process.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use kernel::TenantId;

/// Maximum concurrent exports per tenant.
const MAX_OF_TENANT: usize = 2;
/// Maximum concurrent exports per process; each uses a database connection of its own.
const MAX_OF_PROCESS: usize = 8;

/// The users with a running export in this process, by tenant.
#[derive(Debug, Clone, Default)]
pub struct ExportSlots(Arc<Mutex<BTreeMap<TenantId, Vec<String>>>>);

impl ExportSlots {
    /// Reserves a slot, unless a limit is reached or the user already has a running export.
    pub fn take(&self, tenant: &TenantId, user: &str) -> Option<ExportSlot> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.values().map(Vec::len).sum::<usize>() >= MAX_OF_PROCESS {
            return None;
        }
        let own = all.entry(tenant.clone()).or_default();
        if own.len() >= MAX_OF_TENANT || own.iter().any(|other| other == user) {
            return None;
        }
        own.push(user.to_owned());
        Some(ExportSlot { slots: self.clone(), tenant: tenant.clone(), user: user.to_owned() })
    }
}

/// A reserved export slot, released on drop.
#[derive(Debug)]
pub struct ExportSlot {
    slots: ExportSlots,
    tenant: TenantId,
    user: String,
}

impl Drop for ExportSlot {
    fn drop(&mut self) {
        let mut all = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(own) = all.get_mut(&self.tenant) else { return };
        if let Some(place) = own.iter().position(|user| *user == self.user) {
            own.swap_remove(place);
        }
        if own.is_empty() {
            all.remove(&self.tenant);
        }
    }
}

#[cfg(test)]
mod tests {
    use kernel::ManualEnv;

    use super::*;

    #[test]
    fn exports_are_limited_by_user_tenant_and_process() {
        let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
        let (slots, tenant) = (ExportSlots::default(), TenantId::new(&env));
        let first = slots.take(&tenant, "usr_1").unwrap();
        assert!(slots.take(&tenant, "usr_1").is_none(), "one per user");
        let _second = slots.take(&tenant, "usr_2").unwrap();
        assert!(slots.take(&tenant, "usr_3").is_none(), "two per tenant");
        drop(first);
        let _third = slots.take(&tenant, "usr_3").unwrap();
        let others: Vec<_> = (0..6).map(|_| slots.take(&TenantId::new(&env), "usr_4").unwrap()).collect();
        assert!(slots.take(&TenantId::new(&env), "usr_5").is_none(), "eight per process");
        drop(others);
        assert!(slots.take(&TenantId::new(&env), "usr_5").is_some());
    }
}
