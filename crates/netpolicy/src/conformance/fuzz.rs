//! Whatever is read as a range has one way to be written, and holds what a reference says.

use std::net::IpAddr;

use crate::Cidr;

/// Reads bytes as a range.
///
/// # Panics
/// Where a range is not what it says.
pub fn cidr(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(range) = text.parse::<Cidr>() else { return };
    let written = range.to_string();
    assert_eq!(written.parse(), Ok(range), "{text} is written {written}");
    assert!(!text.contains([' ', '+', '%', '-']), "{text} is strict");
    assert!(range.contains(range.first()));
    assert_eq!(range.first(), range.first().to_canonical(), "{text} is of one kind");
    for address in near(range) {
        assert_eq!(range.contains(address), holds(range, address), "{range} and {address}");
    }
}

/// Addresses at the ends of a range and beside them.
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

/// Whether an address lies in a range, by comparing bits one after the other.
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
