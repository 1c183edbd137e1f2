//! A SAML identity provider that reads our requests and signs any assertion. It writes canonical XML directly, so
//! signing needs no library that parses XML.

use std::{
    collections::HashMap,
    io::Read,
    sync::{Arc, LazyLock, Mutex},
};

use data_encoding::BASE64;
use flate2::read::DeflateDecoder;
use kernel::{Env, SystemEnv, Timestamp};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{RSA_PKCS1_SHA256, RsaKeyPair},
};
use saml_sp::{
    Binding, IdpSession, KeyPair, LogoutService, LogoutStatus, Outgoing, ServiceProvider, StartedLogout,
    respond_to_logout, start_logout,
};

const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
const SAMLP: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
const DS: &str = "http://www.w3.org/2000/09/xmldsig#";

/// An identity provider with a key.
pub struct Idp {
    /// `https://`, its host and `/saml`.
    pub entity_id: String,
    pair: Arc<KeyPair>,
}

/// A request, as our page posts it.
#[derive(Clone)]
pub struct Sent {
    /// The URL that it is sent to.
    pub action: String,
    /// The RelayState.
    pub relay_state: String,
    /// The AuthnRequest.
    pub request: String,
}

/// The content of an assertion.
pub struct Says {
    /// The address of the user.
    pub email: String,
    /// The time of issue. The assertion is valid for five minutes.
    pub now: Timestamp,
    /// `ID` of the assertion.
    pub assertion_id: String,
    /// `ID` of the request.
    pub in_response_to: Option<String>,
    /// The audience.
    pub audience: String,
    /// URL of the assertion consumer service.
    pub acs: String,
    /// `SessionNotOnOrAfter`.
    pub session_ends: Option<Timestamp>,
    /// `SessionIndex`.
    pub session_index: Option<&'static str>,
    /// `AuthnInstant`.
    pub authn_instant: Timestamp,
    /// Format and value of the NameID; if `None`, the address as `emailAddress`.
    pub name_id: Option<(String, String)>,
    /// Number of additional values of the attribute `groups`.
    pub groups: usize,
}

impl Sent {
    /// Reads the request from our page, which posts it (HTTP-POST binding).
    pub fn of_page(page: &str) -> Self {
        let text = page.replace("&#38;", "&").replace("&amp;", "&");
        let attribute = |from: &str, name: &str| {
            let rest = text.split_once(from).unwrap_or_else(|| panic!("no {from}: {text}")).1;
            rest.split_once(&format!("{name}=\"")).unwrap().1.split('"').next().unwrap().to_owned()
        };
        let request = attribute("name=\"SAMLRequest\"", "value");
        Self {
            action: attribute("<form", "action"),
            relay_state: attribute("name=\"RelayState\"", "value"),
            request: String::from_utf8(BASE64.decode(request.as_bytes()).unwrap()).unwrap(),
        }
    }

    /// Reads the request from the URL that our response redirects to (HTTP-Redirect binding).
    pub fn of_url(url: &str) -> Self {
        let (action, query) = url.split_once('?').unwrap();
        let all: Vec<_> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let field = |name: &str| all.iter().find(|(known, _)| known == name).unwrap().1.clone();
        let packed = BASE64.decode(field("SAMLRequest").as_bytes()).unwrap();
        let mut request = String::new();
        DeflateDecoder::new(packed.as_slice()).read_to_string(&mut request).unwrap();
        Self { action: action.into(), relay_state: field("RelayState"), request }
    }

    /// Returns an attribute of the request.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let head = self.request.split_once('>').unwrap().0;
        Some(head.split_once(&format!(" {name}=\""))?.1.split('"').next().unwrap())
    }

    /// Returns the usual content of an assertion in response to this request.
    pub fn says(&self, email: &str, now: Timestamp) -> Says {
        let acs = self.attribute("AssertionConsumerServiceURL").unwrap().to_owned();
        Says {
            email: email.to_owned(),
            now,
            assertion_id: format!("_a{}", self.id()),
            in_response_to: Some(self.id()),
            audience: acs.replace("/acs", "/metadata"),
            acs,
            session_ends: None,
            session_index: None,
            authn_instant: now,
            name_id: None,
            groups: 0,
        }
    }

    /// Returns the `ID` of the request.
    pub fn id(&self) -> String {
        self.attribute("ID").unwrap().to_owned()
    }
}

