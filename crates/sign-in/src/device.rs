//! The device and location of a sign-in.

use std::net::IpAddr;

use credentials::attempts;
use sessions::device_label;

/// The device and location of a sign-in, as the user sees them in the list of sessions.
#[derive(Debug, Clone)]
pub struct Device {
    /// Browser and operating system, such as "Chrome on macOS".
    pub label: String,
    /// "City, Country", if known.
    pub location: Option<String>,
    /// The key that detects sign-ins from new locations; `None` if the client's address is unknown.
    pub origin: Option<String>,
}

impl Device {
    /// Describes the device from the header `User-Agent` and the client's address.
    pub fn new(user_agent: &str, location: Option<String>, ip: Option<IpAddr>) -> Self {
        Self { label: device_label(user_agent), location, origin: ip.map(|ip| attempts::origin(Some(ip))) }
    }
}
