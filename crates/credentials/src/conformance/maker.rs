//! A manufacturer of authenticators, which signs attestations.

use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    SigningKey, date_time_ymd,
};

/// A manufacturer with a root, and the certificate of a batch of authenticators.
pub struct Maker {
    root: String,
    root_der: Vec<u8>,
    certificate: Vec<u8>,
    key: KeyPair,
}

impl Maker {
    /// Creates a manufacturer of any model, with a certificate that is valid for a century.
    pub fn of_any_model() -> Self {
        Self::of(None, 2100)
    }

    /// Creates a manufacturer of one model, with a certificate that is valid until the end of a year.
    pub fn of(aaguid: Option<[u8; 16]>, until: i32) -> Self {
        let mut root = CertificateParams::default();
        root.distinguished_name.push(DnType::CommonName, "Root of a vendor");
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let root_key = KeyPair::generate().unwrap();
        let root_certificate = root.self_signed(&root_key).unwrap();
        let mut batch = CertificateParams::default();
        for (kind, value) in [
            (DnType::CountryName, "SE"),
            (DnType::OrganizationName, "Maker"),
            (DnType::OrganizationalUnitName, "Authenticator Attestation"),
            (DnType::CommonName, "Batch 1"),
        ] {
            batch.distinguished_name.push(kind, value);
        }
        batch.is_ca = IsCa::ExplicitNoCa;
        batch.not_after = date_time_ymd(until, 12, 31);
        // id-fido-gen-ce-aaguid: an OCTET STRING within the OCTET STRING.
        let extension = |aaguid: [u8; 16]| {
            let content = [&[4, 16], &aaguid[..]].concat();
            CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 45724, 1, 1, 4], content)
        };
        batch.custom_extensions.extend(aaguid.map(extension));
        let key = KeyPair::generate().unwrap();
        let certificate = batch.signed_by(&key, &Issuer::from_params(&root, &root_key)).unwrap();
        let (root, root_der) = (root_certificate.pem(), root_certificate.der().to_vec());
        Self { root, root_der, certificate: certificate.der().to_vec(), key }
    }

    /// Returns the root certificate in PEM.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the root certificate in DER.
    pub fn root_der(&self) -> &[u8] {
        &self.root_der
    }

    /// Returns the batch certificate in DER.
    pub fn certificate(&self) -> &[u8] {
        &self.certificate
    }

    /// Signs with the key of the batch certificate (ECDSA on P-256 with SHA-256).
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.key.sign(bytes).unwrap()
    }
}
