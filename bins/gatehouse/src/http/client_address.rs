//! Where a request comes from.
//!
//! The peer, unless it is a trusted proxy; then the right-most hop that is not one, in the one header
//! that our proxies write. Everything to the left of it is the client's own word and counts for nothing.

use std::net::IpAddr;

use actix_web::http::header::HeaderMap;
use cidr::IpCidr;

use crate::config::ProxyHeader;

/// Who is trusted, and where they write.
#[derive(Debug, Clone)]
pub(super) struct Proxies {
    /// Addresses whose word counts.
    pub trusted: Vec<IpCidr>,
    /// The header they write.
    pub header: ProxyHeader,
}

impl Proxies {
    /// The client's address; `None` where a trusted proxy does not tell: the header is missing or cannot
    /// be read, or all hops are proxies.
    pub(super) fn client(&self, peer: Option<IpAddr>, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer?.to_canonical();
        if !self.trusts(peer) {
            return Some(peer);
        }
        let name = match self.header {
            ProxyHeader::XForwardedFor => "x-forwarded-for",
            ProxyHeader::Forwarded => "forwarded",
        };
        let lines: Result<Vec<_>, _> = headers.get_all(name).map(|line| line.to_str()).collect();
        let list = lines.ok()?.join(",");
        let hops = match self.header {
            ProxyHeader::XForwardedFor => list.split(',').map(address).collect(),
            ProxyHeader::Forwarded => forwarded(&list),
        };
        for hop in hops.into_iter().rev() {
            let hop = hop?;
            if !self.trusts(hop) {
                return Some(hop);
            }
        }
        None
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|range| range.contains(&address))
    }
}

/// `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim();
    let bare = match text.strip_prefix('[') {
        Some(rest) => {
            let (inner, port) = rest.split_once(']')?;
            let port = port.strip_prefix(':').map_or(port.is_empty(), is_port);
            if !port || !inner.contains(':') {
                return None;
            }
            inner
        }
        None => match text.split_once(':') {
            Some((host, port)) if !port.contains(':') => is_port(port).then_some(host)?,
            _ => text,
        },
    };
    bare.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

/// The `for` of each element of a `Forwarded` header (RFC 7239 §4), `None` where the element is not well
/// formed or names no address.
fn forwarded(list: &str) -> Vec<Option<IpAddr>> {
    elements(list).into_iter().map(named).collect()
}

/// The elements of a list. Read from the right: what our proxy added there is whole, whatever quote the
/// client left open before it.
fn elements(list: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut quoted, mut end) = (false, list.len());
    for (at, byte) in list.bytes().enumerate().rev() {
        match byte {
            b'"' if !escaped(list, at) => quoted = !quoted,
            b',' if !quoted => {
                found.extend(list.get(at + 1..end));
                end = at;
            }
            _ => {}
        }
    }
    found.extend(list.get(..end));
    found.reverse();
    found
}

/// Whether the byte here is taken literally because of an odd number of backslashes before it.
fn escaped(text: &str, at: usize) -> bool {
    text.bytes().take(at).rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// The address that one element names, if all of the element is well formed.
fn named(element: &str) -> Option<IpAddr> {
    let mut found = None;
    let mut rest = element.trim();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let (value, after) = value(after)?;
        if !name.bytes().all(is_token) || name.is_empty() {
            return None;
        }
        if name.eq_ignore_ascii_case("for") {
            if found.is_some() {
                return None;
            }
            found = Some(address(value)?);
        }
        rest = if after.is_empty() { after } else { after.strip_prefix(';')? };
    }
    found
}

/// A token or a whole quoted string at the beginning, and what follows it.
fn value(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('"') {
        None => {
            let end = text.bytes().position(|byte| !is_token(byte)).unwrap_or(text.len());
            (end > 0).then(|| text.split_at(end))
        }
        Some(inner) => {
            let end = inner.bytes().enumerate().position(|(at, byte)| byte == b'"' && !escaped(inner, at))?;
            Some((inner.get(..end)?, inner.get(end + 1..)?))
        }
    }
}

