//! Encrypts assertions with OpenSSL.

use data_encoding::BASE64;
use openssl::{
    encrypt::Encrypter,
    rand::rand_bytes,
    rsa::Padding,
    symm::{Cipher, encrypt, encrypt_aead},
    x509::X509,
};
use saml_sp::Certificate;

use crate::{
    factory::{DS, Swap, name},
    keys::OURS,
    sign::Hash,
};

const ENC: &str = "http://www.w3.org/2001/04/xmlenc#";
const ENC11: &str = "http://www.w3.org/2009/xmlenc11#";

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    Aes128Gcm,
    Aes192Gcm,
    Aes256Gcm,
    Aes128Cbc,
}

/// The transport of the content key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    /// `rsa-oaep-mgf1p`, with or without an explicit digest.
    Mgf1p(Option<Hash>),
    /// `rsa-oaep` of XML Encryption 1.1, with digest and mask generation function.
    Oaep(Hash, Hash),
    /// `rsa-1_5`
    Pkcs1,
}

#[derive(Clone)]
pub(crate) struct Seal {
    pub(crate) content: Content,
    pub(crate) transport: Transport,
    /// The recipients, in this order.
    pub(crate) recipients: Vec<Certificate>,
    /// Whether the keys are next to the encrypted data instead of inside it.
    pub(crate) beside: bool,
    pub(crate) wraps: bool,
    /// Changes nonce, content and tag before they are encoded.
    pub(crate) bend: fn(&mut Vec<u8>),
    /// Changes the content key before it is wrapped.
    pub(crate) bend_key: fn(&mut Vec<u8>),
    pub(crate) changes: Vec<(String, String)>,
}

impl Seal {
    pub(crate) fn usual() -> Self {
        Self {
            content: Content::Aes256Gcm,
            transport: Transport::Mgf1p(None),
            recipients: vec![OURS[0].certificate.clone()],
            beside: false,
            wraps: false,
            bend: |_| (),
            bend_key: |_| (),
            changes: Vec::new(),
        }
    }

    pub(crate) fn change(&mut self, from: &str, to: &str) {
        self.changes.push((from.into(), to.into()));
    }

    /// Returns an `EncryptedAssertion` with this plaintext.
    pub(crate) fn seal(&self, saml: &str, plain: impl AsRef<[u8]>) -> String {
        let (cipher, uri) = match self.content {
            Content::Aes128Gcm => (Cipher::aes_128_gcm(), format!("{ENC11}aes128-gcm")),
            Content::Aes192Gcm => (Cipher::aes_192_gcm(), format!("{ENC11}aes192-gcm")),
            Content::Aes256Gcm => (Cipher::aes_256_gcm(), format!("{ENC11}aes256-gcm")),
            Content::Aes128Cbc => (Cipher::aes_128_cbc(), format!("{ENC}aes128-cbc")),
        };
        let mut secret = vec![0; cipher.key_len()];
        rand_bytes(&mut secret).unwrap();
        let mut sealed = vec![0; cipher.iv_len().unwrap()];
        rand_bytes(&mut sealed).unwrap();
        if self.content == Content::Aes128Cbc {
            let body = encrypt(cipher, &secret, Some(&sealed), plain.as_ref()).unwrap();
            sealed.extend(body);
        } else {
            let mut tag = [0; 16];
            let body = encrypt_aead(cipher, &secret, Some(&sealed), &[], plain.as_ref(), &mut tag).unwrap();
            sealed.extend(body);
            sealed.extend(tag);
        }
        (self.bend)(&mut sealed);
        (self.bend_key)(&mut secret);
        let keys: String =
            self.recipients.iter().enumerate().map(|(at, to)| self.wrapped(at + 1, to, &secret)).collect();
        let info = if self.beside {
            "<ds:KeyInfo><ds:RetrievalMethod Type=\"http://www.w3.org/2001/04/xmlenc#EncryptedKey\" URI=\"#_k1\"></ds:RetrievalMethod></ds:KeyInfo>".to_owned()
        } else {
            format!("<ds:KeyInfo>{keys}</ds:KeyInfo>")
        };
        let element = name(saml, "EncryptedAssertion");
        let namespace = crate::factory::xmlns(saml, crate::factory::SAML);
        let whole = format!(
            "<{element}{namespace}><xenc:EncryptedData xmlns:xenc=\"{ENC}\" xmlns:ds=\"{DS}\" Type=\"{ENC}Element\"><xenc:EncryptionMethod Algorithm=\"{uri}\"></xenc:EncryptionMethod>{info}<xenc:CipherData><xenc:CipherValue>{}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>{}</{element}>",
            self.text(&sealed),
            if self.beside { keys } else { String::new() },
        );
        self.changes.iter().fold(whole, |whole, (from, to)| whole.first(from, to))
    }

