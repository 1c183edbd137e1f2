//! Builds responses as identity providers write them. A test may change each part as text before it is signed,
//! encrypted and sent.

use data_encoding::BASE64;

use crate::{
    seal::Seal,
    sign::Signing,
    world::{IDP_ENTITY, WORLD},
};

pub(crate) const SAML: &str = "urn:oasis:names:tc:SAML:2.0:assertion";
pub(crate) const SAMLP: &str = "urn:oasis:names:tc:SAML:2.0:protocol";
pub(crate) const DS: &str = "http://www.w3.org/2000/09/xmldsig#";
pub(crate) const XS: &str = "http://www.w3.org/2001/XMLSchema";
pub(crate) const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
pub(crate) const ADDRESS: &str = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress";
pub(crate) const SUCCESS: &str = "urn:oasis:names:tc:SAML:2.0:status:Success";

/// Prefixes of the three namespaces; empty for the default namespace.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) saml: &'static str,
    pub(crate) samlp: &'static str,
    pub(crate) ds: &'static str,
}

/// SimpleSAMLphp, Keycloak.
pub(crate) const USUAL: Style = Style { saml: "saml", samlp: "samlp", ds: "ds" };
/// Okta, Shibboleth.
pub(crate) const SAML2: Style = Style { saml: "saml2", samlp: "saml2p", ds: "ds" };
/// Entra, ADFS.
pub(crate) const DEFAULT: Style = Style { saml: "", samlp: "samlp", ds: "" };
/// No prefixes at all.
pub(crate) const BARE: Style = Style { saml: "", samlp: "", ds: "" };

pub(crate) fn name(prefix: &str, local: &str) -> String {
    if prefix.is_empty() { local.to_owned() } else { format!("{prefix}:{local}") }
}

pub(crate) fn xmlns(prefix: &str, uri: &str) -> String {
    if prefix.is_empty() { format!(" xmlns=\"{uri}\"") } else { format!(" xmlns:{prefix}=\"{uri}\"") }
}

/// Returns an unsigned assertion.
pub(crate) fn assertion(style: Style) -> String {
    let p = |local: &str| name(style.saml, local);
    let (acs, request) = (&WORLD.service.acs_url, &WORLD.request.id);
    let attribute = |key: &str, value: &str| {
        format!("<{0} Name=\"{key}\"><{1}>{value}</{1}></{0}>", p("Attribute"), p("AttributeValue"))
    };
    let parts = [
        format!("<{}>{IDP_ENTITY}</{}>", p("Issuer"), p("Issuer")),
        format!(
            "<{subject}><{name} Format=\"{ADDRESS}\">ada@corp.example</{name}><{by} Method=\"urn:oasis:names:tc:SAML:2.0:cm:bearer\"><{data} InResponseTo=\"{request}\" NotOnOrAfter=\"2026-03-01T12:05:00Z\" Recipient=\"{acs}\"></{data}></{by}></{subject}>",
            subject = p("Subject"),
            name = p("NameID"),
            by = p("SubjectConfirmation"),
            data = p("SubjectConfirmationData"),
        ),
        format!(
            "<{0} NotBefore=\"2026-03-01T11:55:00Z\" NotOnOrAfter=\"2026-03-01T12:05:00Z\"><{1}><{2}>{3}</{2}></{1}></{0}>",
            p("Conditions"),
            p("AudienceRestriction"),
            p("Audience"),
            WORLD.service.entity_id
        ),
        format!(
            "<{0} AuthnInstant=\"2026-03-01T11:59:50Z\" SessionIndex=\"_s1\"><{1}><{2}>urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</{2}></{1}></{0}>",
            p("AuthnStatement"),
            p("AuthnContext"),
            p("AuthnContextClassRef"),
        ),
        format!(
            "<{0}>{1}{2}</{0}>",
            p("AttributeStatement"),
            attribute("displayName", "Ada Lovelace"),
            attribute("mail", "ada@corp.example")
        ),
    ];
    format!(
        "<{0}{1} ID=\"_a1\" IssueInstant=\"2026-03-01T11:59:58Z\" Version=\"2.0\">{2}</{0}>",
        p("Assertion"),
        xmlns(style.saml, SAML),
        parts.concat()
    )
}

/// Returns an unsigned response, with `{}` in place of its assertion.
pub(crate) fn response(style: Style) -> String {
    let (root, status, code) =
        (name(style.samlp, "Response"), name(style.samlp, "Status"), name(style.samlp, "StatusCode"));
    let issuer = name(style.saml, "Issuer");
    let (outside, inside) = match style.saml {
        "" => (String::new(), xmlns("", SAML)),
        prefix => (xmlns(prefix, SAML), String::new()),
    };
    format!(
        "<{root}{}{outside} Destination=\"{}\" ID=\"_r1\" InResponseTo=\"{}\" IssueInstant=\"2026-03-01T11:59:58Z\" Version=\"2.0\"><{issuer}{inside}>{IDP_ENTITY}</{issuer}><{status}><{code} Value=\"{SUCCESS}\"></{code}></{status}>{{}}</{root}>",
        xmlns(style.samlp, SAMLP),
        WORLD.service.acs_url,
        WORLD.request.id,
    )
}