/// RFC 9110 §5.6.2
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};
    use proptest::prelude::*;

    fn client(header: ProxyHeader, peer: &str, lines: &[(&str, &str)]) -> String {
        let trusted = vec!["10.0.0.0/8".parse().unwrap(), "2001:db8:f::/48".parse().unwrap()];
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let found = Proxies { trusted, header }.client(Some(peer.parse().unwrap()), &headers);
        found.map_or("unknown".into(), |ip| ip.to_string())
    }

    #[test]
    fn x_forwarded_for() {
        let xff =
            |peer: &str, value: &str| client(ProxyHeader::XForwardedFor, peer, &[("x-forwarded-for", value)]);
        assert_eq!(xff("192.0.2.9", "203.0.113.1"), "192.0.2.9", "a stranger's word counts for nothing");
        assert_eq!(xff("::ffff:192.0.2.9", "203.0.113.1"), "192.0.2.9", "IPv4-mapped is IPv4");
        assert_eq!(xff("10.0.0.1", "203.0.113.1"), "203.0.113.1");
        assert_eq!(xff("::ffff:10.0.0.1", "203.0.113.1"), "203.0.113.1");
        assert_eq!(xff("10.0.0.1", "198.51.100.7, 203.0.113.1 , 10.9.9.9"), "203.0.113.1", "right to left");
        assert_eq!(xff("10.0.0.1", "nonsense, 203.0.113.1"), "203.0.113.1", "what is left of it is not read");
        assert_eq!(xff("10.0.0.1", "203.0.113.1, nonsense"), "unknown");
        assert_eq!(xff("10.0.0.1", "203.0.113.1,"), "unknown");
        assert_eq!(xff("10.0.0.1", "10.0.0.2, 10.0.0.3"), "unknown", "all hops are proxies");
        assert_eq!(xff("10.0.0.1", ""), "unknown");
        assert_eq!(xff("10.0.0.1", "203.0.113.1:5555"), "203.0.113.1");
        assert_eq!(xff("10.0.0.1", "[2001:db8::1]:5555"), "2001:db8::1");
        assert_eq!(xff("2001:db8:f::1", "2001:db8::1"), "2001:db8::1");
        assert_eq!(xff("10.0.0.1", "::ffff:203.0.113.1"), "203.0.113.1");
        for odd in
            ["203.0.113.1:x", "203.0.113.1:", "[203.0.113.1]", "[::1", "::1]", "203.0.113.01", "fe80::1%eth0"]
        {
            assert_eq!(xff("10.0.0.1", odd), "unknown", "{odd}");
        }
        assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &[]), "unknown");
        let two = [("x-forwarded-for", "198.51.100.7"), ("x-forwarded-for", "203.0.113.1")];
        assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &two), "203.0.113.1", "lines are one list");
        let other = [("forwarded", "for=198.51.100.7")];
        assert_eq!(
            client(ProxyHeader::XForwardedFor, "10.0.0.1", &other),
            "unknown",
            "the other header is ignored"
        );
    }

    #[test]
    fn forwarded_header() {
        let forwarded = |value: &str| client(ProxyHeader::Forwarded, "10.0.0.1", &[("forwarded", value)]);
        assert_eq!(forwarded("for=203.0.113.1;proto=https"), "203.0.113.1");
        assert_eq!(forwarded("For=\"[2001:db8::1]:4711\""), "2001:db8::1");
        assert_eq!(forwarded("for=198.51.100.7, for=203.0.113.1;by=10.0.0.2, for=10.0.0.9"), "203.0.113.1");
        assert_eq!(forwarded("for=203.0.113.1;host=\"a,b;for=6.6.6.6\""), "203.0.113.1", "quotes hold");
        for odd in [
            "for=unknown",
            "for=_hidden",
            "proto=https",
            "for",
            "for=\"203.0.113.1",
            "for=1.1.1.1;for=2.2.2.2",
            "",
        ] {
            assert_eq!(forwarded(odd), "unknown", "{odd}");
        }
    }

    proptest! {
        #[test]
        fn what_the_proxy_adds_is_what_counts(sent in "[ -~]{0,60}", quoted in any::<bool>()) {
            let added = if quoted { "for=\"203.0.113.7:4711\"" } else { "for=203.0.113.7" };
            let list = format!("{sent}, {added}");
            prop_assert_eq!(client(ProxyHeader::Forwarded, "10.0.0.1", &[("forwarded", &list)]), "203.0.113.7");
            let list = format!("{sent}, 203.0.113.7");
            prop_assert_eq!(client(ProxyHeader::XForwardedFor, "10.0.0.1", &[("x-forwarded-for", &list)]), "203.0.113.7");
        }

        #[test]
        fn never_panics_and_never_believes_a_stranger(value in "[ -~]{0,80}", forwarded in any::<bool>()) {
            let header = if forwarded { ProxyHeader::Forwarded } else { ProxyHeader::XForwardedFor };
            let name = if forwarded { "forwarded" } else { "x-forwarded-for" };
            let _any = client(header, "10.0.0.1", &[(name, &value)]);
            prop_assert_eq!(client(header, "192.0.2.9", &[(name, &value)]), "192.0.2.9");
        }
    }
}
