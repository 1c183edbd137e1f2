//! The policy on which authenticators may be enrolled.

use async_trait::async_trait;
use attestation::{AttestationPolicyStore, Policy};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use kernel::{StoreError, StoreResult};

use crate::{
    Tx,
    db::{change, lock},
    json::{JsonText, json_text, read_json},
    prepared::Prepared,
    schema::tenants,
};

/// Reads the stored policy, or the default if the tenant has not set one.
fn policy_of(stored: Option<JsonText>) -> StoreResult<Policy> {
    stored.map_or_else(|| Ok(Policy::default()), |text| read_json("tenants.attestation_policy", &text))
}

#[async_trait]
impl AttestationPolicyStore for Tx {
    async fn attestation_policy(&mut self) -> StoreResult<Policy> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::attestation_policy);
        let stored: Option<Option<JsonText>> = lock!(self, for_share, first, query)?;
        policy_of(stored.flatten())
    }

    async fn attestation_policy_to_change(&mut self) -> StoreResult<Policy> {
        let query = tenants::table.find(self.tenant.as_str()).select(tenants::attestation_policy);
        let stored: Option<Option<JsonText>> = lock!(self, for_update, first, query)?;
        policy_of(stored.flatten())
    }

    async fn set_attestation_policy(&mut self, policy: &Policy) -> StoreResult<()> {
        let text = json_text("tenants.attestation_policy", policy)?;
        let row = tenants::table.find(self.tenant.as_str());
        let query = Prepared(diesel::update(row).set(tenants::attestation_policy.eq(text)));
        if change!(self, c => query.execute(c).await)? != 1 {
            return Err(StoreError::Aborted("the tenant of the policy does not exist"));
        }
        Ok(())
    }
}
