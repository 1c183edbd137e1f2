//! Changes to a policy.

use attestation::{Aaguid, Error, Group, MAX_MODELS, Mode, Policy, set};

#[tokio::test]
async fn change_is_stored_sorted_and_lists_changed_settings() {
    let mut kept = Policy::default();
    let wanted = Policy {
        mode: Mode::Allowlist,
        allowed_groups: vec![Group::Synced, Group::FipsHardware, Group::Synced],
        allowed_aaguids: vec![Aaguid([2; 16]), Aaguid([1; 16]), Aaguid([2; 16])],
        require_verified_attestation: true,
        ..Policy::default()
    };
    let changed = set(&mut kept, wanted.clone()).await.unwrap();
    assert_eq!(changed.settings, ["mode", "allowedGroups", "allowedAaguids", "requireVerifiedAttestation"]);
    assert_eq!(kept, changed.policy);
    assert_eq!(kept.allowed_groups, [Group::FipsHardware, Group::Synced]);
    assert_eq!(kept.allowed_aaguids, [Aaguid([1; 16]), Aaguid([2; 16])]);
    // The order does not matter.
    assert!(set(&mut kept, wanted).await.unwrap().settings.is_empty());
    let other = Policy { allow_synced_passkeys: true, allow_platform_authenticators: true, ..kept.clone() };
    let changed = set(&mut kept, other).await.unwrap();
    assert_eq!(changed.settings, ["allowSyncedPasskeys", "allowPlatformAuthenticators"]);
}

#[tokio::test]
async fn too_many_models_are_refused() {
    let policy_with = |count: usize| {
        let make = |number: usize| {
            let mut bytes = [0; 16];
            bytes[8..].copy_from_slice(&number.to_be_bytes());
            Aaguid(bytes)
        };
        Policy { allowed_aaguids: (0..count).map(make).collect(), ..Policy::default() }
    };
    let mut kept = Policy::default();
    assert!(set(&mut kept, policy_with(MAX_MODELS)).await.is_ok());
    assert!(matches!(set(&mut kept, policy_with(MAX_MODELS + 1)).await, Err(Error::TooMany)));
    assert_eq!(kept, policy_with(MAX_MODELS), "a refused change leaves the policy as it was");
}
