//! The fuzz targets. Every parsed range has a canonical form and contains the addresses that a reference says.
//! Whatever a client sends through a proxy, only the proxy's own entry counts.

use std::net::IpAddr;

use crate::{Cidr, Proxies, ProxyHeader};

/// Parses bytes as a range and compares it with the reference.
///
/// # Panics
/// If the range differs from the reference.
pub fn cidr(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(range) = text.parse::<Cidr>() else { return };
    let written = range.to_string();
    assert_eq!(written.parse(), Ok(range), "{text} is displayed as {written}");
    assert!(!text.contains([' ', '+', '%', '-']), "{text} contains a character that is not allowed");
    assert!(range.contains(range.first()));
    assert_eq!(range.first(), range.first().to_canonical(), "{text} mixes address families");
    for address in near(range) {
        assert_eq!(range.contains(address), holds(range, address), "{range} and {address}");
    }
}

/// Returns the addresses at both ends of a range and next to them.
fn near(range: Cidr) -> Vec<IpAddr> {
    let ends = [range.first(), range.last()];
    let beside = |end: IpAddr| match end {
        IpAddr::V4(end) => {
            let bits = end.to_bits();
            [bits.wrapping_sub(1), bits, bits.wrapping_add(1)].map(|bits| IpAddr::V4(bits.into()))
        }
        IpAddr::V6(end) => {
            let bits = end.to_bits();
            [bits.wrapping_sub(1), bits, bits.wrapping_add(1)].map(|bits| IpAddr::V6(bits.into()))
        }
    };
    ends.into_iter().flat_map(beside).collect()
}

/// Whether a range contains an address, by comparing them bit by bit.
pub fn holds(range: Cidr, address: IpAddr) -> bool {
    let bits = |address: IpAddr| match address.to_canonical() {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let (first, asked) = (bits(range.first()), bits(address));
    let bit = |octets: &[u8], at: usize| octets.get(at / 8).map(|octet| octet >> (7 - at % 8) & 1);
    first.len() == asked.len()
        && (0..usize::from(range.prefix())).all(|at| bit(&first, at) == bit(&asked, at))
}

/// Parses bytes as header lines in both formats.
///
/// # Panics
/// If an untrusted peer is believed, a trusted proxy is mistaken for the client, or the proxy's own entry is not
/// decisive.
pub fn proxies(data: &[u8]) {
    let proxy = IpAddr::V4([10, 0, 0, 1].into());
    let client = IpAddr::V4([203, 0, 113, 7].into());
    let trusted: Vec<crate::Cidr> =
        ["10.0.0.0/8", "2001:db8::/32"].iter().filter_map(|range| range.parse().ok()).collect();
    assert_eq!(trusted.len(), 2);
    let is_text = data.iter().all(|byte| (b' '..=b'~').contains(byte) || matches!(byte, b'\t' | b'\n'));
    for (header, added) in
        [(ProxyHeader::XForwardedFor, "203.0.113.7"), (ProxyHeader::Forwarded, "for=203.0.113.7")]
    {
        let proxies = Proxies { trusted: trusted.clone(), header };
        let lines = || data.split(|byte| *byte == b'\n');
        assert_eq!(
            proxies.client(Some(client), lines()),
            Some(client),
            "headers of an untrusted peer are ignored"
        );
        if let Some(found) = proxies.client(Some(proxy), lines()) {
            assert!(trusted.iter().all(|range| !range.contains(found)), "{found} is a trusted proxy");
            assert_eq!(found, found.to_canonical());
        }
        let behind = proxies.client(Some(proxy), lines().chain([added.as_bytes()]));
        assert_eq!(behind, Some(client).filter(|_| is_text), "the address that the proxy appended counts");
    }
}
