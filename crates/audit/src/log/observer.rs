//! What a sealer reports.

use kernel::{StoreError, TenantId};

use crate::MacProblem;

/// Receives events of a [`Sealer`](super::Sealer) for metrics and logs.
pub trait SealObserver: Send + Sync {
    /// A batch was sealed.
    fn sealed(&self, _entries: usize) {}
    /// The log of a tenant could not be sealed or, with `None`, the logs could not be listed.
    fn failed(&self, _tenant: Option<&TenantId>, _error: &StoreError) {}
    /// A pass over a tenant's unsealed entries refused another number of them than the previous pass. `first` is one
    /// of them.
    fn refused(&self, _tenant: &TenantId, _entries: usize, _first: Option<&(String, MacProblem)>) {}
    /// The number of entries of all tenants that were refused in the last pass.
    fn unauthenticated(&self, _entries: usize) {}
    /// The age of the oldest unsealed entry in milliseconds.
    fn oldest_unsealed(&self, _age: i64) {}
    /// An entry has been unsealed for long: its age in milliseconds.
    fn waits_long(&self, _tenant: &TenantId, _entry: &str, _age: i64) {}
}
