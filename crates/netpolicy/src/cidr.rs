//! CIDR ranges with a strict parser and a canonical form.

use std::{fmt, net::IpAddr, str::FromStr};

use cidr::{IpCidr, IpInet};
use serde::{Serialize, Serializer};

/// Maximum number of characters of a range.
const LONGEST: usize = "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128".len();

/// A range of IPv4 or IPv6 addresses. Equal ranges have the same text. IPv4-mapped ranges (within `::ffff:0:0/96`)
/// are IPv4 ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(IpCidr);

/// The reason why a text is not a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCidrError {
    /// The syntax is wrong.
    #[error("write an address range such as 203.0.113.0/24 or 2001:db8::/32, or a single address")]
    Malformed,
    /// The address has host bits set. Contains the range it lies in.
    #[error("the host bits of the range are not zero; write {0}")]
    HostBits(Cidr),
}

impl Cidr {
    /// Returns the first address.
    pub fn first(&self) -> IpAddr {
        self.0.first_address()
    }

    /// Returns the last address.
    pub fn last(&self) -> IpAddr {
        self.0.last_address()
    }

    /// Returns the length of the prefix in bits.
    pub fn prefix(&self) -> u8 {
        self.0.network_length()
    }

    /// Whether the range contains an address. An IPv4-mapped address counts as IPv4 and is in no IPv6 range.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first(), self.prefix())
    }
}

impl Serialize for Cidr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Cidr {
    type Err = ParseCidrError;

    /// Parses an address, optionally followed by `/` and a prefix length. Refuses spaces, signs, zone ids and leading
    /// zeros.
    fn from_str(text: &str) -> Result<Self, ParseCidrError> {
        if text.len() > LONGEST {
            return Err(ParseCidrError::Malformed);
        }
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| ParseCidrError::Malformed)?;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Some(bits), |text| number(text).filter(|length| *length <= bits));
        let mut length = length.ok_or(ParseCidrError::Malformed)?;
        let mut canonical = address;
        if let (IpAddr::V6(_), IpAddr::V4(mapped), 96..) = (address, address.to_canonical(), length) {
            (canonical, length) = (mapped.into(), length - 96);
        }
        let inside = IpInet::new(canonical, length).map_err(|_| ParseCidrError::Malformed)?;
        let range = Self(inside.network());
        if range.first() == canonical { Ok(range) } else { Err(ParseCidrError::HostBits(range)) }
    }
}

fn number(text: &str) -> Option<u8> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}
