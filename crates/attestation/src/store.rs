//! The storage trait of the policy.

use async_trait::async_trait;
use kernel::StoreError;

use crate::Policy;

/// Storage of one tenant's policy, within one unit of work.
#[async_trait]
pub trait AttestationPolicyStore: Send {
    /// Returns the tenant's policy, or the default where none was set.
    async fn attestation_policy(&mut self) -> Result<Policy, StoreError>;
    /// Returns the tenant's policy and locks it until the end of the unit of work.
    async fn attestation_policy_to_change(&mut self) -> Result<Policy, StoreError>;
    /// Replaces the tenant's policy.
    async fn set_attestation_policy(&mut self, policy: &Policy) -> Result<(), StoreError>;
}
