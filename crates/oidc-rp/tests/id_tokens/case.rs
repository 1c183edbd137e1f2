//! An ID token, and what it is compared with.

use kernel::{Secret, Timestamp};
use oidc_rp::{
    Algorithm, Examined, Expected, KeySet,
    conformance::{Signer, TestProvider, expected, key_id},
    examine,
};
use serde_json::{Map, Value, json};

pub(crate) const NONCE: &str = "a-nonce-of-this-request";
pub(crate) const CODE: &str = "a-code";
pub(crate) const ACCESS_TOKEN: &str = "an-access-token";

/// A token and what it is compared with.
pub(crate) struct Case<'p> {
    provider: &'p TestProvider,
    pub(crate) header: Value,
    pub(crate) claims: Map<String, Value>,
    signer: Signer<'static>,
    algorithms: Vec<Algorithm>,
    max_age: Option<u32>,
    acr_values: Vec<String>,
    keys: Vec<Value>,
    required: Vec<(String, Vec<String>)>,
}

fn now() -> Timestamp {
    "2026-03-01T12:00:00.000Z".parse().unwrap()
}

/// Returns a time as seconds since 1970.
pub(crate) fn seconds(from_now: i64) -> i64 {
    now().unix_millis() / 1000 + from_now
}

impl<'p> Case<'p> {
    pub(crate) fn new(provider: &'p TestProvider) -> Self {
        Self {
            provider,
            header: json!({ "alg": "RS256", "kid": "rsa", "typ": "JWT" }),
            claims: provider.claims(NONCE, now()),
            signer: Signer::Own(Algorithm::RS256),
            algorithms: Algorithm::ALL.to_vec(),
            max_age: None,
            acr_values: Vec::new(),
            keys: provider.keys(),
            required: Vec::new(),
        }
    }

    pub(crate) fn by(mut self, algorithm: Algorithm) -> Self {
        self.header["alg"] = algorithm.as_str().into();
        self.header["kid"] = key_id(algorithm).into();
        self.signer = Signer::Own(algorithm);
        self
    }

    pub(crate) fn signer(mut self, signer: Signer<'static>) -> Self {
        self.signer = signer;
        self
    }

    /// Sets a claim; `null` removes it.
    pub(crate) fn claim(mut self, name: &str, value: Value) -> Self {
        if value.is_null() {
            self.claims.remove(name);
        } else {
            self.claims.insert(name.into(), value);
        }
        self
    }

    /// Sets a member of the header; `null` removes it.
    pub(crate) fn header(mut self, name: &str, value: Value) -> Self {
        if value.is_null() {
            self.header.as_object_mut().unwrap().remove(name);
        } else {
            self.header[name] = value;
        }
        self
    }

    pub(crate) fn allowing(mut self, algorithms: &[Algorithm]) -> Self {
        self.algorithms = algorithms.to_vec();
        self
    }

    pub(crate) fn max_age(mut self, seconds: u32) -> Self {
        self.max_age = Some(seconds);
        self
    }

    pub(crate) fn acr_values(mut self, values: &[&str]) -> Self {
        self.acr_values = values.iter().map(ToString::to_string).collect();
        self
    }

    pub(crate) fn keys(mut self, keys: Vec<Value>) -> Self {
        self.keys = keys;
        self
    }

    pub(crate) fn requiring(mut self, name: &str, values: &[&str]) -> Self {
        self.required.push((name.into(), values.iter().map(ToString::to_string).collect()));
        self
    }

    pub(crate) fn token(&self) -> String {
        let payload = Value::Object(self.claims.clone()).to_string();
        self.provider.sign(self.signer, self.header.to_string().as_bytes(), payload.as_bytes())
    }

    pub(crate) fn examine(&self, token: &str) -> Examined {
        let keys = KeySet::parse(&json!({ "keys": self.keys }).to_string()).unwrap();
        let (code, access_token) = (Secret::new(CODE.to_owned()), Secret::new(ACCESS_TOKEN.to_owned()));
        let expected = Expected {
            algorithms: &self.algorithms,
            requested_at: now().plus_millis(-30_000),
            max_age: self.max_age,
            acr_values: &self.acr_values,
            required_claims: &self.required,
            access_token: &access_token,
            ..expected(NONCE, &code, now())
        };
        examine(token, &keys, &expected)
    }
}
