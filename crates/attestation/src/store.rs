//! The storage trait of the policy.

use async_trait::async_trait;
use kernel::StoreResult;

use crate::Policy;

/// Storage of one tenant's policy, within one unit of work.
#[async_trait]
pub trait AttestationPolicyStore: Send {
    /// Returns the tenant's policy, or the default if none is stored.
    async fn attestation_policy(&mut self) -> StoreResult<Policy>;
    /// Returns the tenant's policy and locks it until the end of the unit of work.
    async fn attestation_policy_to_change(&mut self) -> StoreResult<Policy>;
    /// Replaces the tenant's policy.
    async fn set_attestation_policy(&mut self, policy: &Policy) -> StoreResult<()>;
}