fn seconds(time: Timestamp) -> String {
    format!("{}Z", time.to_string().split('.').next().unwrap())
}

impl Idp {
    /// Returns the identity provider of a host.
    pub fn new(host: &str) -> Self {
        // Generating a key takes as long as ten requests, so identity providers of a host have the same one in all tests.
        static PAIRS: LazyLock<Mutex<HashMap<String, Arc<KeyPair>>>> = LazyLock::new(Mutex::default);
        let mut pairs = PAIRS.lock().unwrap();
        let new = || Arc::new(KeyPair::generate(host, SystemEnv::default().now()).unwrap());
        let pair = Arc::clone(pairs.entry(host.to_owned()).or_insert_with(new));
        Self { entity_id: format!("https://{host}/saml"), pair }
    }

    /// Returns the identity provider with a new key.
    #[must_use]
    pub fn rekeyed(&self) -> Self {
        let pair = Arc::new(KeyPair::generate("rekeyed", SystemEnv::default().now()).unwrap());
        Self { entity_id: self.entity_id.clone(), pair }
    }

    /// Returns the signing certificate in PEM.
    pub fn certificate(&self) -> String {
        self.pair.certificate.pem()
    }

    /// Returns the metadata, with the HTTP-POST binding.
    pub fn metadata(&self) -> String {
        format!(
            "<md:EntityDescriptor xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" entityID=\"{}\">\
             <md:IDPSSODescriptor protocolSupportEnumeration=\"{SAMLP}\"><md:KeyDescriptor use=\"signing\">\
             <ds:KeyInfo xmlns:ds=\"{DS}\"><ds:X509Data><ds:X509Certificate>{}</ds:X509Certificate></ds:X509Data>\
             </ds:KeyInfo></md:KeyDescriptor><md:SingleSignOnService \
             Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST\" Location=\"{}/sso\"/></md:IDPSSODescriptor>\
             </md:EntityDescriptor>",
            self.entity_id,
            self.pair.certificate.base64(),
            self.entity_id
        )
    }

    /// Returns the metadata with a single logout service.
    pub fn metadata_with_logout(&self, binding: Binding) -> String {
        let service = format!(
            "<md:SingleLogoutService Binding=\"{}\" Location=\"{id}/slo\" ResponseLocation=\"{id}/slo/response\"/>",
            binding.uri(),
            id = self.entity_id
        );
        self.metadata().replace("<md:SingleSignOn", &format!("{service}<md:SingleSignOn"))
    }

    /// Returns a signed LogoutRequest for a user and one session or all, to send to `slo_url`.
    pub fn logout_request(
        &self,
        binding: Binding,
        slo_url: &str,
        name_id: &str,
        session_index: Option<&str>,
        now: &dyn Env,
    ) -> StartedLogout {
        let session = IdpSession {
            name_id: name_id.into(),
            format: None,
            name_qualifier: None,
            sp_name_qualifier: None,
            session_index: session_index.map(str::to_owned),
        };
        let at = LogoutService { binding, location: slo_url.into(), response_location: None };
        start_logout(now, &self.as_service(), &at, &session, &self.pair).unwrap()
    }

    /// Returns a signed LogoutResponse.
    pub fn logout_response(
        &self,
        binding: Binding,
        slo_url: &str,
        in_response_to: &str,
        status: LogoutStatus,
        now: &dyn Env,
    ) -> Outgoing {
        let at = LogoutService { binding, location: slo_url.into(), response_location: None };
        respond_to_logout(now, &self.as_service(), &at, (in_response_to, None), status, &self.pair).unwrap()
    }

    /// Returns this identity provider as the sender of logout messages, which both sides write alike.
    pub fn as_service(&self) -> ServiceProvider {
        let at = |name: &str| format!("{}/{name}", self.entity_id);
        ServiceProvider { entity_id: self.entity_id.clone(), acs_url: at("acs"), slo_url: at("slo") }
    }

