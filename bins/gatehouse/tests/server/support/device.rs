//! A client of Device Bound Session Credentials: a browser's part of the protocol, with a key in software.

use data_encoding::BASE64URL_NOPAD;
use ring::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair},
};
use serde_json::{Value, json};

use super::{Answer, Browser};

/// The key of a browser, and the session that is bound to it.
pub(crate) struct Device {
    key: EcdsaKeyPair,
    pub(crate) session: String,
    pub(crate) challenge: String,
}

/// Returns the value of a parameter of a header.
fn parameter(header: &str, name: &str) -> String {
    let value = header.split(&format!(";{name}=\"")).nth(1).unwrap_or_else(|| panic!("{name} in {header}"));
    value.split('"').next().unwrap().to_owned()
}

impl Device {
    pub(crate) fn new() -> Self {
        let random = SystemRandom::new();
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &random).unwrap();
        Self { key, session: String::new(), challenge: String::new() }
    }

    fn sign(&self, header: &Value, challenge: &str) -> String {
        let part = |value: &Value| BASE64URL_NOPAD.encode(value.to_string().as_bytes());
        let signed = format!("{}.{}", part(header), part(&json!({ "jti": challenge })));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).unwrap();
        format!("{signed}.{}", BASE64URL_NOPAD.encode(signature.as_ref()))
    }

    /// Returns a proof that registers the key.
    pub(crate) fn registration(&self, challenge: &str) -> String {
        let point = self.key.public_key().as_ref();
        let [x, y] = [&point[1..33], &point[33..]].map(|bytes| BASE64URL_NOPAD.encode(bytes));
        let jwk = json!({ "kty": "EC", "crv": "P-256", "x": x, "y": y });
        self.sign(&json!({ "alg": "ES256", "typ": "dbsc+jwt", "jwk": jwk }), challenge)
    }

    /// Returns a proof of the key.
    pub(crate) fn proof(&self, challenge: &str) -> String {
        self.sign(&json!({ "alg": "ES256", "typ": "dbsc+jwt" }), challenge)
    }

    /// Does what the response to a sign-in asks for: registers the key.
    pub(crate) fn register(&mut self, browser: &Browser, signed_in: &Answer) -> Answer {
        let asked = signed_in.header("secure-session-registration");
        let proof = self.registration(&parameter(asked, "challenge"));
        let answer =
            browser.with("Secure-Session-Response", &proof).post(&parameter(asked, "path"), &json!({}));
        keep(browser, &answer);
        if answer.status == 200 {
            answer.json()["session_identifier"].as_str().unwrap().clone_into(&mut self.session);
            self.challenge = next_challenge(&answer);
        }
        answer
    }

    /// Renews the cookie with the challenge of the last response.
    pub(crate) fn refresh(&mut self, browser: &Browser) -> Answer {
        let challenge = self.challenge.clone();
        self.answer(browser, &challenge)
    }

    /// Answers a challenge.
    pub(crate) fn answer(&mut self, browser: &Browser, challenge: &str) -> Answer {
        self.send(browser, Some(&self.proof(challenge)))
    }

    /// Sends a request to renew the cookie, with this proof.
    pub(crate) fn send(&mut self, browser: &Browser, proof: Option<&str>) -> Answer {
        let mut caller = browser.with("Sec-Secure-Session-Id", &self.session);
        if let Some(proof) = proof {
            caller = caller.with("Secure-Session-Response", proof);
        }
        let answer = caller.post("/api/auth/device-session/refresh", &json!({}));
        keep(browser, &answer);
        if [200, 403].contains(&answer.status) {
            self.challenge = next_challenge(&answer);
        }
        answer
    }
}

/// Adds the cookies of a response to a browser.
fn keep(browser: &Browser, answer: &Answer) {
    for cookie in answer.cookies() {
        browser.set(cookie.name(), cookie.value());
    }
}

fn next_challenge(answer: &Answer) -> String {
    let header = answer.header("secure-session-challenge");
    header.trim_start_matches('"').split('"').next().unwrap().to_owned()
}
