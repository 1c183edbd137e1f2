//! Compares decisions with a linear scan of the rules.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netpolicy::{
    Cidr, Decision, Enforcement, Mode, Policy, Reason, Settings, Surface, conformance::fuzz::holds,
};
use proptest::prelude::*;

/// Returns the smallest range that contains the address.
fn slowly(ranges: &[Cidr], address: IpAddr) -> Option<Cidr> {
    ranges.iter().filter(|range| holds(**range, address)).max_by_key(|range| range.prefix()).copied()
}

/// Generates addresses with few distinct bits, so that ranges overlap.
fn address() -> impl Strategy<Value = IpAddr> {
    let few = prop::sample::select(vec![0_u8, 1, 127, 128, 254, 255]);
    (prop::collection::vec(few, 16), any::<bool>(), any::<bool>()).prop_map(|(octets, v4, mapped)| {
        let four = Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]);
        let sixteen: [u8; 16] = octets.try_into().unwrap();
        match (v4, mapped) {
            (true, false) => four.into(),
            (true, true) => four.to_ipv6_mapped().into(),
            (false, _) => Ipv6Addr::from(sixteen).into(),
        }
    })
}

fn range() -> impl Strategy<Value = Cidr> {
    (address(), 0..=128_u8).prop_map(|(address, length)| {
        let address = address.to_canonical();
        let text = format!("{address}/{}", if address.is_ipv4() { length % 33 } else { length });
        match text.parse::<Cidr>() {
            Ok(range) | Err(netpolicy::ParseCidrError::HostBits(range)) => range,
            Err(error) => panic!("{text}: {error}"),
        }
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    any::<[bool; 5]>().prop_map(|[on, sign_in, dashboard, api, admin_bypass]| Settings {
        mode: if on { Mode::Allowlist } else { Mode::Off },
        enforcement: Enforcement { sign_in, dashboard, api },
        admin_bypass,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn it_is_that_of_a_look_at_every_rule(
        ranges in prop::collection::vec(range(), 0..40),
        addresses in prop::collection::vec(address(), 1..20),
        settings in settings(),
        as_admin in any::<bool>(),
    ) {
        let mut ranges = ranges;
        ranges.sort();
        ranges.dedup();
        let policy = Policy::of_ranges(settings, ranges.clone());
        // The ends of a range reveal off-by-one errors.
        let ends = ranges.iter().flat_map(|range| [range.first(), range.last()]).collect::<Vec<_>>();
        for address in addresses.into_iter().chain(ends) {
            for surface in Surface::ALL {
                let verdict = policy.decide(Some(address), surface, as_admin);
                let found = slowly(&ranges, address);
                let expected = if settings.mode == Mode::Off {
                    Reason::ModeOff
                } else if !settings.enforcement.of(surface) {
                    Reason::SurfaceNotEnforced
                } else if found.is_some() {
                    Reason::RuleMatch
                } else if as_admin && settings.admin_bypass {
                    Reason::AdminBypass
                } else {
                    Reason::NoRuleMatch
                };
                prop_assert_eq!(verdict.reason, expected);
                prop_assert_eq!(verdict.decision == Decision::Deny, expected == Reason::NoRuleMatch);
                let rule = verdict.rule.map(|place| ranges[place]);
                prop_assert_eq!(rule, if expected == Reason::RuleMatch { found } else { None });
            }
        }
    }
}

#[test]
fn range_inside_another_may_end_with_it() {
    let ranges =
        ["10.0.0.0/8", "10.255.255.255/32", "10.0.0.0/32"].map(|range| range.parse::<Cidr>().unwrap());
    let settings = Settings { mode: Mode::Allowlist, ..Settings::default() };
    let policy = Policy::of_ranges(settings, ranges);
    let matched = |address: &str| {
        let address = address.parse().unwrap();
        policy.decide(Some(address), Surface::Api, false).rule
    };
    assert_eq!(["10.0.0.0", "10.0.0.1", "10.255.255.254"].map(matched), [Some(2), Some(0), Some(0)]);
    assert_eq!(["10.255.255.255", "11.0.0.0", "9.255.255.255"].map(matched), [Some(1), None, None]);
}

#[test]
fn surfaces_and_changes_of_settings_have_names() {
    assert_eq!(Surface::ALL.map(Surface::as_str), ["SIGN_IN", "DASHBOARD", "API"]);
    let off = Settings::default();
    let enforcement = Enforcement { api: false, ..off.enforcement };
    let on = Settings { mode: Mode::Allowlist, enforcement, ..off };
    assert_eq!(Surface::ALL.map(|surface| off.looks_at(surface)), [false; 3]);
    assert_eq!(Surface::ALL.map(|surface| on.looks_at(surface)), [true, true, false]);
    assert_eq!(on.changed_from(&off), ["mode", "enforcement"]);
    assert_eq!(Settings { admin_bypass: false, ..on }.changed_from(&on), ["adminBypass"]);
    assert!(on.changed_from(&on).is_empty());
}

#[test]
fn unknown_address_is_blocked_on_protected_surfaces() {
    let everything = ["0.0.0.0/0", "::/0"].map(|range| range.parse::<Cidr>().unwrap());
    let on = Settings { mode: Mode::Allowlist, ..Settings::default() };
    let policy = Policy::of_ranges(on, everything);
    for as_admin in [false, true] {
        let verdict = policy.decide(None, Surface::Dashboard, as_admin);
        assert_eq!((verdict.decision, verdict.reason), (Decision::Deny, Reason::NoRuleMatch));
    }
    let enforcement = Enforcement { dashboard: false, ..on.enforcement };
    let verdict =
        Policy::of_ranges(Settings { enforcement, ..on }, everything).decide(None, Surface::Dashboard, false);
    assert_eq!((verdict.decision, verdict.reason), (Decision::Allow, Reason::SurfaceNotEnforced));
    let verdict = Policy::of_ranges(Settings::default(), everything).decide(None, Surface::Dashboard, false);
    assert_eq!((verdict.decision, verdict.reason), (Decision::Allow, Reason::ModeOff));
}
