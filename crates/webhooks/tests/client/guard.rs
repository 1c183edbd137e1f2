//! Compares the address guard with an independent definition.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use webhooks::client::AddressGuard;

/// The same rules as in the guard, written by octets.
fn expected_v4([a, b, c, _]: [u8; 4]) -> bool {
    let refused = a == 0
        || a == 10
        || (a == 100 && (64..=127).contains(&b))
        || a == 127
        || (a == 169 && b == 254)
        || (a == 172 && (16..=31).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 0 && c == 2)
        || (a == 192 && b == 88 && c == 99)
        || (a == 192 && b == 168)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 198 && b == 51 && c == 100)
        || (a == 203 && b == 0 && c == 113)
        || a >= 224;
    !refused
}

fn expected_v6(address: Ipv6Addr) -> bool {
    if let ([0, 0, 0, 0, 0, 0xffff, _, _], [.., a, b, c, d]) = (address.segments(), address.octets()) {
        return expected_v4([a, b, c, d]);
    }
    let [first, second, ..] = address.segments();
    let refused = !(0x2000..=0x3fff).contains(&first)
        || (first == 0x2001 && second <= 0x01ff)
        || (first == 0x2001 && second == 0x0db8)
        || first == 0x2002
        || (first == 0x3fff && second <= 0x0fff);
    !refused
}

fn admits(address: &str) -> bool {
    AddressGuard::default().admits(address.parse().unwrap())
}

/// Octets, with those at the edges of ranges more frequent.
fn octet() -> impl Strategy<Value = u8> {
    let edges = [
        0_u8, 1, 2, 10, 15, 16, 18, 19, 20, 31, 32, 51, 63, 64, 88, 99, 100, 113, 127, 128, 168, 169, 172,
        192, 198, 203, 223, 224, 239, 240, 254, 255,
    ];
    prop_oneof![any::<u8>(), prop::sample::select(edges.to_vec())]
}

fn segment() -> impl Strategy<Value = u16> {
    let edges = [
        0_u16, 1, 0x64, 0x1ff, 0x200, 0xdb7, 0xdb8, 0xdb9, 0xfff, 0x1000, 0x1fff, 0x2000, 0x2001, 0x2002,
        0x2003, 0x3ffe, 0x3fff, 0x4000, 0x7f00, 0xa9fe, 0xfc00, 0xfe80, 0xff02, 0xff9b, 0xffff,
    ];
    prop_oneof![1 => any::<u16>(), 3 => prop::sample::select(edges.to_vec())]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn every_address_of_ipv4(octets in [octet(), octet(), octet(), octet()]) {
        let address = Ipv4Addr::from(octets);
        let guard = AddressGuard::default();
        prop_assert_eq!(guard.admits(address.into()), expected_v4(octets));
        prop_assert_eq!(guard.admits(address.to_ipv6_mapped().into()), expected_v4(octets));
    }

    #[test]
    fn every_address_of_ipv6(segments in prop::array::uniform8(segment())) {
        let address = Ipv6Addr::from(segments);
        prop_assert_eq!(AddressGuard::default().admits(address.into()), expected_v6(address));
    }

    #[test]
    fn an_exception_admits_its_range_and_nothing_else(octets in [octet(), octet(), octet(), octet()]) {
        let guard = AddressGuard::new(vec!["10.0.0.0/8".parse().unwrap()], false);
        let expected = expected_v4(octets) || octets[0] == 10;
        prop_assert_eq!(guard.admits(Ipv4Addr::from(octets).into()), expected);
    }
}

#[test]
fn global_addresses_are_allowed() {
    for address in [
        "1.1.1.1",
        "8.8.8.8",
        "93.184.215.14",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.31.196.1",
        "192.167.255.255",
        "198.17.255.255",
        "198.20.0.0",
        "223.255.255.255",
        "::ffff:1.1.1.1",
        "2606:4700:4700::1111",
        "2001:200::1",
        "2a00:1450:4001::1",
        "2003::1",
        "3fff:1000::1",
    ] {
        assert!(admits(address), "{address}");
    }
}

#[test]
fn addresses_that_are_not_global_are_blocked() {
    for address in [
        "0.0.0.0",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.192",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::8.8.8.8",
        "::ffff:127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::8.8.8.8",
        "64:ff9b::169.254.169.254",
        "64:ff9b:1::10.0.0.1",
        "100::1",
        "2001::1",
        "2001:1ff:ffff::1",
        "2001:db8::1",
        "2002:a00:1::",
        "3fff::1",
        "3fff:fff:ffff::1",
        "5f00::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fec0::1",
        "ff02::1",
    ] {
        assert!(!admits(address), "{address}");
    }
}

#[test]
fn exceptions_apply_to_ipv4_mapped_addresses_too() {
    let guard = AddressGuard::new(vec!["127.0.0.0/8".parse().unwrap(), "fd00::/8".parse().unwrap()], false);
    let admitted = |text: &str| guard.admits(text.parse::<IpAddr>().unwrap());
    assert!(admitted("127.0.0.1") && admitted("::ffff:127.0.0.1") && admitted("fd00::1"));
    assert!(!admitted("::1") && !admitted("::127.0.0.1") && !admitted("10.0.0.1") && !admitted("fc00::1"));
}

#[test]
fn nat64_exception_allows_only_global_embedded_addresses() {
    let guard = AddressGuard::new(vec!["64:ff9b::/96".parse().unwrap()], false);
    assert!(guard.admits("64:ff9b::8.8.8.8".parse().unwrap()));
    assert!(!guard.admits("64:ff9b::169.254.169.254".parse().unwrap()));
    assert!(!guard.admits("64:ff9b::127.0.0.1".parse().unwrap()));
}
