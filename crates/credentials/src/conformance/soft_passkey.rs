//! A software authenticator with user verification and without attestation.

use data_encoding::BASE64URL_NOPAD;
use kernel::{TenantId, Timestamp, UserId};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};

use crate::{Aaguid, Attestation, Creation, Passkey, Passkeys, TrustAnchors, user_handle};

/// Trusts no manufacturer.
struct NoTrustAnchors;

impl TrustAnchors for NoTrustAnchors {
    fn roots(&self, _: Aaguid) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// An authenticator in memory, with one passkey.
pub struct SoftPasskey {
    origin: String,
    key: EcdsaKeyPair,
    id: Vec<u8>,
    handle: String,
    counter: u32,
}

fn encode(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

impl SoftPasskey {
    /// Creates a passkey of a browser that shows a page of this origin.
    pub fn new(origin: &str) -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random).unwrap();
        let id = digest(&SHA256, key.public_key().as_ref()).as_ref().to_vec();
        Self { origin: origin.to_owned(), key, id, handle: String::new(), counter: 1 }
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let challenge = &options["challenge"];
        let data =
            json!({ "type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": false });
        data.to_string().into_bytes()
    }

    fn data(&self, rp_id: &Value, attested: &[u8]) -> Vec<u8> {
        // The flags UP and UV; with a credential, also AT (WebAuthn section 6.1).
        let flags = 0b101 | u8::from(!attested.is_empty()) << 6;
        let rp_id = digest(&SHA256, rp_id.as_str().unwrap().as_bytes());
        [rp_id.as_ref(), &[flags], &self.counter.to_be_bytes(), attested].concat()
    }

    /// Enrols the passkey for the user of this handle.
    pub fn enrol(&mut self, relying_party: &Passkeys, handle: &[u8], now: Timestamp) -> Passkey {
        let begun = relying_party.begin_registration(handle, "ada", "Ada", &[], Attestation::None);
        let (options, pending) = begun.unwrap();
        let created = self.create(&options);
        let finished =
            relying_party.finish_registration(&pending, &created, Creation::Asked, &NoTrustAnchors, now);
        finished.unwrap()
    }

    /// Returns what `navigator.credentials.create()` would.
    pub fn create(&mut self, options: &Value) -> Value {
        options["user"]["id"].as_str().unwrap().clone_into(&mut self.handle);
        let point = self.key.public_key().as_ref();
        let (x, y) = point.split_at_checked(33).unwrap();
        let number = |n: i128| Cbor::Integer(n);
        let cose = Cbor::Map(
            [
                (number(1), number(2)),
                (number(3), number(-7)),
                (number(-1), number(1)),
                (number(-2), Cbor::Bytes(x.strip_prefix(&[4]).unwrap().to_vec())),
                (number(-3), Cbor::Bytes(y.to_vec())),
            ]
            .into(),
        );
        let length = u16::try_from(self.id.len()).unwrap().to_be_bytes();
        let cose = serde_cbor_2::to_vec(&cose).unwrap();
        let data = self.data(&options["rp"]["id"], &[&[7; 16][..], &length, &self.id, &cose].concat());
        let text = |text: &str| Cbor::Text(text.into());
        let object = Cbor::Map(
            [
                (text("fmt"), text("none")),
                (text("attStmt"), Cbor::Map([].into())),
                (text("authData"), Cbor::Bytes(data)),
            ]
            .into(),
        );
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "attestationObject": encode(&serde_cbor_2::to_vec(&object).unwrap()),
                "clientDataJSON": encode(&self.client_data("webauthn.create", options)),
            },
        })
    }

    /// Lets assertions name this user, even if the passkey was never enrolled.
    pub fn set_user(&mut self, tenant: &TenantId, user: &UserId) {
        self.handle = encode(&user_handle(tenant, user));
    }

    /// Returns what `navigator.credentials.get()` would.
    pub fn get(&mut self, options: &Value) -> Value {
        self.counter += 1;
        let client = self.client_data("webauthn.get", options);
        let data = self.data(&options["rpId"], &[]);
        let signed = [&data[..], digest(&SHA256, &client).as_ref()].concat();
        let signature = self.key.sign(&SystemRandom::new(), &signed).unwrap();
        json!({
            "id": encode(&self.id), "rawId": encode(&self.id), "type": "public-key",
            "clientExtensionResults": {},
            "response": {
                "authenticatorData": encode(&data), "clientDataJSON": encode(&client),
                "signature": encode(signature.as_ref()), "userHandle": self.handle,
            },
        })
    }
}
