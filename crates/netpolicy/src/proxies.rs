//! Where a request comes from.
//!
//! The peer, unless it is a trusted proxy; then the right-most hop that is not one, in the one header
//! that our proxies write. Everything to the left of it is the client's own word and counts for nothing.

use std::{net::IpAddr, str::FromStr};

use cidr::IpCidr;

/// The header that trusted proxies write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyHeader {
    /// `X-Forwarded-For`
    XForwardedFor,
    /// `Forwarded` (RFC 7239)
    Forwarded,
}

impl ProxyHeader {
    /// Name of the HTTP header.
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

/// Who is trusted, and where they write.
#[derive(Debug, Clone)]
pub struct Proxies {
    /// Addresses whose word counts.
    pub trusted: Vec<IpCidr>,
    /// The header they write.
    pub header: ProxyHeader,
}

impl Proxies {
    /// The client's address, by the peer's and the lines of the header, of which there may be several; `None` where a
    /// trusted proxy does not tell: the header is missing or cannot be read, or all hops are proxies.
    pub fn client<'a>(
        &self,
        peer: Option<IpAddr>,
        lines: impl IntoIterator<Item = &'a [u8]>,
    ) -> Option<IpAddr> {
        let peer = peer?.to_canonical();
        if !self.trusts(peer) {
            return Some(peer);
        }
        // As in any header: printable ASCII and tabs.
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
