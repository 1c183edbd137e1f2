//! A second verifier: bergshamra, in pure Rust, with its own parser and canonical form. It gets documents that have
//! passed our structure checks.

use bergshamra::{
    DsigContext, EncContext, KeysManager,
    c14n::{C14nMode, canonicalize_doc},
    dsig::verify::verify_all_document_with_source,
    keys::loader::{load_rsa_private_pem, load_x509_cert_der},
    xml::{XmlDocument, nodeset::NodeSet},
};
use openssl::pkey::PKey;
use saml_sp::{Claims, Provider};

use crate::{
    factory::{DS, SAML},
    keys::OURS,
    world::NOW,
};

/// The claims on which both verifiers must agree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) id: String,
    pub(crate) issuer: String,
    pub(crate) name: Option<String>,
    /// Names and values of attributes.
    pub(crate) attributes: Vec<(String, Vec<Option<String>>)>,
}

impl Identity {
    pub(crate) fn of(claims: &Claims) -> Self {
        let attributes = claims.attributes.iter().map(|one| (one.name.clone(), one.values.clone()));
        Self {
            id: claims.id.clone(),
            issuer: claims.issuer.clone(),
            name: claims.name_id.as_ref().map(|name| name.value.clone()),
            attributes: attributes.collect(),
        }
    }

    /// Reads the claims from the canonical form of an assertion.
    fn read(canonical: &str) -> Option<Self> {
        let tree = roxmltree::Document::parse(canonical).ok()?;
        let all = |name: &'static str| tree.descendants().filter(move |node| node.has_tag_name((SAML, name)));
        let text = |node: roxmltree::Node<'_, '_>| {
            let plain = node.children().all(|child| child.is_text());
            plain.then(|| node.text().unwrap_or_default().to_owned())
        };
        let mut attributes: Vec<(String, Vec<Option<String>>)> = Vec::new();
        for node in all("Attribute") {
            let name = node.attribute("Name")?.to_owned();
            let values =
                node.children().filter(|child| child.has_tag_name((SAML, "AttributeValue"))).map(text);
            match attributes.iter_mut().find(|(known, _)| *known == name) {
                Some((_, known)) => known.extend(values),
                None => attributes.push((name, values.collect())),
            }
        }
        Some(Self {
            id: tree.root_element().attribute("ID")?.to_owned(),
            issuer: all("Issuer").next().and_then(text)?,
            name: all("NameID").next().and_then(text),
            attributes,
        })
    }
}

/// The second verifier, configured for a provider.
pub(crate) struct Second {
    dsig: DsigContext,
    /// One context for each of our keys, because a context only tries the first matching key.
    enc: Vec<EncContext>,
}

impl Second {
    pub(crate) fn new(provider: &Provider) -> Self {
        let mut pinned = KeysManager::new();
        for certificate in provider.idp.certificates.iter().filter(|one| one.is_valid_at(*NOW)) {
            pinned.add_key(load_x509_cert_der(certificate.der()).unwrap());
        }
        let ours = OURS.iter().map(|pair| {
            let key = PKey::private_key_from_pkcs8(pair.private.expose()).unwrap();
            let mut keys = KeysManager::new();
            keys.add_key(load_rsa_private_pem(&key.private_key_to_pem_pkcs8().unwrap()).unwrap());
            EncContext::new(keys).with_disable_cipher_reference(true)
        });
        Self { dsig: DsigContext::new(pinned).with_insecure(true), enc: ours.collect() }
    }

    /// Returns the identity in a document if it has at least one signature and all its signatures are valid.
    pub(crate) fn believes(&self, text: &str) -> Result<Option<Identity>, NoKey> {
        let Some(here) = self.refresh(text) else { return Ok(None) };
        let (inner, identity) = if here.identity.is_some() {
            (here.assertion, here.identity)
        } else {
            let plain = self.decrypted(text).ok_or(NoKey)?;
            let Some(plain) = self.refresh(&plain) else { return Ok(None) };
            (plain.assertion, plain.identity)
        };
        let verdicts = [here.response, inner];
        let holds = verdicts.contains(&Some(true)) && !verdicts.contains(&Some(false));
        Ok(identity.filter(|_| holds))
    }

