//! Changing a policy.

use crate::{error::Error, policy::Policy, store::AttestationPolicyStore};

/// Makes that one policy names at most.
pub const MAX_MODELS: usize = 1_000;

/// What a change has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPolicy {
    /// The policy as it is now, each group and make named once and in order.
    pub policy: Policy,
    /// Names of the settings that are others than before; none: nothing was written.
    pub settings: Vec<&'static str>,
}

/// Sets a policy.
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
