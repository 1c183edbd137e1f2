//! Changes to a policy.

use crate::{error::Error, policy::Policy, store::AttestationPolicyStore};

/// Maximum number of models that a policy names.
pub const MAX_MODELS: usize = 1_000;

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPolicy {
    /// The stored policy, with groups and models sorted and without duplicates.
    pub policy: Policy,
    /// The names of the changed settings. If empty, nothing was written.
    pub settings: Vec<&'static str>,
}

/// Stores a policy if it differs from the current one.
pub async fn set(store: &mut dyn AttestationPolicyStore, policy: Policy) -> Result<ChangedPolicy, Error> {
    let policy = policy.in_order();
    if policy.allowed_aaguids.len() > MAX_MODELS {
        return Err(Error::TooMany);
    }
    let before = store.attestation_policy_to_change().await?;
    let settings = policy.changed_from(&before);
    if !settings.is_empty() {
        store.set_attestation_policy(&policy).await?;
    }
    Ok(ChangedPolicy { policy, settings })
}
