//! Certificates of identity providers with any expiry, and metadata with them.

use kernel::Timestamp;
use saml_sp::{Certificate, KeyPair};

const DAY: i64 = 86_400_000;
/// Default validity of a certificate in days.
const GOOD: i64 = 3650;

/// Returns a certificate that expires in this many days.
pub(crate) fn ending_in(now: Timestamp, days: i64) -> Certificate {
    KeyPair::generate("idp.example.com", now.plus_millis((days - GOOD) * DAY)).unwrap().certificate
}

/// Returns metadata of an identity provider.
pub(crate) fn idp_metadata(entity_id: &str, certificates: &[&Certificate]) -> String {
    let key = |certificate: &&Certificate| {
        format!(
            "<md:KeyDescriptor use=\"signing\"><ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data>\
             <ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>",
            certificate.base64()
        )
    };
    format!(
        "<md:EntityDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" entityID=\"{entity_id}\">\
         <md:IDPSSODescriptor protocolSupportEnumeration=\"urn:oasis:names:tc:SAML:2.0:protocol\">{}<md:SingleSignOnService \
         Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST\" Location=\"https://idp.example.com/sso\"/>\
         </md:IDPSSODescriptor></md:EntityDescriptor>",
        certificates.iter().map(key).collect::<String>()
    )
}
