//! JWTs that must name their type.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use oidc_rp::{
    Algorithm, KeySet, Reason, Refusal,
    conformance::{Signer, TestProvider},
    verify_typed,
};
use serde_json::{Value, json};

const ALLOWED: [Algorithm; 1] = [Algorithm::ES256];

fn verified(header: &Value, payload: &str) -> Result<Value, Refusal> {
    let provider = TestProvider::default();
    let keys = KeySet::parse(&provider.key_set()).unwrap();
    let signer = Signer::Own(Algorithm::ES256);
    let token = provider.sign(signer, header.to_string().as_bytes(), payload.as_bytes());
    verify_typed(&token, "secevent+jwt", &keys, &ALLOWED).map(|claims| Value::Object(claims.get().clone()))
}

fn header(typ: &str) -> Value {
    json!({ "alg": "ES256", "kid": "p256", "typ": typ })
}

#[test]
fn claims_of_a_token_of_the_type_are_returned_as_they_are() {
    for typ in ["secevent+jwt", "SecEvent+JWT", "application/secevent+jwt"] {
        assert_eq!(
            verified(&header(typ), r#"{"sub_id":{"a":[1]}}"#).unwrap(),
            json!({ "sub_id": { "a": [1] } })
        );
    }
}

#[test]
fn tokens_without_the_type_are_refused() {
    for (reason, header, payload) in [
        (Reason::TokenType, json!({ "alg": "ES256", "kid": "p256" }), "{}"),
        (Reason::TokenType, header("JWT"), "{}"),
        (Reason::TokenType, header(""), "{}"),
        (Reason::Header, json!({ "alg": "ES256", "kid": "p256", "typ": null }), "{}"),
        (Reason::Algorithm, json!({ "alg": "RS256", "kid": "rsa", "typ": "secevent+jwt" }), "{}"),
        (Reason::ClaimsNotJson, header("secevent+jwt"), r#"{"a":1,"a":2}"#),
    ] {
        assert_eq!(verified(&header, payload).unwrap_err().reason, reason, "{header}");
    }
}