/// A response under construction.
#[derive(Clone)]
pub(crate) struct Build {
    pub(crate) style: Style,
    pub(crate) assertion: String,
    pub(crate) response: String,
    pub(crate) signs_assertion: Option<Signing>,
    pub(crate) signs_response: Option<Signing>,
    pub(crate) sealed: Option<Seal>,
}

impl Build {
    /// Starts an unsigned response.
    pub(crate) fn unsigned(style: Style) -> Self {
        Self {
            style,
            assertion: assertion(style),
            response: response(style),
            signs_assertion: None,
            signs_response: None,
            sealed: None,
        }
    }

    /// Starts a response with default signatures of the assertion and of the response.
    pub(crate) fn signed(style: Style, signs_assertion: bool, signs_response: bool) -> Self {
        let signing = |signs: bool| signs.then(|| Signing::usual(style.ds));
        Self {
            signs_assertion: signing(signs_assertion),
            signs_response: signing(signs_response),
            ..Self::unsigned(style)
        }
    }

    /// Starts a response with a signed assertion.
    pub(crate) fn assertion_signed() -> Self {
        Self::signed(USUAL, true, false)
    }

    /// Starts a response that is signed as a whole.
    pub(crate) fn response_signed() -> Self {
        Self::signed(USUAL, false, true)
    }

    pub(crate) fn both_signed() -> Self {
        Self::signed(USUAL, true, true)
    }

    /// Starts a response with a signed, then encrypted assertion.
    pub(crate) fn encrypted() -> Self {
        Self { sealed: Some(Seal::usual()), ..Self::assertion_signed() }
    }

    /// Changes the assertion before it is signed.
    pub(crate) fn within(mut self, from: &str, to: &str) -> Self {
        self.assertion = self.assertion.swap(from, to);
        self
    }

    /// Encrypts the NameID, changed as given, before the assertion is signed.
    pub(crate) fn with_encrypted_id(self, seal: &Seal, change: impl FnOnce(String) -> String) -> Self {
        let plain = format!("<saml:NameID Format=\"{ADDRESS}\">ada@corp.example</saml:NameID>");
        let whole = plain.first("<saml:NameID", &format!("<saml:NameID{}", xmlns("saml", SAML)));
        self.within(&plain, &seal.seal_id(&change(whole)))
    }

    /// Changes the response before it is signed.
    pub(crate) fn around(mut self, from: &str, to: &str) -> Self {
        self.response = self.response.swap(from, to);
        self
    }

    /// Changes all signatures.
    pub(crate) fn signing(mut self, change: impl Fn(&mut Signing)) -> Self {
        for signing in [&mut self.signs_assertion, &mut self.signs_response].into_iter().flatten() {
            change(signing);
        }
        self
    }

    /// Changes the encryption.
    pub(crate) fn sealing(mut self, change: impl Fn(&mut Seal)) -> Self {
        self.sealed.iter_mut().for_each(change);
        self
    }

    /// Returns the assertion alone, signed if so configured.
    pub(crate) fn lone(&self) -> String {
        match &self.signs_assertion {
            Some(signing) => signing.sign(&self.assertion, "_a1"),
            None => self.assertion.clone(),
        }
    }

    /// Returns the whole document.
    pub(crate) fn xml(&self) -> String {
        let assertion = self.lone();
        let inner = match &self.sealed {
            Some(seal) => seal.seal(self.style.saml, &assertion),
            None => assertion,
        };
        self.whole(&inner)
    }

    /// Returns the whole document with `inner` in place of its assertion.
    pub(crate) fn whole(&self, inner: &str) -> String {
        let whole = self.response.swap("{}", inner);
        match &self.signs_response {
            Some(signing) => signing.sign(&whole, "_r1"),
            None => whole,
        }
    }

    pub(crate) fn field(&self) -> String {
        field(self.xml())
    }
}

/// Encodes a document for the form field.
pub(crate) fn field(xml: impl AsRef<[u8]>) -> String {
    BASE64.encode(xml.as_ref())
}

/// Text replacements that panic if there is nothing to replace.
pub(crate) trait Swap {
    /// Replaces the only occurrence.
    fn swap(&self, from: &str, to: &str) -> String;
    /// Replaces the first occurrence.
    fn first(&self, from: &str, to: &str) -> String;
    /// Replaces all occurrences.
    fn all(&self, from: &str, to: &str) -> String;
    /// Removes the text from the first `from` to the next `to`, inclusive. Returns the rest and the removed text.
    fn cut(&self, from: &str, to: &str) -> (String, String);
}

impl Swap for str {
    fn swap(&self, from: &str, to: &str) -> String {
        assert_eq!(self.matches(from).count(), 1, "{from} does not occur exactly once in {self}");
        self.replacen(from, to, 1)
    }

    fn first(&self, from: &str, to: &str) -> String {
        assert!(self.contains(from), "{from} does not occur in {self}");
        self.replacen(from, to, 1)
    }

    fn all(&self, from: &str, to: &str) -> String {
        assert!(self.contains(from), "{from} does not occur in {self}");
        self.replace(from, to)
    }

    fn cut(&self, from: &str, to: &str) -> (String, String) {
        let start = self.find(from).unwrap_or_else(|| panic!("{from} does not occur in {self}"));
        let length =
            self[start..].find(to).unwrap_or_else(|| panic!("{to} does not occur in {self}")) + to.len();
        let (before, rest) = self.split_at(start);
        let (piece, after) = rest.split_at(length);
        (format!("{before}{after}"), piece.to_owned())
    }
}
