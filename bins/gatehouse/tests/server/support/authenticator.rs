//! An authenticator of our own: with whatever make, flags and counter a test needs.

use data_encoding::BASE64URL_NOPAD;
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};

use super::ORIGIN;

/// A passkey and the device that holds it.
pub(crate) struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    handle: Vec<u8>,
    pub(crate) aaguid: [u8; 16],
    pub(crate) counter: u32,
    pub(crate) verifies: bool,
    pub(crate) backup_eligible: bool,
    pub(crate) backed_up: bool,
    pub(crate) origin: String,
}

impl Authenticator {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let id = digest(&SHA256, key.public_key().as_ref()).as_ref().to_vec();
        Self {
            key,
            id,
            handle: Vec::new(),
            aaguid: [7; 16],
            counter: 1,
            verifies: true,
            backup_eligible: false,
            backed_up: false,
            origin: ORIGIN.to_owned(),
        }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false });
        data.to_string().into_bytes()
    }

    fn authenticator_data(&self, rp_id: &str, attested: Option<Vec<u8>>) -> Vec<u8> {
        let flag = |on: bool, bit: u8| u8::from(on) << bit;
        let flags = flag(true, 0)
            | flag(self.verifies, 2)
            | flag(self.backup_eligible, 3)
            | flag(self.backed_up, 4)
            | flag(attested.is_some(), 6);
        let mut data = digest(&SHA256, rp_id.as_bytes()).as_ref().to_vec();
        data.push(flags);
        data.extend_from_slice(&self.counter.to_be_bytes());
        data.extend(attested.unwrap_or_default());
        data
    }

    /// What `navigator.credentials.create()` gives.
    pub(crate) fn create(&mut self, options: &Value) -> Value {
        let handle = options["user"]["id"].as_str().unwrap();
        self.handle = BASE64URL_NOPAD.decode(handle.as_bytes()).unwrap();
        let point = self.key.public_key().as_ref();
        let number = |n: i128| Cbor::Integer(n);
        let cose = Cbor::Map(
            [
                (number(1), number(2)),
                (number(3), number(-7)),
                (number(-1), number(1)),
                (number(-2), Cbor::Bytes(point[1..33].to_vec())),
                (number(-3), Cbor::Bytes(point[33..].to_vec())),
            ]
            .into(),
        );
        let mut attested = self.aaguid.to_vec();
        attested.extend_from_slice(&u16::try_from(self.id.len()).unwrap().to_be_bytes());
        attested.extend_from_slice(&self.id);
        attested.extend(serde_cbor_2::to_vec(&cose).unwrap());
        let data = self.authenticator_data(options["rp"]["id"].as_str().unwrap(), Some(attested));
        let text = |text: &str| Cbor::Text(text.into());
        let object = Cbor::Map(
            [
                (text("fmt"), text("none")),
                (text("attStmt"), Cbor::Map([].into())),
                (text("authData"), Cbor::Bytes(data)),
            ]
            .into(),
        );
        let encode = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "authenticatorAttachment": "platform",
            "clientExtensionResults": {},
            "response": {
                "attestationObject": encode(&serde_cbor_2::to_vec(&object).unwrap()),
                "clientDataJSON": encode(&self.client_data("webauthn.create", options)),
                "transports": ["internal"],
            },
        })
    }

    /// What `navigator.credentials.get()` gives.
    pub(crate) fn get(&mut self, options: &Value) -> Value {
        self.counter += 1;
        let client = self.client_data("webauthn.get", options);
        let data = self.authenticator_data(options["rpId"].as_str().unwrap(), None);
        let signed = [&data[..], digest(&SHA256, &client).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        let encode = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "authenticatorData": encode(&data),
                "clientDataJSON": encode(&client),
                "signature": encode(signature.as_ref()),
                "userHandle": encode(&self.handle),
            },
        })
    }
}
