//! Creates signatures of any form: canonical form by bergshamra, keys by OpenSSL.

use bergshamra::{
    c14n::{C14nMode, canonicalize_doc},
    xml::{XmlDocument, nodeset::NodeSet, xpath::is_ancestor_or_self},
};
use data_encoding::BASE64;
use openssl::{
    bn::BigNumRef,
    ecdsa::EcdsaSig,
    hash::{MessageDigest, hash},
    pkey::Id,
    sign::Signer,
};

use crate::{
    factory::{DS, Swap, name, xmlns},
    keys::{IDP, Key},
};

pub(crate) const EXCLUSIVE: &str = "http://www.w3.org/2001/10/xml-exc-c14n#";
pub(crate) const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Hash {
    pub(crate) fn openssl(self) -> MessageDigest {
        match self {
            Self::Sha1 => MessageDigest::sha1(),
            Self::Sha256 => MessageDigest::sha256(),
            Self::Sha384 => MessageDigest::sha384(),
            Self::Sha512 => MessageDigest::sha512(),
        }
    }

    pub(crate) fn uri(self) -> &'static str {
        match self {
            Self::Sha1 => "http://www.w3.org/2000/09/xmldsig#sha1",
            Self::Sha256 => "http://www.w3.org/2001/04/xmlenc#sha256",
            Self::Sha384 => "http://www.w3.org/2001/04/xmldsig-more#sha384",
            Self::Sha512 => "http://www.w3.org/2001/04/xmlenc#sha512",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }
}

/// The parameters of a signature.
#[derive(Clone)]
pub(crate) struct Signing {
    pub(crate) key: &'static Key,
    pub(crate) hash: Hash,
    pub(crate) digest: Hash,
    /// The prefix of the signature namespace.
    pub(crate) ds: &'static str,
    /// The prefixes in InclusiveNamespaces.
    pub(crate) prefixes: &'static [&'static str],
    /// Whether values are wrapped into lines.
    pub(crate) wraps: bool,
    /// The `KeyInfo` after the signature value.
    pub(crate) key_info: String,
    /// Replacements in the `Signature` before it is signed.
    pub(crate) changes: Vec<(String, String)>,
    /// The HMAC secret to sign with instead of the key.
    pub(crate) hmac: Option<Vec<u8>>,
}

impl Signing {
    pub(crate) fn usual(ds: &'static str) -> Self {
        Self {
            key: &IDP,
            hash: Hash::Sha256,
            digest: Hash::Sha256,
            ds,
            prefixes: &[],
            wraps: false,
            key_info: key_info(ds, &IDP),
            changes: Vec::new(),
            hmac: None,
        }
    }

    /// Signs with another key, which the `KeyInfo` names too.
    pub(crate) fn by(&mut self, key: &'static Key, hash: Hash) {
        (self.key, self.hash, self.key_info) = (key, hash, key_info(self.ds, key));
    }

    /// Replaces text in the `Signature` before it is signed.
    pub(crate) fn change(&mut self, from: &str, to: &str) {
        self.changes.push((from.into(), to.into()));
    }

    fn method(&self) -> String {
        let kind = if self.key.private.id() == Id::EC { "ecdsa" } else { "rsa" };
        match self.hash {
            Hash::Sha1 => format!("{DS}{kind}-sha1"),
            hash => format!("http://www.w3.org/2001/04/xmldsig-more#{kind}-{}", hash.word()),
        }
    }

    /// Inserts a signature of the element with this ID after its issuer.
    pub(crate) fn sign(&self, xml: &str, id: &str) -> String {
        let digest = hash(self.digest.openssl(), &canonical(xml, id, None, self.prefixes)).unwrap();
        let unsigned = self.changes.iter().fold(self.template(id, &digest), |signature, (from, to)| {
            if from.is_empty() { format!("{signature}{to}") } else { signature.first(from, to) }
        });
        let place = xml.find(&format!("ID=\"{id}\"")).unwrap();
        let closes = |at: &usize| xml[..*at].rsplit('<').next().unwrap().starts_with('/');
        let issuer = xml.match_indices("Issuer>").map(|(at, _)| at).find(|at| *at > place && closes(at));
        let place = issuer.unwrap() + "Issuer>".len();
        let whole = format!("{}{unsigned}{}", &xml[..place], &xml[place..]);
        let info = canonical(&whole, id, Some("SignedInfo"), self.prefixes);
        whole.swap("VALUE-OF-SIGNATURE", &self.text(&self.value(&info)))
    }

