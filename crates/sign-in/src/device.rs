//! Where a sign-in comes from.

use std::net::IpAddr;

use credentials::attempts;
use sessions::device_label;

/// The device and place of a sign-in, as its user sees them in the list of sessions.
#[derive(Debug, Clone)]
pub struct Device {
    /// Such as "Chrome on macOS".
    pub label: String,
    /// "City, Country" where it is known.
    pub location: Option<String>,
    /// What new places are told apart by; `None` where the address is not known.
    pub origin: Option<String>,
}

impl Device {
    /// From the header `User-Agent` and the client's address.
    pub fn new(user_agent: &str, location: Option<String>, ip: Option<IpAddr>) -> Self {
        Self { label: device_label(user_agent), location, origin: ip.map(|ip| attempts::origin(Some(ip))) }
    }
}
