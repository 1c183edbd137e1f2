//! A certificate authority that signs metadata in tests.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use serde_json::{Value, json};

/// An authority with its own root and a signer that it has certified.
pub struct Authority {
    root: String,
    chain: Vec<String>,
    key: EcdsaKeyPair,
}

/// The reason why no authority could be created.
type Failed = Box<dyn std::error::Error + Send + Sync>;

impl Authority {
    /// Creates a signer with this name, valid from 1975 until 4096.
    pub fn new(name: &str) -> Result<Self, Failed> {
        Self::certifying(CertificateParams::new(vec![name.to_owned()])?)
    }

    /// Creates a signer with these parameters. Only the extended key usage is overwritten.
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

    /// Returns the root certificate in PEM.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns a metadata document with this payload, signed by the signer.
    pub fn sign(&self, payload: &Value) -> Result<String, Failed> {
        let header = json!({ "alg": "ES256", "typ": "JWT", "x5c": self.chain });
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(&header), part(payload));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes());
        let signature = signature.map_err(|error| error.to_string())?;
        Ok(format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref())))
    }
}