    fn text(&self, bytes: &[u8]) -> String {
        let text = BASE64.encode(bytes);
        if !self.wraps {
            return text;
        }
        let lines: Vec<_> = text.as_bytes().chunks(76).map(|line| str::from_utf8(line).unwrap()).collect();
        format!("\n{}\n", lines.join("\n"))
    }

    fn template(&self, id: &str, digest: &[u8]) -> String {
        let p = |local: &str| name(self.ds, local);
        let kept = if self.prefixes.is_empty() {
            String::new()
        } else {
            format!(
                "<ec:InclusiveNamespaces xmlns:ec=\"{EXCLUSIVE}\" PrefixList=\"{}\"></ec:InclusiveNamespaces>",
                self.prefixes.join(" ")
            )
        };
        let exclusive = |what: &str| format!("<{0} Algorithm=\"{EXCLUSIVE}\">{kept}</{0}>", p(what));
        let plain = |what: &str, uri: &str| format!("<{0} Algorithm=\"{uri}\"></{0}>", p(what));
        let reference = format!(
            "<{reference} URI=\"#{id}\"><{steps}>{}{}</{steps}>{}<{value}>{}</{value}></{reference}>",
            plain("Transform", ENVELOPED),
            exclusive("Transform"),
            plain("DigestMethod", self.digest.uri()),
            self.text(digest),
            reference = p("Reference"),
            steps = p("Transforms"),
            value = p("DigestValue"),
        );
        format!(
            "<{signature}{}><{info}>{}{}{reference}</{info}><{value}>VALUE-OF-SIGNATURE</{value}>{}</{signature}>",
            xmlns(self.ds, DS),
            exclusive("CanonicalizationMethod"),
            plain("SignatureMethod", &self.method()),
            self.key_info,
            signature = p("Signature"),
            info = p("SignedInfo"),
            value = p("SignatureValue"),
        )
    }

    fn value(&self, info: &[u8]) -> Vec<u8> {
        if let Some(secret) = &self.hmac {
            let key = openssl::pkey::PKey::hmac(secret).unwrap();
            return Signer::new(self.hash.openssl(), &key).unwrap().sign_oneshot_to_vec(info).unwrap();
        }
        let mut signer = Signer::new(self.hash.openssl(), &self.key.private).unwrap();
        let made = signer.sign_oneshot_to_vec(info).unwrap();
        let Ok(key) = self.key.private.ec_key() else { return made };
        // XML signatures concatenate r and s, each as long as the curve's order.
        let width = i32::try_from(key.group().order_bits().div_ceil(8)).unwrap();
        let pair = EcdsaSig::from_der(&made).unwrap();
        let padded = |number: &BigNumRef| number.to_vec_padded(width).unwrap();
        [padded(pair.r()), padded(pair.s())].concat()
    }
}

/// Returns a `KeyInfo` with the key's certificate.
pub(crate) fn key_info(ds: &str, key: &Key) -> String {
    let [info, data, certificate] = ["KeyInfo", "X509Data", "X509Certificate"].map(|local| name(ds, local));
    format!("<{info}><{data}><{certificate}>{}</{certificate}></{data}></{info}>", key.certificate.base64())
}

/// Returns the canonical form of the element with this ID, or of the first `within` element inside it.
fn canonical(xml: &str, id: &str, within: Option<&str>, prefixes: &[&str]) -> Vec<u8> {
    let source = XmlDocument::parse(xml.to_owned()).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let tree = source.parse_doc().unwrap();
    let element = tree
        .descendants(tree.root())
        .into_iter()
        .find(|node| tree.element(*node).is_some_and(|element| element.get_attribute("ID") == Some(id)))
        .unwrap_or_else(|| panic!("no {id} in {xml}"));
    let chosen = match within {
        None => element,
        Some(local) => XmlDocument::find_elements(&tree, DS, local)
            .into_iter()
            .find(|node| is_ancestor_or_self(&tree, element, *node))
            .unwrap(),
    };
    let nodes = NodeSet::tree_without_comments(chosen, &tree);
    canonicalize_doc(&tree, C14nMode::Exclusive, Some(&nodes), prefixes).unwrap()
}
