//! A software authenticator with any model, flags and counter.

use std::rc::Rc;

use data_encoding::BASE64URL_NOPAD;
use kernel::{TenantId, Timestamp, UserId};
use ring::{
    digest::{SHA256, digest},
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_cbor_2::Value as Cbor;
use serde_json::{Value, json};

use super::Maker;
use crate::{Aaguid, Attestation, Creation, Passkey, Passkeys, TrustAnchors, user_handle};

/// Trusts no manufacturer.
#[derive(Debug)]
pub struct NoTrustAnchors;

impl TrustAnchors for NoTrustAnchors {
    fn roots(&self, _: Aaguid) -> Vec<Vec<u8>> {
        Vec::new()
    }
}

/// A passkey and its device. It verifies the user, cannot be copied and sends no attestation, unless a test changes that.
#[expect(clippy::struct_excessive_bools, reason = "flags of the authenticator data")]
pub struct Authenticator {
    key: EcdsaKeyPair,
    id: Vec<u8>,
    handle: Vec<u8>,
    /// The model that it reports.
    pub aaguid: [u8; 16],
    /// The signature counter.
    pub counter: u32,
    /// Whether it verifies the user.
    pub verifies: bool,
    /// Whether the user was asked. Passkeys that are created conditionally are created without.
    pub asks: bool,
    /// Whether the passkey can be copied to other devices.
    pub backup_eligible: bool,
    /// Whether it is backed up.
    pub backed_up: bool,
    /// The origin of the page that the browser shows.
    pub origin: String,
    /// The attestation.
    pub attests: Attests,
    /// The attachment that the browser reports.
    pub attachment: Option<&'static str>,
}

/// The attestation that the authenticator sends if requested.
pub enum Attests {
    /// None.
    Nothing,
    /// Self-attestation, signed with the passkey's own key.
    Itself,
    /// Signed by the manufacturer.
    By(Rc<Maker>),
    /// Signed by the manufacturer in the U2F format, which does not disclose the model.
    U2f(Rc<Maker>),
    /// An unknown format.
    Oddly,
    /// Signed by the manufacturer, with its certificate so many times.
    Repeatedly(Rc<Maker>, usize),
    /// Signed with the passkey's key over other data.
    Falsely,
}

impl Authenticator {
    /// Creates a passkey of a browser that shows a page of this origin.
    pub fn new(origin: &str) -> Self {
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
            asks: true,
            backup_eligible: false,
            backed_up: false,
            origin: origin.to_owned(),
            attests: Attests::Nothing,
            attachment: Some("platform"),
        }
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

    /// Lets assertions name this user, even if the passkey was never enrolled.
    pub fn set_user(&mut self, tenant: &TenantId, user: &UserId) {
        self.handle = user_handle(tenant, user);
    }

    fn client_data(&self, kind: &str, options: &Value) -> Vec<u8> {
        let data = json!({ "type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": false });
        data.to_string().into_bytes()
    }

    fn authenticator_data(&self, rp_id: &str, attested: Option<Vec<u8>>) -> Vec<u8> {
        let flag = |on: bool, bit: u8| u8::from(on) << bit;
        let flags = flag(self.asks, 0)
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

    /// Returns the attestation format and statement. Browsers omit attestation that was not requested.
    fn attestation(&self, options: &Value, data: &[u8], client: &[u8]) -> (&'static str, Cbor) {
        let text = |text: &str| Cbor::Text(text.into());
        let signed = [data, digest(&SHA256, client).as_ref()].concat();
        let own = |bytes: &[u8]| self.key.sign(&SystemRandom::new(), bytes).unwrap().as_ref().to_vec();
        let es256 = (text("alg"), Cbor::Integer(-7));
        let signature = |bytes: Vec<u8>| (text("sig"), Cbor::Bytes(bytes));
        if options["attestation"] != "direct" {
            return ("none", Cbor::Map([].into()));
        }
        match &self.attests {
            Attests::Nothing => ("none", Cbor::Map([].into())),
            Attests::Itself => ("packed", Cbor::Map([es256, signature(own(&signed))].into())),
            Attests::Falsely => ("packed", Cbor::Map([es256, signature(own(b"something else"))].into())),
            Attests::By(maker) => {
                let chain = Cbor::Array(vec![Cbor::Bytes(maker.certificate().to_vec())]);
                let statement = [es256, signature(maker.sign(&signed)), (text("x5c"), chain)];
                ("packed", Cbor::Map(statement.into()))
            }
            Attests::U2f(maker) => {
                let (rp_id_hash, client) = (&data[..32], digest(&SHA256, client));
                let signed = [&[0], rp_id_hash, client.as_ref(), &self.id, self.key.public_key().as_ref()];
                let chain = Cbor::Array(vec![Cbor::Bytes(maker.certificate().to_vec())]);
                let statement = [signature(maker.sign(&signed.concat())), (text("x5c"), chain)];
                ("fido-u2f", Cbor::Map(statement.into()))
            }
            Attests::Repeatedly(maker, times) => {
                let chain = Cbor::Array(vec![Cbor::Bytes(maker.certificate().to_vec()); *times]);
                let statement = [es256, signature(maker.sign(&signed)), (text("x5c"), chain)];
                ("packed", Cbor::Map(statement.into()))
            }
            Attests::Oddly => ("compound", Cbor::Map([].into())),
        }
    }

    /// Returns the result of `navigator.credentials.create()`.
    pub fn create(&mut self, options: &Value) -> Value {
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
        let client = self.client_data("webauthn.create", options);
        let (form, statement) = self.attestation(options, &data, &client);
        let text = |text: &str| Cbor::Text(text.into());
        let object = Cbor::Map(
            [(text("fmt"), text(form)), (text("attStmt"), statement), (text("authData"), Cbor::Bytes(data))]
                .into(),
        );
        let encode = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
        json!({
            "id": encode(&self.id),
            "rawId": encode(&self.id),
            "type": "public-key",
            "authenticatorAttachment": self.attachment,
            "clientExtensionResults": {},
            "response": {
                "attestationObject": encode(&serde_cbor_2::to_vec(&object).unwrap()),
                "clientDataJSON": encode(&client),
                "transports": ["internal"],
            },
        })
    }

    /// Returns the result of `navigator.credentials.get()`.
    pub fn get(&mut self, options: &Value) -> Value {
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
