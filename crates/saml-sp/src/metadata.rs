//! Parses the metadata of identity providers.

use crate::error::MetadataError;
use kernel::Timestamp;
use roxmltree::Node;
use url::{Host, Url};

use crate::{
    binding::{Binding, LogoutService},
    certificate::Certificate,
    provider::{IdentityProvider, MAX_CERTIFICATES},
    refusal::Refusal,
    xml::{self, DS, MD, SAMLP, attribute, child, elements, is, named, only_text},
};

/// Maximum size of metadata, in bytes.
pub const MAX_METADATA: usize = 512 * 1024;
/// Maximum length of a URL or an entity id, in characters (SAML core §8.3.6 limits the latter to 1,024).
const MAX_NAME: usize = 1024;

/// The settings of an identity provider as read from its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdpMetadata {
    /// The entity id, the services, and all signing certificates.
    pub idp: IdentityProvider,
    /// Whether the identity provider wants signed requests.
    pub wants_signed_requests: bool,
    /// When the metadata expires.
    pub valid_until: Option<Timestamp>,
}

impl From<Refusal> for MetadataError {
    fn from(refusal: Refusal) -> Self {
        Self::Xml(refusal.detail)
    }
}

/// Checks a URL that browsers post a form to: https, or http on localhost.
pub(crate) fn sso_url(text: &str) -> Result<String, &'static str> {
    let url = Url::parse(text).map_err(|_| "is not a URL")?;
    let here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.is_loopback(),
        None => return Err("has no host"),
    };
    // Browsers resolve a URL without `://` as relative to our site.
    if !text.get(url.scheme().len()..).is_some_and(|rest| rest.starts_with("://")) {
        return Err("has no host");
    }
    let secure = url.scheme() == "https" || (url.scheme() == "http" && here);
    if !secure {
        return Err("does not begin with https://");
    }
    if !url.username().is_empty()
        || url.password().is_some()
        || url.fragment().is_some()
        || text.len() > MAX_NAME
    {
        return Err("has a user name, a password or a fragment, or is too long");
    }
    // Kept as given, because some identity providers compare it byte by byte. Characters that could end a header or
    // an attribute are rejected.
    if text.chars().any(|c| !c.is_ascii_graphic() || matches!(c, '"' | '\'' | '<' | '>' | ';' | ',' | '\\')) {
        return Err("has characters that have to be written as %XX");
    }
    Ok(text.to_owned())
}

/// Returns the entity id if it is valid.
pub(crate) fn entity_id(text: &str) -> Option<String> {
    let sound = !text.is_empty() && text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control);
    (sound && text.trim() == text).then(|| text.to_owned())
}

impl IdpMetadata {
    /// Parses an `EntityDescriptor`, or an `EntitiesDescriptor` with one identity provider. The metadata's own
    /// signature is not verified: the administrator or the URL that supplied it is trusted.
    pub fn read(text: &str, now: Timestamp) -> Result<Self, MetadataError> {
        if text.len() > MAX_METADATA {
            return Err(MetadataError::TooLarge);
        }
        let tree = xml::document(text.trim_start())?;
        let descriptors: Vec<_> = tree.descendants().filter(|node| is_provider(*node)).collect();
        let (descriptor, entity) = match descriptors.as_slice() {
            [one] => (*one, one.parent_element().ok_or(MetadataError::NoProvider)?),
            [] => return Err(MetadataError::NoProvider),
            _ => return Err(MetadataError::ManyProviders),
        };
        let valid_until = valid_until(descriptor)?;
        if let Some(end) = valid_until.filter(|end| *end < now) {
            return Err(MetadataError::Expired(end));
        }
        let entity_id = attribute(entity, "entityID").and_then(entity_id).ok_or(MetadataError::EntityId)?;
        // Browsers limit the length of URLs, so that the form is preferred.
        let (sso_binding, service) =
            service(descriptor, "SingleSignOnService", Binding::ALL).ok_or(MetadataError::NoSsoService)?;
        let location = attribute(service, "Location").unwrap_or_default();
        let idp = IdentityProvider {
            entity_id,
            sso_url: sso_url(location).map_err(MetadataError::Address)?,
            sso_binding,
            logout: logout_service(descriptor),
            certificates: certificates(descriptor)?,
        };
        let wants = attribute(descriptor, "WantAuthnRequestsSigned");
        Ok(Self { idp, wants_signed_requests: matches!(wants, Some("true" | "1")), valid_until })
    }
}

/// Returns the first service with this name and one of the bindings, in their order.
fn service<'a, 'i>(
    descriptor: Node<'a, 'i>,
    name: &'static str,
    bindings: [Binding; 2],
) -> Option<(Binding, Node<'a, 'i>)> {
    bindings.into_iter().find_map(|binding| {
        let mut services = named(descriptor, MD, name);
        services
            .find(|node| {
                attribute(*node, "Binding") == Some(binding.uri()) && attribute(*node, "Location").is_some()
            })
            .map(|node| (binding, node))
    })
}

/// Returns the single logout service. One with an unusable URL is left out, because users can sign in without it.
fn logout_service(descriptor: Node<'_, '_>) -> Option<LogoutService> {
    // A redirect needs no page in between, and logout messages are short.
    let (binding, node) = service(descriptor, "SingleLogoutService", [Binding::Redirect, Binding::Post])?;
    let location = sso_url(attribute(node, "Location")?).ok()?;
    let response_location = attribute(node, "ResponseLocation").map(sso_url).transpose().ok()?;
    Some(LogoutService { binding, location, response_location })
}

/// Returns the earliest `validUntil` of the descriptor and its ancestors.
fn valid_until(descriptor: Node<'_, '_>) -> Result<Option<Timestamp>, MetadataError> {
    let ends = descriptor.ancestors().filter_map(|node| attribute(node, "validUntil"));
    let read = |text: &str| {
        text.parse::<Timestamp>().map_err(|_| MetadataError::Until(text.chars().take(40).collect()))
    };
    Ok(ends.map(read).collect::<Result<Vec<_>, _>>()?.into_iter().min())
}

fn is_provider(node: Node<'_, '_>) -> bool {
    let protocols = attribute(node, "protocolSupportEnumeration").unwrap_or_default();
    is(node, MD, "IDPSSODescriptor")
        && node.parent_element().is_some_and(|parent| is(parent, MD, "EntityDescriptor"))
        && protocols.split_ascii_whitespace().any(|protocol| protocol == SAMLP)
}

/// Returns the signing certificates without duplicates. Certificates with unsupported keys are skipped.
fn certificates(descriptor: Node<'_, '_>) -> Result<Vec<Certificate>, MetadataError> {
    let mut read: Vec<Certificate> = Vec::new();
    let keys = named(descriptor, MD, "KeyDescriptor");
    for key in keys.filter(|key| matches!(attribute(*key, "use"), None | Some("signing"))) {
        let data =
            child(key, DS, "KeyInfo").into_iter().flat_map(elements).filter(|node| is(*node, DS, "X509Data"));
        for node in data.flat_map(elements).filter(|node| is(*node, DS, "X509Certificate")) {
            let Ok(certificate) = Certificate::from_text(only_text(node)?) else { continue };
            if !read.contains(&certificate) {
                read.push(certificate);
            }
        }
    }
    match read.len() {
        0 => Err(MetadataError::NoCertificate),
        count if count > MAX_CERTIFICATES => Err(MetadataError::ManyCertificates),
        _ => Ok(read),
    }
}
