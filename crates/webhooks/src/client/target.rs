//! Validates and normalizes URLs.

use std::{fmt, net::IpAddr};

use http::Uri;
use rustls::pki_types::ServerName;
use url::{Host, Url};

use super::AddressGuard;

/// Maximum length of a URL in bytes, before and after normalization.
const LONGEST: usize = 2_048;

/// A normalized URL with a valid host. Its name is resolved, and its address checked, when a connection is
/// established.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    text: String,
    uri: Uri,
    literal: Option<IpAddr>,
}

/// The reason a URL is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// It is longer than 2,048 bytes.
    #[error("the URL is too long; use at most {LONGEST} bytes")]
    TooLong,
    /// It has characters that parsers treat differently, which attackers use to bypass checks of the host.
    #[error("the URL contains a space, a control character or a backslash; percent-encode it")]
    Character,
    /// It does not parse as a URL.
    #[error("this is not a URL ({0}); write it like https://example.com/path")]
    Malformed(url::ParseError),
    /// Its scheme is not supported.
    #[error("the URL has to begin with https://")]
    Scheme,
    /// It is not encrypted.
    #[error("http:// is not encrypted; the URL has to begin with https://")]
    Http,
    /// It has no host, or the host is not a valid server name.
    #[error("the URL has no valid host name")]
    Host,
    /// It contains credentials, which would be stored and displayed with it.
    #[error("the URL contains a user name or password; remove everything up to the @")]
    Credentials,
    /// It has a fragment, which is never sent.
    #[error("the URL has a fragment, which is never sent; remove the # and everything after it")]
    Fragment,
    /// It has port 0.
    #[error("port 0 is not valid; write another port or none")]
    Port,
}

impl Target {
    /// Returns the URL in normal form: host in lower case and ASCII, canonical addresses, no default port.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the URL as hyper's client takes it.
    pub(super) fn uri(&self) -> &Uri {
        &self.uri
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Shows only the host, because paths and queries may contain secrets that must not be logged.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Target").field(&self.uri.host().unwrap_or_default()).finish()
    }
}

impl AddressGuard {
    /// Parses a URL as browsers do, which normalizes all spellings of an address before it is checked. Rejects URLs
    /// that are invalid in any network.
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

    /// Returns whether the host is a name or an allowed address, for early feedback. The decisive check happens for
    /// each connection.
    pub fn check_literal(&self, target: &Target) -> bool {
        target.literal.is_none_or(|address| self.admits(address))
    }
}

/// Returns the name to verify certificates against. IPv6 hosts may be in brackets.
pub(super) fn server_name(host: &str) -> Option<ServerName<'static>> {
    let bare = literal(host).map(ServerName::from);
    bare.or_else(|| ServerName::try_from(host.strip_suffix('.').unwrap_or(host).to_owned()).ok())
}

/// Returns the address if the host is a literal address.
pub(super) fn literal(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    bare.parse().ok()
}

fn odd(character: char) -> bool {
    character.is_control() || character.is_whitespace()
}
