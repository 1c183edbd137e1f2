//! What is kept of a policy.

use async_trait::async_trait;
use kernel::StoreError;

use crate::Policy;

/// Where one tenant's policy is kept. One unit of work goes through one of these.
#[async_trait]
pub trait AttestationPolicyStore: Send {
    /// What the tenant has set; the default where it never has.
    async fn attestation_policy(&mut self) -> Result<Policy, StoreError>;
    /// The same, held until the end of the unit of work: whoever else changes it comes before or after.
    async fn attestation_policy_to_change(&mut self) -> Result<Policy, StoreError>;
    /// Keeps what the tenant has set.
    async fn set_attestation_policy(&mut self, policy: &Policy) -> Result<(), StoreError>;
}

/// A policy keeps itself, for tests and for services of one process. What holds it (a mutex) keeps changes apart.
#[async_trait]
impl AttestationPolicyStore for Policy {
    async fn attestation_policy(&mut self) -> Result<Policy, StoreError> {
        Ok(self.clone())
    }

    async fn attestation_policy_to_change(&mut self) -> Result<Policy, StoreError> {
        Ok(self.clone())
    }

    async fn set_attestation_policy(&mut self, policy: &Policy) -> Result<(), StoreError> {
        self.clone_from(policy);
        Ok(())
    }
}