    /// Returns a response with a signed assertion, in base64.
    pub fn response(&self, says: &Says) -> String {
        let (now, later) = (seconds(says.now), seconds(says.now.plus_millis(300_000)));
        let answers =
            says.in_response_to.as_ref().map(|id| format!(" InResponseTo=\"{id}\"")).unwrap_or_default();
        let session = says.session_ends.map(|end| format!(" SessionNotOnOrAfter=\"{}\"", seconds(end)));
        let index = says.session_index.map(|index| format!(" SessionIndex=\"{index}\""));
        let address = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
        let (format, name_id) =
            says.name_id.clone().unwrap_or_else(|| (address.to_owned(), says.email.clone()));
        let attribute = |name: &str, values: &[String]| {
            let values: Vec<_> = values
                .iter()
                .map(|value| format!("<saml:AttributeValue>{value}</saml:AttributeValue>"))
                .collect();
            let values = values.concat();
            format!("<saml:Attribute Name=\"{name}\">{values}</saml:Attribute>")
        };
        let mut more = String::new();
        if says.name_id.is_some() {
            more += &attribute("mail", std::slice::from_ref(&says.email));
        }
        if says.groups > 0 {
            more += &attribute("groups", &(0..says.groups).map(|n| format!("group-{n}")).collect::<Vec<_>>());
        }
        // Attributes in canonical order.
        let head = format!(
            "<saml:Assertion xmlns:saml=\"{SAML}\" ID=\"{}\" IssueInstant=\"{now}\" Version=\"2.0\"><saml:Issuer>{}</saml:Issuer>",
            says.assertion_id, self.entity_id
        );
        let tail = format!(
            "<saml:Subject><saml:NameID Format=\"{format}\">{name_id}</saml:NameID>\
             <saml:SubjectConfirmation Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\"><saml:SubjectConfirmationData{answers} \
             NotOnOrAfter=\"{later}\" Recipient=\"{acs}\"></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject>\
             <saml:Conditions NotBefore=\"{now}\" NotOnOrAfter=\"{later}\"><saml:AudienceRestriction><saml:Audience>{audience}</saml:Audience>\
             </saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant=\"{instant}\"{index}{session}><saml:AuthnContext>\
             <saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext>\
             </saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name=\"displayName\"><saml:AttributeValue>Somebody</saml:AttributeValue>\
             </saml:Attribute>{more}</saml:AttributeStatement></saml:Assertion>",
            acs = says.acs,
            audience = says.audience,
            instant = seconds(says.authn_instant),
            index = index.unwrap_or_default(),
            session = session.unwrap_or_default(),
        );
        let signature = self.signature(&says.assertion_id, &format!("{head}{tail}"));
        let response = format!(
            "<samlp:Response xmlns:samlp=\"{SAMLP}\" ID=\"_r{}\" Version=\"2.0\" IssueInstant=\"{now}\" Destination=\"{}\"{answers}>\
             <saml:Issuer xmlns:saml=\"{SAML}\">{}</saml:Issuer><samlp:Status><samlp:StatusCode \
             Value=\"urn:oasis:names:tc:SAML:2.0:status:Success\"/></samlp:Status>{head}{signature}{tail}</samlp:Response>",
            says.assertion_id, says.acs, self.entity_id
        );
        BASE64.encode(response.as_bytes())
    }

    fn signature(&self, id: &str, canonical: &str) -> String {
        let digest = BASE64.encode(digest(&SHA256, canonical.as_bytes()).as_ref());
        let of = |name: &str, uri: &str| format!("<ds:{name} Algorithm=\"{uri}\"></ds:{name}>");
        let exclusive = "http://www.w3.org/2001/10/xml-exc-c14n#";
        let inner = format!(
            "{}{}<ds:Reference URI=\"#{id}\"><ds:Transforms>{}{}</ds:Transforms>{}<ds:DigestValue>{digest}</ds:DigestValue></ds:Reference>",
            of("CanonicalizationMethod", exclusive),
            of("SignatureMethod", "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"),
            of("Transform", &format!("{DS}enveloped-signature")),
            of("Transform", exclusive),
            of("DigestMethod", "http://www.w3.org/2001/04/xmlenc#sha256"),
        );
        let info = format!("<ds:SignedInfo xmlns:ds=\"{DS}\">{inner}</ds:SignedInfo>");
        let key = RsaKeyPair::from_pkcs8(self.pair.private.expose()).unwrap();
        let mut value = vec![0; key.public().modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), info.as_bytes(), &mut value).unwrap();
        format!(
            "<ds:Signature xmlns:ds=\"{DS}\"><ds:SignedInfo>{inner}</ds:SignedInfo><ds:SignatureValue>{}</ds:SignatureValue></ds:Signature>",
            BASE64.encode(&value)
        )
    }
}
