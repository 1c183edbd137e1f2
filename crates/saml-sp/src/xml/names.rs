//! XML namespaces.

/// SAML assertions.
pub(crate) const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
/// SAML protocol messages.
pub(crate) const SAMLP: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
/// SAML metadata.
pub(crate) const MD: &str = "urn:oasis:names:tc:SAML:2.0:metadata";
/// XML signatures.
pub(crate) const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
/// XML encryption.
pub(crate) const ENC: &str = "http://www.w3.org/2001/04/xmlenc#";
/// XML encryption 1.1.
pub(crate) const ENC11: &str = "http://www.w3.org/2009/xmlenc11#";
/// XML Schema instance.
pub(crate) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
