//! Somebody who signs metadata.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};

/// An authority with a root of its own, and a signer whom it has certified.
pub struct Authority {
    root: String,
    chain: Vec<String>,
    key: EcdsaKeyPair,
}

/// Why there is none.
type Failed = Box<dyn std::error::Error + Send + Sync>;

impl Authority {
    /// Certifies a signer of this name, from 1975 until 4096.
    pub fn new(name: &str) -> Result<Self, Failed> {
        Self::certifying(CertificateParams::new(vec![name.to_owned()])?)
    }

    /// Certifies a signer as these say, but for what it is for.
    pub fn certifying(mut signer: CertificateParams) -> Result<Self, Failed> {
        let mut root = CertificateParams::default();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let root_key = KeyPair::generate()?;
        let root_certificate = root.self_signed(&root_key)?;
        signer.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let own = signer.signed_by(&key, &Issuer::from_params(&root, &root_key))?;
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key.serialize_der(), &random);
        Ok(Self {
            root: root_certificate.pem(),
            chain: vec![BASE64.encode(own.der())],
            key: key.map_err(|error| error.to_string())?,
        })
    }

    /// Its root, in PEM.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// A document that its signer has signed.
    pub fn sign(&self, payload: &Value) -> Result<String, Failed> {
        let header = json!({ "alg": "ES256", "typ": "JWT", "x5c": self.chain });
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(payload));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|error| error.to_string())?;
        Ok(format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref())))
    }
}
