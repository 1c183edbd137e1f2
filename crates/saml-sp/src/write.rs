//! Writes requests and our own metadata.

use std::io;

use quick_xml::{
    Writer,
    events::{BytesText, Event},
};

use crate::{
    keys::{KeyError, KeyPair, OurKeys},
    provider::Provider,
    request::Request,
    service::ServiceProvider,
    signature,
    xml::{DS, MD, SAML, SAMLP},
};

const POST: &str = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
/// The encryption methods that our metadata offers.
const ENCRYPTION: [&str; 4] = [
    "http://www.w3.org/2009/xmlenc11#aes256-gcm",
    "http://www.w3.org/2009/xmlenc11#aes128-gcm",
    "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
    "http://www.w3.org/2009/xmlenc11#rsa-oaep",
];

type Xml = Writer<Vec<u8>>;

fn text(written: Result<Vec<u8>, io::Error>) -> Result<String, KeyError> {
    let written = written.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    written.ok_or(KeyError("written into XML"))
}

fn leaf(xml: &mut Xml, name: &str, value: &str) -> io::Result<()> {
    xml.create_element(name).write_text_content(BytesText::new(value)).map(|_| ())
}

fn algorithm(xml: &mut Xml, name: &str, uri: &str) -> io::Result<()> {
    xml.create_element(name).with_attribute(("Algorithm", uri)).write_empty().map(|_| ())
}

/// Returns an AuthnRequest, signed if there is a key.
pub(crate) fn authn_request(
    request: &Request,
    service: &ServiceProvider,
    provider: &Provider,
    key: Option<&KeyPair>,
) -> Result<String, KeyError> {
    let id = request.id.as_str();
    // Whole seconds, because some identity providers reject fractions.
    let instant = request.created_at.to_string();
    let instant = format!("{}Z", instant.split('.').next().unwrap_or_default());
    let mut attributes = vec![
        ("xmlns:samlp", SAMLP),
        ("xmlns:saml", SAML),
        ("ID", id),
        ("Version", "2.0"),
        ("IssueInstant", &instant),
        ("Destination", &provider.idp.sso_url),
        ("ProtocolBinding", POST),
        ("AssertionConsumerServiceURL", &service.acs_url),
    ];
    if request.force_authn {
        attributes.push(("ForceAuthn", "true"));
    }
    let mut xml = Writer::new(Vec::new());
    let written =
        xml.create_element("samlp:AuthnRequest").with_attributes(attributes).write_inner_content(|xml| {
            leaf(xml, "saml:Issuer", &service.entity_id)?;
            if key.is_some() {
                unsigned_signature(xml, id)?;
            }
            xml.create_element("samlp:NameIDPolicy").with_attribute(("AllowCreate", "true")).write_empty()?;
            if !provider.authn_contexts.is_empty() {
                let context = xml.create_element("samlp:RequestedAuthnContext");
                context.with_attribute(("Comparison", "exact")).write_inner_content(|xml| {
                    provider
                        .authn_contexts
                        .iter()
                        .try_for_each(|class| leaf(xml, "saml:AuthnContextClassRef", class))
                })?;
            }
            Ok(())
        });
    let plain = text(written.map(|xml| xml.get_ref().clone()))?;
    match key {
        None => Ok(plain),
        Some(key) => {
            let signed = signature::sign(&plain, &[1], id, key)?;
            // Only names our certificate; the KeyInfo is not signed.
            let certificate = key.certificate.base64();
            let info = format!(
                "</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
            );
            Ok(signed.replacen("</ds:SignatureValue>", &info, 1))
        }
    }
}

/// Writes a signature without digest and signature value.
fn unsigned_signature(xml: &mut Xml, id: &str) -> io::Result<()> {
    xml.create_element("ds:Signature").with_attribute(("xmlns:ds", DS)).write_inner_content(|xml| {
        xml.create_element("ds:SignedInfo").write_inner_content(|xml| {
            algorithm(xml, "ds:CanonicalizationMethod", "http://www.w3.org/2001/10/xml-exc-c14n#")?;
            algorithm(xml, "ds:SignatureMethod", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256")?;
            let uri = format!("#{id}");
            let reference = xml.create_element("ds:Reference").with_attribute(("URI", uri.as_str()));
            reference.write_inner_content(|xml| {
                xml.create_element("ds:Transforms").write_inner_content(|xml| {
                    algorithm(xml, "ds:Transform", "http://www.w3.org/2000/09/xmldsig#enveloped-signature")?;
                    algorithm(xml, "ds:Transform", "http://www.w3.org/2001/10/xml-exc-c14n#")
                })?;
                algorithm(xml, "ds:DigestMethod", "http://www.w3.org/2001/04/xmlenc#sha256")?;
                xml.create_element("ds:DigestValue").write_empty().map(|_| ())
            })?;
            Ok(())
        })?;
        xml.create_element("ds:SignatureValue").write_empty().map(|_| ())
    })?;
    Ok(())
}

impl ServiceProvider {
    /// Returns our metadata for one provider: entity id, assertion consumer service, and the certificates of all keys
    /// (two during a rotation).
    pub fn metadata(&self, keys: &OurKeys, sign_requests: bool) -> Result<String, KeyError> {
        let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
        let declared =
            xml.write_event(Event::Decl(quick_xml::events::BytesDecl::new("1.0", Some("UTF-8"), None)));
        let root = [("xmlns:md", MD), ("entityID", self.entity_id.as_str())];
        let role = [
            ("AuthnRequestsSigned", if sign_requests { "true" } else { "false" }),
            ("WantAssertionsSigned", "true"),
            ("protocolSupportEnumeration", SAMLP),
        ];
        let written = declared.and_then(|()| {
            xml.create_element("md:EntityDescriptor").with_attributes(root).write_inner_content(|xml| {
                xml.create_element("md:SPSSODescriptor").with_attributes(role).write_inner_content(
                    |xml| {
                        for (use_, key) in ["signing", "encryption"]
                            .iter()
                            .flat_map(|use_| keys.all().map(move |key| (use_, key)))
                        {
                            key_descriptor(xml, use_, &key.certificate.base64())?;
                        }
                        leaf(
                            xml,
                            "md:NameIDFormat",
                            "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
                        )?;
                        let place = [
                            ("Binding", POST),
                            ("Location", self.acs_url.as_str()),
                            ("index", "0"),
                            ("isDefault", "true"),
                        ];
                        xml.create_element("md:AssertionConsumerService")
                            .with_attributes(place)
                            .write_empty()
                            .map(|_| ())
                    },
                )?;
                Ok(())
            })?;
            Ok(xml.get_ref().clone())
        });
        text(written)
    }
}

fn key_descriptor(xml: &mut Xml, use_: &str, certificate: &str) -> io::Result<()> {
    xml.create_element("md:KeyDescriptor").with_attribute(("use", use_)).write_inner_content(|xml| {
        xml.create_element("ds:KeyInfo").with_attribute(("xmlns:ds", DS)).write_inner_content(|xml| {
            xml.create_element("ds:X509Data")
                .write_inner_content(|xml| leaf(xml, "ds:X509Certificate", certificate))
                .map(|_| ())
        })?;
        if use_ == "encryption" {
            ENCRYPTION.iter().try_for_each(|uri| algorithm(xml, "md:EncryptionMethod", uri))?;
        }
        Ok(())
    })?;
    Ok(())
}
