//! Decides which addresses may be connected to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cidr::IpCidr;

/// Non-global IPv4 ranges of the IANA IPv4 Special-Purpose Address Registry.
const SPECIAL_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::UNSPECIFIED, 8),           // "this network"; Linux connects to itself
    (Ipv4Addr::new(10, 0, 0, 0), 8),      // private
    (Ipv4Addr::new(100, 64, 0, 0), 10),   // behind a carrier's NAT; some clouds have their metadata here
    (Ipv4Addr::new(127, 0, 0, 0), 8),     // loopback
    (Ipv4Addr::new(169, 254, 0, 0), 16),  // link-local: metadata of most clouds
    (Ipv4Addr::new(172, 16, 0, 0), 12),   // private
    (Ipv4Addr::new(192, 0, 0, 0), 24),    // protocol assignments
    (Ipv4Addr::new(192, 0, 2, 0), 24),    // documentation
    (Ipv4Addr::new(192, 88, 99, 0), 24),  // relays of 6to4, deprecated
    (Ipv4Addr::new(192, 168, 0, 0), 16),  // private
    (Ipv4Addr::new(198, 18, 0, 0), 15),   // benchmarks
    (Ipv4Addr::new(198, 51, 100, 0), 24), // documentation
    (Ipv4Addr::new(203, 0, 113, 0), 24),  // documentation
    (Ipv4Addr::new(224, 0, 0, 0), 4),     // multicast
    (Ipv4Addr::new(240, 0, 0, 0), 4),     // reserved, and broadcast
];

/// The range of global unicast IPv6 addresses; everything else is blocked.
const GLOBAL_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Ranges within it that are not global, or that embed IPv4 addresses of unknown reachability.
const SPECIAL_V6: [(Ipv6Addr, u8); 4] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23), // Teredo, ORCHID, benchmarks
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32), // documentation
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16), // 6to4
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20), // documentation
];

/// The well-known prefix of NAT64 translators (RFC 6052).
const NAT64: (Ipv6Addr, u8) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// Allows globally reachable unicast addresses and the operator's exceptions.
#[derive(Debug, Clone, Default)]
pub struct AddressGuard {
    allow: Vec<IpCidr>,
    allow_http: bool,
}

impl AddressGuard {
    /// Creates a guard with the operator's exceptions: additional allowed ranges, and whether unencrypted `http` is
    /// allowed.
    pub fn new(allow: Vec<IpCidr>, allow_http: bool) -> Self {
        Self { allow, allow_http }
    }

    /// Returns whether this address may be connected to.
    ///
    /// An IPv4-mapped address is judged as its IPv4 address, because packets go there. An exception for `127.0.0.0/8`
    /// therefore also covers `::ffff:127.0.0.1`. A NAT64 address needs an exception for its prefix, and the embedded
    /// IPv4 address must be allowed too: using a translator to reach the Internet must not expose the cloud's
    /// metadata service.
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        if !is_global(address) && !self.allow.iter().any(|range| range.contains(&address)) {
            return false;
        }
        translated(address).is_none_or(|inside| self.admits(inside.into()))
    }

    /// Returns whether unencrypted `http` is allowed.
    pub(super) fn allows_http(&self) -> bool {
        self.allow_http
    }
}

fn is_global(canonical: IpAddr) -> bool {
    match canonical {
        IpAddr::V4(address) => !SPECIAL_V4.iter().any(|range| within_v4(address, *range)),
        IpAddr::V6(address) => {
            within_v6(address, GLOBAL_V6) && !SPECIAL_V6.iter().any(|range| within_v6(address, *range))
        }
    }
}

fn translated(canonical: IpAddr) -> Option<Ipv4Addr> {
    let IpAddr::V6(address) = canonical else { return None };
    let [.., a, b, c, d] = address.octets();
    within_v6(address, NAT64).then(|| Ipv4Addr::new(a, b, c, d))
}

fn within_v4(address: Ipv4Addr, (first, bits): (Ipv4Addr, u8)) -> bool {
    (address.to_bits() ^ first.to_bits()).leading_zeros() >= u32::from(bits)
}

fn within_v6(address: Ipv6Addr, (first, bits): (Ipv6Addr, u8)) -> bool {
    (address.to_bits() ^ first.to_bits()).leading_zeros() >= u32::from(bits)
}
