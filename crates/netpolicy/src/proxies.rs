//! Determines the client's address behind proxies.
//!
//! The client is the peer unless that is a trusted proxy. Then it is the right-most untrusted hop in the one header
//! that the proxies write. A client can forge everything to the left of it, so that is ignored.

use std::{net::IpAddr, str::FromStr};

use crate::Cidr;

/// The header that trusted proxies write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeader {
    /// `X-Forwarded-For`
    XForwardedFor,
    /// `Forwarded` (RFC 7239)
    Forwarded,
}

impl ProxyHeader {
    /// Returns the name of the HTTP header.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::XForwardedFor => "X-Forwarded-For",
            Self::Forwarded => "Forwarded",
        }
    }
}

impl FromStr for ProxyHeader {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        let known = [Self::XForwardedFor, Self::Forwarded];
        let found = known.into_iter().find(|header| header.as_str().eq_ignore_ascii_case(text));
        found.ok_or("write X-Forwarded-For or Forwarded")
    }
}

/// The trusted proxies and their header.
#[derive(Debug, Clone)]
pub struct Proxies {
    /// The addresses of trusted proxies.
    pub trusted: Vec<Cidr>,
    /// The header they write.
    pub header: ProxyHeader,
}

impl Proxies {
    /// Returns the client's address, given the peer's address and all lines of the header. `None` if the request
    /// comes from a trusted proxy, but the header is missing or malformed, or names only proxies.
    pub fn client<'a>(
        &self,
        peer: Option<IpAddr>,
        lines: impl IntoIterator<Item = &'a [u8]>,
    ) -> Option<IpAddr> {
        let peer = peer?.to_canonical();
        if !self.trusts(peer) {
            return Some(peer);
        }
        // Header values consist of printable ASCII and tabs.
        let text = |line: &'a [u8]| {
            let is_text = line.iter().all(|byte| *byte == b'\t' || (b' '..=b'~').contains(byte));
            std::str::from_utf8(line).ok().filter(|_| is_text)
        };
        let list = lines.into_iter().map(text).collect::<Option<Vec<_>>>()?.join(",");
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

    /// Whether this is the address of a trusted proxy.
    pub fn trusts(&self, address: IpAddr) -> bool {
        self.trusted.iter().any(|range| range.contains(address))
    }
}

/// Parses an address in one of the forms `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]` or
/// `[2001:db8::1]:443`.
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

/// Returns the `for` address of each element of a `Forwarded` header (RFC 7239 §4); `None` for an element that is
/// malformed or has no address.
fn forwarded(list: &str) -> Vec<Option<IpAddr>> {
    elements(list).into_iter().map(named).collect()
}

/// Splits a list into its elements, from the right. The proxy's own element is then intact, even if the client left a
/// quote open before it.
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

/// Whether an odd number of backslashes precedes this byte, so that it is escaped.
fn escaped(text: &str, at: usize) -> bool {
    text.bytes().take(at).rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// Returns the `for` address of an element if all of the element is well-formed.
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

/// Splits a leading token or quoted string from the text after it.
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

/// Whether the byte may occur in a token (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