    /// Returns an `EncryptedID` with this plaintext.
    pub(crate) fn seal_id(&self, plain: &str) -> String {
        self.seal("saml", plain).all("saml:EncryptedAssertion", "saml:EncryptedID")
    }

    fn text(&self, bytes: &[u8]) -> String {
        let text = BASE64.encode(bytes);
        if self.wraps {
            text.as_bytes().chunks(64).map(|line| format!("{}\r\n", str::from_utf8(line).unwrap())).collect()
        } else {
            text
        }
    }

    fn wrapped(&self, number: usize, to: &Certificate, secret: &[u8]) -> String {
        let public = X509::from_der(to.der()).unwrap().public_key().unwrap();
        let mut encrypter = Encrypter::new(&public).unwrap();
        let (padding, method) = match self.transport {
            Transport::Pkcs1 => (Padding::PKCS1, format!("Algorithm=\"{ENC}rsa-1_5\">")),
            Transport::Mgf1p(None) => (Padding::PKCS1_OAEP, format!("Algorithm=\"{ENC}rsa-oaep-mgf1p\">")),
            Transport::Mgf1p(Some(digest)) => {
                let digest = format!("<ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod>", digest.uri());
                (Padding::PKCS1_OAEP, format!("Algorithm=\"{ENC}rsa-oaep-mgf1p\">{digest}"))
            }
            Transport::Oaep(digest, mask) => {
                let digest = format!("<ds:DigestMethod Algorithm=\"{}\"></ds:DigestMethod>", digest.uri());
                let mask = format!(
                    "<xenc11:MGF xmlns:xenc11=\"{ENC11}\" Algorithm=\"{ENC11}mgf1{}\"></xenc11:MGF>",
                    mask.word()
                );
                (Padding::PKCS1_OAEP, format!("Algorithm=\"{ENC11}rsa-oaep\">{digest}{mask}"))
            }
        };
        encrypter.set_rsa_padding(padding).unwrap();
        let (digest, mask) = match self.transport {
            Transport::Oaep(digest, mask) => (Some(digest), Some(mask)),
            Transport::Mgf1p(digest) => (digest, Some(Hash::Sha1)),
            Transport::Pkcs1 => (None, None),
        };
        if let Some(mask) = mask {
            encrypter.set_rsa_oaep_md(digest.unwrap_or(Hash::Sha1).openssl()).unwrap();
            encrypter.set_rsa_mgf1_md(mask.openssl()).unwrap();
        }
        let mut sealed = vec![0; encrypter.encrypt_len(secret).unwrap()];
        let length = encrypter.encrypt(secret, &mut sealed).unwrap();
        sealed.truncate(length);
        format!(
            "<xenc:EncryptedKey xmlns:xenc=\"{ENC}\" xmlns:ds=\"{DS}\" Id=\"_k{number}\"><xenc:EncryptionMethod {method}</xenc:EncryptionMethod><xenc:CipherData><xenc:CipherValue>{}</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey>",
            self.text(&sealed)
        )
    }
}
