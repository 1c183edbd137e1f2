//! A URL that may be asked for at all.

use std::{fmt, net::IpAddr};

use http::Uri;
use rustls::pki_types::ServerName;
use url::{Host, Url};

use super::AddressGuard;

/// Bytes of a URL at most, as it is given and as it is kept.
const LONGEST: usize = 2_048;

/// A URL in its one normal form, with a host that can be connected to. Where its name leads is found out, and judged,
/// when a connection is made.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    text: String,
    uri: Uri,
    literal: Option<IpAddr>,
}

/// Why a text is no URL that may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It has more bytes than anybody needs.
    #[error("the URL is too long; {LONGEST} bytes are enough")]
    TooLong,
    /// It has characters that programs read differently, which is how a check is made to see another host.
    #[error("the URL has a space, a control character or a backslash in it; write them percent-encoded")]
    Character,
    /// It is not written as a URL.
    #[error("this is not a URL ({0}); write it like https://example.com/path")]
    Malformed(url::ParseError),
    /// It speaks another protocol.
    #[error("the URL has to begin with https://")]
    Scheme,
    /// It would go over the network in the clear.
    #[error("http:// is not encrypted; the URL has to begin with https://")]
    Http,
    /// There is no host that could be connected to.
    #[error("the URL has no host, or one that is no name of a server")]
    Host,
    /// It has somebody's name or password, which would be kept and shown with it.
    #[error("the URL has a user or a password in it; leave out everything up to the @")]
    Credentials,
    /// It has a part that is never sent.
    #[error("the URL has a fragment, which is never sent; leave out the # and what follows")]
    Fragment,
    /// It has a port that nobody can listen on.
    #[error("nobody listens on port 0; write another, or none")]
    Port,
}

impl Target {
    /// The URL as it is asked for: host in lower case and ASCII, addresses in their one way of writing, no default port.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What it is for the client.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The host alone: paths and queries of such URLs have secrets in them, and this is what ends in a log by mistake.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.uri.host().unwrap_or_default()).finish()
    }
}

impl AddressGuard {
    /// Reads a URL as browsers do, so that every odd spelling of an address becomes that address before it is judged,
    /// and refuses what cannot be asked for whatever the network looks like.
    pub fn target(&self, text: &str) -> Result<Target, UrlError> {
        if text.len() > LONGEST {
            return Err(UrlError::TooLong);
        }
        if text.chars().any(|character| odd(character) || character == '\\') {
            return Err(UrlError::Character);
        }
        let url = Url::parse(text).map_err(|error| match error {
            url::ParseError::EmptyHost => UrlError::Host,
            other => UrlError::Malformed(other),
        })?;
        match url.scheme() {
            "https" => (),
            "http" if self.allows_http() => (),
            "http" => return Err(UrlError::Http),
            _ => return Err(UrlError::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::Credentials);
        }
        if url.fragment().is_some() {
            return Err(UrlError::Fragment);
        }
        if url.port() == Some(0) {
            return Err(UrlError::Port);
        }
        let literal = match url.host().ok_or(UrlError::Host)? {
            Host::Ipv4(address) => Some(IpAddr::from(address)),
            Host::Ipv6(address) => Some(IpAddr::from(address)),
            Host::Domain(name) => {
                server_name(name).ok_or(UrlError::Host)?;
                None
            }
        };
        let text = String::from(url);
        if text.len() > LONGEST {
            return Err(UrlError::TooLong);
        }
        let uri: Uri = text.parse().map_err(|_| UrlError::Character)?;
        Ok(Target { text, uri, literal })
    }

    /// Whether the host is a name, or an address that is admitted: what can be said while somebody still waits for an
    /// answer. It is no permission; that is given for each connection.
    pub fn check_literal(&self, target: &Target) -> bool {
        target.literal.is_none_or(|address| self.admits(address))
    }
}

/// What a certificate has to be for: a host as a URL has it, IPv6 in brackets.
pub(super) fn server_name(host: &str) -> Option<ServerName<'static>> {
    let bare = literal(host).map(ServerName::from);
    bare.or_else(|| ServerName::try_from(host.strip_suffix('.').unwrap_or(host).to_owned()).ok())
}

/// The address that a host is, when it is one and no name.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

fn odd(character: char) -> bool {
    character.is_control() || character.is_whitespace()
}
