//! Descriptions of devices and networks for the list of sessions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use woothee::parser::Parser;

/// Maximum number of characters of a user agent that are parsed.
const USER_AGENT_MAX: usize = 512;

/// Returns a short label such as `Chrome on macOS`, or `Unknown device` for an unknown user agent.
pub fn device_label(user_agent: &str) -> String {
    let end = user_agent.char_indices().nth(USER_AGENT_MAX).map_or(user_agent.len(), |(end, _)| end);
    let Some(read) = user_agent.get(..end).and_then(|text| Parser::new().parse(text)) else {
        return "Unknown device".into();
    };
    let system = match read.os {
        "Mac OSX" => "macOS",
        "iPhone" => "iPhone",
        "iPad" => "iPad",
        "ChromeOS" => "ChromeOS",
        other if other.starts_with("Windows") => "Windows",
        "UNKNOWN" => "",
        other => other,
    };
    match (read.name, system) {
        ("UNKNOWN", "") => "Unknown device".into(),
        ("UNKNOWN", system) => format!("Unknown browser on {system}"),
        (browser, "") => browser.to_owned(),
        (browser, system) => format!("{browser} on {system}"),
    }
}

/// Returns the network of an address, coarse enough to display: the /24 for IPv4, the /48 for IPv6.
pub fn ip_prefix(address: IpAddr) -> String {
    match address {
        IpAddr::V4(v4) => {
            let [a, b, c, _] = v4.octets();
            format!("{}/24", Ipv4Addr::new(a, b, c, 0))
        }
        IpAddr::V6(v6) => {
            let [a, b, c, ..] = v6.segments();
            format!("{}/48", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_user_agents_have_readable_labels() {
        let of = [
            (
                "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
                "Chrome on macOS",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Windows",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1",
                "Safari on iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            (
                "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36",
                "Chrome on Linux",
            ),
            ("", "Unknown device"),
            ("\u{1f980}\u{1f980}", "Unknown device"),
        ];
        for (user_agent, label) in of {
            assert_eq!(device_label(user_agent), label, "{user_agent}");
        }
        assert_eq!(device_label(&"é".repeat(100_000)), "Unknown device");
    }

    #[test]
    fn prefixes_hide_the_host() {
        for (address, prefix) in
            [("203.0.113.77", "203.0.113.0/24"), ("2001:db8:1:2::3", "2001:db8:1::/48"), ("::1", "::/48")]
        {
            assert_eq!(ip_prefix(address.parse().unwrap()), prefix);
        }
    }
}
