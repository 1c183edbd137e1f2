//! In-memory storage for tests and programs without a database.

use async_trait::async_trait;
use kernel::StoreResult;

use crate::{policy::Policy, store::AttestationPolicyStore};

/// A policy stores itself. A mutex around it serializes changes.
#[async_trait]
impl AttestationPolicyStore for Policy {
    async fn attestation_policy(&mut self) -> StoreResult<Policy> {
        Ok(self.clone())
    }

    async fn attestation_policy_to_change(&mut self) -> StoreResult<Policy> {
        Ok(self.clone())
    }

    async fn set_attestation_policy(&mut self, policy: &Policy) -> StoreResult<()> {
        self.clone_from(policy);
        Ok(())
    }
}
