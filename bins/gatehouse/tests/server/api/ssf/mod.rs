//! Shared signals, from the receiver's access token to the token about an event.

mod delivery;
mod management;
mod outside;
mod received;

use data_encoding::BASE64URL_NOPAD;
use directory::Role;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents};
use serde_json::{Value, json};

use crate::support::{Answer, Browser, Caller, Server, Tenant};

pub(crate) const RECEIVERS: &str = "/api/settings/signals/receivers";
const STREAM: &str = "/api/ssf/stream";

/// A tenant with an administrator and a receiver.
struct Site {
    tenant: Tenant,
    admin: Browser,
    /// The path of the receiver.
    path: String,
    receiver: Caller,
    anybody: Caller,
}

impl Site {
    fn new(server: &Server, slug: &str) -> Self {
        Self::with(server, slug, &json!({}))
    }

    /// Creates a receiver with further members.
    fn with(server: &Server, slug: &str, more: &Value) -> Self {
        let tenant = server.tenant(slug);
        let (_, admin) = server.signed_in(&tenant, &format!("admin@{slug}.example"), Role::Admin);
        let mut new = json!({ "name": "Payroll", "audience": "https://payroll.example/" });
        new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = admin.post(RECEIVERS, &new);
        assert_eq!((made.status, made.header("cache-control")), (200, "no-store"), "{}", made.text);
        let made = made.json();
        let receiver = server.anonymous().bearer(made["token"].as_str().unwrap());
        let path = format!("{RECEIVERS}/{}", made["id"].as_str().unwrap());
        Self { tenant, admin, path, receiver, anybody: server.anonymous() }
    }

    /// Returns the path of the transmitter.
    fn transmitter(&self) -> String {
        format!("/api/ssf/{}", self.tenant.id)
    }

    /// Creates the stream with these members, and returns it.
    fn stream(&self, body: &Value) -> Value {
        let made = post(&self.receiver, STREAM, body);
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()
    }

    fn poll(&self, stream: &Value, body: &Value) -> Answer {
        let id = stream["stream_id"].as_str().unwrap();
        post(&self.receiver, &format!("/api/ssf/poll/{id}"), body)
    }

    /// Polls at once, acknowledges these tokens and returns the verified claims of the next ones.
    fn polled(&self, stream: &Value, acknowledged: &[&str]) -> Vec<Value> {
        let polled = self.poll(stream, &json!({ "returnImmediately": true, "ack": acknowledged }));
        assert_eq!((polled.status, polled.header("cache-control")), (200, "no-store"), "{}", polled.text);
        let sets = polled.json()["sets"].as_object().unwrap().clone();
        let claims = sets.iter().map(|(jti, token)| {
            let claims = self.verified(token.as_str().unwrap());
            assert_eq!(claims["jti"], jti.as_str());
            claims
        });
        claims.collect()
    }

    /// Verifies a token with the key set, and returns its claims.
    fn verified(&self, token: &str) -> Value {
        let keys = self.anybody.get(&format!("{}/jwks", self.transmitter())).json();
        let decode = |part: &str| BASE64URL_NOPAD.decode(part.as_bytes()).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let (header, payload) = signed.split_once('.').unwrap();
        let header: Value = serde_json::from_slice(&decode(header)).unwrap();
        assert_eq!((&header["alg"], &header["typ"]), (&json!("RS256"), &json!("secevent+jwt")));
        let key = keys["keys"].as_array().unwrap().iter().find(|key| key["kid"] == header["kid"]);
        let key = key.unwrap_or_else(|| panic!("{header} is not in {keys}"));
        let number = |name: &str| decode(key[name].as_str().unwrap());
        RsaPublicKeyComponents { n: number("n"), e: number("e") }
            .verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &decode(signature))
            .unwrap();
        let claims: Value = serde_json::from_slice(&decode(payload)).unwrap();
        assert!(claims["iss"].as_str().unwrap().ends_with(&self.transmitter()), "{claims}");
        assert_eq!(claims["aud"], "https://payroll.example/");
        assert_eq!(claims["events"].as_object().unwrap().len(), 1);
        claims
    }

    fn create_user(&self, name: &str) -> String {
        let made = self.tenant.scim.post("/api/scim/v2/Users", &json!({ "userName": name }));
        assert_eq!(made.status, 201, "{}", made.text);
        made.json()["id"].as_str().unwrap().to_owned()
    }
}

/// Returns the type of the event, without the beginning that all of its kind have, and its payload.
fn event(claims: &Value) -> (String, Value) {
    let (uri, payload) = claims["events"].as_object().unwrap().iter().next().unwrap();
    let short = uri.rsplit_once("/event-type/").map_or(uri.as_str(), |(_, short)| short);
    (short.replace("urn:ietf:params:scim:event:", ""), payload.clone())
}

/// Posts JSON.
fn post(caller: &Caller, path: &str, body: &Value) -> Answer {
    caller.send("POST", path, Some("application/json"), &body.to_string())
}
