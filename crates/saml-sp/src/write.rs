//! Writes requests, logout messages and our own metadata.

use std::io;

use kernel::Timestamp;
use quick_xml::{
    Writer,
    events::{BytesText, Event},
};

use crate::{
    binding::Binding,
    keys::{KeyError, KeyPair, OurKeys},
    logout::IdpSession,
    provider::Provider,
    request::Request,
    service::ServiceProvider,
    signature,
    xml::{DS, MD, SAML, SAMLP},
};

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
    let instant = instant(request.created_at);
    let mut attributes = vec![
        ("xmlns:samlp", SAMLP),
        ("xmlns:saml", SAML),
        ("ID", id),
        ("Version", "2.0"),
        ("IssueInstant", &instant),
        ("Destination", &provider.idp.sso_url),
        ("ProtocolBinding", Binding::Post.uri()),
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
    signed(written.map(|xml| xml.get_ref().clone()), id, key)
}

/// Returns a time in whole seconds, because some identity providers reject fractions.
fn instant(time: Timestamp) -> String {
    let text = time.to_string();
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

/// Signs a written message, whose second element is an [`unsigned_signature`] if there is a key.
fn signed(written: io::Result<Vec<u8>>, id: &str, key: Option<&KeyPair>) -> Result<String, KeyError> {
    let plain = text(written)?;
    let Some(key) = key else { return Ok(plain) };
    let signed = signature::sign(&plain, &[1], id, key)?;
    // Only names our certificate; the KeyInfo is not signed.
    let certificate = key.certificate.base64();
    let info = format!(
        "</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>{certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>"
    );
    Ok(signed.replacen("</ds:SignatureValue>", &info, 1))
}

/// The parts that all logout messages have.
pub(crate) struct Message<'a> {
    /// The ID.
    pub(crate) id: &'a str,
    /// The time of issue.
    pub(crate) issued_at: Timestamp,
    /// The URL that it is sent to.
    pub(crate) destination: &'a str,
    /// The issuer.
    pub(crate) service: &'a ServiceProvider,
}

impl Message<'_> {
    /// Writes a message: its issuer, room for a signature if there is a key, and a content.
    fn write(
        &self,
        name: &str,
        more: Option<(&str, &str)>,
        key: Option<&KeyPair>,
        content: impl FnOnce(&mut Xml) -> io::Result<()>,
    ) -> Result<String, KeyError> {
        let instant = instant(self.issued_at);
        let attributes = [
            ("xmlns:samlp", SAMLP),
            ("xmlns:saml", SAML),
            ("ID", self.id),
            ("Version", "2.0"),
            ("IssueInstant", &instant),
            ("Destination", self.destination),
        ];
        let mut xml = Writer::new(Vec::new());
        let element = xml.create_element(name).with_attributes(attributes.into_iter().chain(more));
        let written = element.write_inner_content(|xml| {
            leaf(xml, "saml:Issuer", &self.service.entity_id)?;
            if key.is_some() {
                unsigned_signature(xml, self.id)?;
            }
            content(xml)
        });
        signed(written.map(|xml| xml.get_ref().clone()), self.id, key)
    }
}

/// Returns a LogoutRequest, signed if there is a key.
pub(crate) fn logout_request(
    message: &Message<'_>,
    session: &IdpSession,
    key: Option<&KeyPair>,
) -> Result<String, KeyError> {
    message.write("samlp:LogoutRequest", None, key, |xml| {
        let attributes = [
            ("Format", &session.format),
            ("NameQualifier", &session.name_qualifier),
            ("SPNameQualifier", &session.sp_name_qualifier),
        ];
        let attributes = attributes.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?)));
        let name_id = xml.create_element("saml:NameID").with_attributes(attributes);
        name_id.write_text_content(BytesText::new(&session.name_id))?;
        session.session_index.iter().try_for_each(|index| leaf(xml, "samlp:SessionIndex", index))
    })
}

/// Returns a LogoutResponse, signed if there is a key.
pub(crate) fn logout_response(
    message: &Message<'_>,
    in_response_to: &str,
    status: &str,
    key: Option<&KeyPair>,
) -> Result<String, KeyError> {
    let answered = ("InResponseTo", in_response_to);
    message.write("samlp:LogoutResponse", Some(answered), key, |xml| {
        xml.create_element("samlp:Status").write_inner_content(|xml| {
            let code = xml.create_element("samlp:StatusCode").with_attribute(("Value", status));
            code.write_empty().map(|_| ())
        })?;
        Ok(())
    })
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
    /// Returns our metadata for one provider: entity id, services, and the certificates of all keys
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
                        for binding in Binding::ALL {
                            let place = [("Binding", binding.uri()), ("Location", self.slo_url.as_str())];
                            xml.create_element("md:SingleLogoutService")
                                .with_attributes(place)
                                .write_empty()?;
                        }
                        leaf(
                            xml,
                            "md:NameIDFormat",
                            "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress",
                        )?;
                        let place = [
                            ("Binding", Binding::Post.uri()),
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