    /// Decrypts the encrypted assertion alone, because text around it confuses the library.
    fn decrypted(&self, text: &str) -> Option<String> {
        let tree = roxmltree::Document::parse(text).ok()?;
        let encrypted = tree.descendants().find(|node| node.has_tag_name((SAML, "EncryptedAssertion")))?;
        self.decrypt(&text[encrypted.range()])
    }

    fn decrypt(&self, element: &str) -> Option<String> {
        self.enc.iter().find_map(|enc| bergshamra::decrypt(enc, element).ok())
    }

    /// Returns the NameID in an `EncryptedID`; `None` if it cannot be decrypted.
    fn decrypted_name(&self, element: &str) -> Option<String> {
        let plain = self.decrypt(element)?;
        let tree = roxmltree::Document::parse(&plain).ok()?;
        let name = tree.descendants().find(|node| node.has_tag_name((SAML, "NameID")))?;
        name.text().map(str::to_owned)
    }

    fn refresh(&self, text: &str) -> Option<Found> {
        let source = XmlDocument::parse(text.to_owned()).ok()?;
        let tree = source.parse_doc().ok()?;
        let assertion = XmlDocument::find_element(&tree, SAML, "Assertion");
        let mut found = Found::default();
        let signatures = XmlDocument::find_elements(&tree, DS, "Signature");
        if !signatures.is_empty() {
            let verdicts = verify_all_document_with_source(&self.dsig, &tree, Some(text)).ok()?;
            for (signature, verdict) in signatures.iter().zip(&verdicts) {
                let of = tree.parent(*signature);
                let place = if of == assertion { &mut found.assertion } else { &mut found.response };
                *place = Some(verdict.all_reference_digests_verified());
            }
        }
        if let Some(assertion) = assertion {
            let mut nodes = NodeSet::tree_without_comments(assertion, &tree);
            for signature in &signatures {
                nodes.remove_id(*signature);
                tree.descendants(*signature).into_iter().for_each(|node| nodes.remove_id(node));
            }
            let none: &[&str] = &[];
            let canonical = canonicalize_doc(&tree, C14nMode::Exclusive, Some(&nodes), none).ok()?;
            let mut identity = Identity::read(str::from_utf8(&canonical).ok()?)?;
            let whole = roxmltree::Document::parse(text).ok()?;
            if let Some(id) = whole.descendants().find(|node| node.has_tag_name((SAML, "EncryptedID"))) {
                identity.name = Some(self.decrypted_name(&text[id.range()])?);
            }
            found.identity = Some(identity);
        }
        Some(found)
    }
}

/// Returns whether a document declares relative or invalid namespace URIs. Canonical XML does not define them:
/// libxml2 rejects them, the second verifier accepts them.
pub(crate) fn has_odd_namespace(text: &str) -> bool {
    let odd = |uri: &str| {
        let is_written = uri.chars().all(|c| c.is_ascii_graphic() && !"\"<>\\^`{|}[]%".contains(c));
        !is_written || url::Url::parse(uri).is_err()
    };
    let Ok(tree) = roxmltree::Document::parse(text) else { return false };
    tree.descendants().any(|node| node.namespaces().any(|known| !known.uri().is_empty() && odd(known.uri())))
}

/// The second verifier has no decryption key, or looks for it in another place than the first.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoKey;

/// The findings in a document.
#[derive(Default)]
struct Found {
    /// Whether the signature of the response is valid, if it has one.
    response: Option<bool>,
    /// Whether the signature of the assertion is valid, if it has one.
    assertion: Option<bool>,
    /// The claims of the assertion, if it is not encrypted.
    identity: Option<Identity>,
}
