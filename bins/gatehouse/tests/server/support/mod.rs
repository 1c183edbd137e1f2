//! Servers, callers and answers for the tests.

mod client;
mod process;
mod server;

pub(crate) use client::{Answer, Caller};
pub(crate) use process::Process;
pub(crate) use server::{Server, Tenant, on_both};

use serde_json::{Value, json};

/// A self-signed certificate for `localhost`, and its key, in PEM.
pub(crate) fn server_certificate() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// A user as most tests need one.
pub(crate) fn ada() -> Value {
    json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User"],
        "userName": "Ada@Example.com",
        "externalId": "00u1",
        "name": { "givenName": "Ada", "familyName": "Lovelace" },
        "emails": [{ "value": "ada@example.com", "type": "work", "primary": true }],
    })
}
