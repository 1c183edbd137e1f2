//! The decision in all its cases, and the text forms of its types.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use attestation::{Aaguid, Candidate, Group, Mode, Policy, Reason, catalog, find};
use proptest::prelude::*;

fn some_aaguid() -> impl Strategy<Value = Aaguid> {
    prop_oneof![
        (0..catalog().len()).prop_map(|place| catalog().get(place).unwrap().aaguid),
        any::<[u8; 16]>().prop_map(Aaguid),
        Just(Aaguid([0; 16])),
    ]
}

fn some_policy() -> impl Strategy<Value = Policy> {
    let groups = prop::sample::subsequence(Group::ALL.to_vec(), 0..=4);
    let aaguids = prop::collection::vec(some_aaguid(), 0..4);
    (groups, aaguids, any::<[bool; 4]>()).prop_map(|(groups, aaguids, [on, synced, platform, verified])| {
        Policy {
            mode: if on { Mode::Allowlist } else { Mode::Off },
            allowed_groups: groups,
            allowed_aaguids: aaguids,
            allow_synced_passkeys: synced,
            allow_platform_authenticators: platform,
            require_verified_attestation: verified,
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn it_is_as_it_is_written_down(
        policy in some_policy(),
        known in some_aaguid(),
        listed in any::<bool>(),
        is_platform in any::<Option<bool>>(),
        backup_eligible in any::<Option<bool>>(),
        proved in any::<bool>(),
    ) {
        let aaguid = policy.allowed_aaguids.first().copied().filter(|_| listed).unwrap_or(known);
        let verdict = policy.decide(&Candidate { aaguid, is_platform, backup_eligible, proved });
        prop_assert_eq!(verdict.authenticator, find(aaguid));
        prop_assert_eq!(verdict.reason(), verdict.reasons.first().copied());
        let mut in_order = verdict.reasons.clone();
        in_order.sort();
        in_order.dedup();
        prop_assert_eq!(&in_order, &verdict.reasons);
        if policy.mode == Mode::Off {
            prop_assert!(verdict.is_allowed());
            return Ok(());
        }
        let group = find(aaguid).map(|known| known.group);
        let by_group = group.is_some() && policy.allowed_groups.iter().any(|allowed| Some(*allowed) == group);
        let by_make = policy.allowed_aaguids.contains(&aaguid);
        let unproved = policy.require_verified_attestation && !proved;
        prop_assert_eq!(
            verdict.reasons.contains(&Reason::AllowlistNoMatch),
            unproved || !(by_group || by_make)
        );
        let synced = backup_eligible == Some(true) || (backup_eligible.is_none() && group == Some(Group::Synced));
        prop_assert_eq!(
            verdict.reasons.contains(&Reason::SyncedPasskeyDenied),
            synced && !policy.allow_synced_passkeys
        );
        let platform = is_platform == Some(true) || (is_platform.is_none() && group == Some(Group::Platform));
        prop_assert_eq!(
            verdict.reasons.contains(&Reason::PlatformAuthenticatorDenied),
            platform && !policy.allow_platform_authenticators
        );
    }

    #[test]
    fn identifiers_are_written_in_one_way_and_read_strictly(bytes in any::<[u8; 16]>(), text in "[0-9a-f-]{30,40}") {
        let aaguid = Aaguid(bytes);
        let written = aaguid.to_string();
        prop_assert_eq!(written.parse::<Aaguid>(), Ok(aaguid));
        prop_assert_eq!(written.to_uppercase().parse::<Aaguid>(), Ok(aaguid));
        prop_assert_eq!(serde_json::to_value(aaguid).unwrap(), serde_json::Value::from(written));
        if let Ok(read) = text.parse::<Aaguid>() {
            prop_assert_eq!(read.to_string(), text);
        }
    }
}

#[test]
fn malformed_aaguids_are_refused() {
    for text in [
        "",
        "73bb0cd4e50249b89c6fb59445bf720b",
        "{73bb0cd4-e502-49b8-9c6f-b59445bf720b}",
        "urn:uuid:73bb0cd4-e502-49b8-9c6f-b59445bf720b",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720b0",
        "73bb0cd4-e502-49b8-9c6f-b59445bf720g",
        "73bb0cd4e-502-49b8-9c6f-b59445bf720b",
        " 73bb0cd4-e502-49b8-9c6f-b59445bf720b",
        "+3bb0cd4-e502-49b8-9c6f-b59445bf720b",
    ] {
        assert!(text.parse::<Aaguid>().is_err(), "{text}");
    }
}

#[test]
fn policy_with_missing_or_unknown_members_is_refused() {
    let whole = serde_json::json!({
        "mode": "ALLOWLIST",
        "allowedGroups": ["FIPS_HARDWARE"],
        "allowedAaguids": ["73bb0cd4-e502-49b8-9c6f-b59445bf720b"],
        "allowSyncedPasskeys": false,
        "allowPlatformAuthenticators": false,
        "requireVerifiedAttestation": true,
    });
    let policy: Policy = serde_json::from_value(whole.clone()).unwrap();
    assert_eq!(serde_json::to_value(&policy).unwrap(), whole);
    for name in whole.as_object().unwrap().keys() {
        let mut less = whole.clone();
        less.as_object_mut().unwrap().remove(name);
        assert!(serde_json::from_value::<Policy>(less).is_err(), "without {name}");
    }
    let mut more = whole;
    more["groups"] = serde_json::json!([]);
    assert!(serde_json::from_value::<Policy>(more).is_err());
}

#[test]
fn reasons_have_one_name_and_an_advice_each() {
    let mut advice: Vec<_> = Reason::ALL.map(Reason::advice).into();
    for (reason, advice) in Reason::ALL.into_iter().zip(&advice) {
        assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        assert!(advice.starts_with("this tenant does not allow"), "{advice}");
    }
    advice.dedup();
    assert_eq!(advice.len(), Reason::ALL.len());
}
