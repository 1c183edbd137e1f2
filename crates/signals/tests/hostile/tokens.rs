//! Tokens whose form, header, signature or JSON is wrong.

use data_encoding::{BASE64, BASE64URL_NOPAD};
use oidc_rp::{Algorithm, KeySet, conformance::Signer};
use serde_json::{Value, json};
use signals::{Expected, Reason, verify};

use crate::{
    check_tokens,
    transmitter::{AUDIENCE, ISSUER, SESSION_REVOKED, Transmitter, claims, now},
    with,
};

#[test]
fn tokens_of_another_form_are_refused() {
    let transmitter = Transmitter::new();
    let valid = transmitter.token(Algorithm::ES256, &claims());
    let parts: Vec<_> = valid.split('.').collect();
    let [header, payload, signature] = parts[..] else { unreachable!() };
    let with_header = |text: &[u8]| [&BASE64URL_NOPAD.encode(text), payload, signature].join(".");
    let flattened = json!({ "protected": header, "payload": payload, "signature": signature });
    // The last character of 64 bytes stands for two bits, and four that must be zero.
    let unused_bits = format!("{}{}", &valid[..valid.len() - 1], {
        let last = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap()[63] & 3;
        ["B", "R", "h", "x"][usize::from(last)]
    });
    check_tokens(
        &transmitter,
        [
            ("empty", Reason::NotSigned, String::new()),
            ("one part", Reason::NotSigned, header.to_owned()),
            ("without a signature part", Reason::NotSigned, [header, payload].join(".")),
            ("four parts", Reason::NotSigned, format!("{valid}.")),
            ("encrypted", Reason::NotSigned, format!("{valid}..")),
            ("JSON serialization", Reason::NotSigned, flattened.to_string()),
            ("larger than 64 KiB", Reason::TooLarge, format!("{valid}{}", "A".repeat(64 * 1024))),
            ("padded", Reason::NotBase64, format!("{valid}==")),
            (
                "base64 with the other alphabet",
                Reason::NotBase64,
                [header, &BASE64.encode(&[255; 60]), signature].join("."),
            ),
            ("with a line break", Reason::NotBase64, format!("{valid}\n")),
            ("with a space before it", Reason::NotBase64, format!(" {valid}")),
            ("with a scheme before it", Reason::NotBase64, format!("Bearer {valid}")),
            ("with unused bits", Reason::NotBase64, unused_bits),
            ("header is not JSON", Reason::HeaderNotJson, with_header(b"typ")),
            ("header is an array", Reason::HeaderNotJson, with_header(b"[]")),
            ("header is empty", Reason::HeaderNotJson, with_header(b"")),
            ("header is not UTF-8", Reason::HeaderNotJson, with_header(b"{\"alg\":\"\xff\"}")),
            ("header with text after it", Reason::HeaderNotJson, with_header(b"{\"alg\":\"ES256\"}{}")),
            ("alg is repeated", Reason::HeaderNotJson, with_header(br#"{"alg":"ES256","alg":"none"}"#)),
            (
                "alg is repeated in disguise",
                Reason::HeaderNotJson,
                with_header(br#"{"alg":"ES256","\u0061lg":"none"}"#),
            ),
        ],
    );
}

#[test]
fn headers_of_other_tokens_are_refused() {
    let transmitter = Transmitter::new();
    let with = |name: &str, value: Value| {
        let mut header = json!({ "alg": "ES256", "kid": "p256", "typ": "secevent+jwt" });
        header[name] = value;
        transmitter.sign(Algorithm::ES256, &header, claims().to_string().as_bytes())
    };
    let exactly =
        |header: Value| transmitter.sign(Algorithm::ES256, &header, claims().to_string().as_bytes());
    check_tokens(
        &transmitter,
        [
            ("typ is missing", Reason::TokenType, exactly(json!({ "alg": "ES256", "kid": "p256" }))),
            ("typ of any JWT", Reason::TokenType, with("typ", json!("JWT"))),
            ("typ of access tokens", Reason::TokenType, with("typ", json!("at+jwt"))),
            ("typ of logout tokens", Reason::TokenType, with("typ", json!("logout+jwt"))),
            (
                "typ with two prefixes",
                Reason::TokenType,
                with("typ", json!("application/application/secevent+jwt")),
            ),
            ("typ of another tree", Reason::TokenType, with("typ", json!("text/secevent+jwt"))),
            ("typ with a parameter", Reason::TokenType, with("typ", json!("secevent+jwt; v=1"))),
            ("typ with a space", Reason::TokenType, with("typ", json!(" secevent+jwt"))),
            ("typ is empty", Reason::TokenType, with("typ", json!(""))),
            ("typ is null", Reason::Header, with("typ", json!(null))),
            ("typ is an array", Reason::Header, with("typ", json!(["secevent+jwt"]))),
            ("alg is missing", Reason::Header, exactly(json!({ "kid": "p256", "typ": "secevent+jwt" }))),
            ("alg is a number", Reason::Header, with("alg", json!(256))),
            ("alg in lower case", Reason::Algorithm, with("alg", json!("es256"))),
            ("alg is unknown", Reason::Algorithm, with("alg", json!("ES512"))),
            ("alg is empty", Reason::Algorithm, with("alg", json!(""))),
            ("kid is a number", Reason::Header, with("kid", json!(1))),
            ("kid is too long", Reason::Header, with("kid", json!("k".repeat(257)))),
            ("kid is unknown", Reason::UnknownKey, with("kid", json!("p521"))),
            ("kid in upper case", Reason::UnknownKey, with("kid", json!("P256"))),
            ("kid of a key for another algorithm", Reason::UnknownKey, with("kid", json!("rsa"))),
            ("crit", Reason::Critical, with("crit", json!(["exp"]))),
            ("crit is empty", Reason::Critical, with("crit", json!([]))),
            ("b64 is false", Reason::Critical, with("b64", json!(false))),
            ("b64 is true", Reason::Critical, with("b64", json!(true))),
            ("enc", Reason::NotSigned, with("enc", json!("A256GCM"))),
            ("compressed", Reason::NotSigned, with("zip", json!("DEF"))),
            ("nested", Reason::NotSigned, with("cty", json!("JWT"))),
        ],
    );
}

#[test]
fn tokens_without_the_signature_of_the_transmitter_are_refused() {
    let transmitter = Transmitter::new();
    let provider = &transmitter.provider;
    let payload = claims().to_string();
    let by = |signer: Signer<'_>, header: Value| {
        provider.sign(signer, header.to_string().as_bytes(), payload.as_bytes())
    };
    let named = |alg: &str, kid: &str| json!({ "alg": alg, "kid": kid, "typ": "secevent+jwt" });
    let secret = provider.key_set();
    let valid = transmitter.token(Algorithm::ES256, &claims());
    let (signed, signature) = valid.rsplit_once('.').unwrap();
    let (header, _) = signed.split_once('.').unwrap();
    let encoded = |bytes: &[u8]| BASE64URL_NOPAD.encode(bytes);
    let signed_as = |bytes: &[u8]| format!("{signed}.{}", encoded(bytes));
    let another = with("jti", "another-token").to_string();
    let other_header = json!({ "kid": "p256", "alg": "ES256", "typ": "secevent+jwt" }).to_string();
    let own_key = json!({ "alg": "RS256", "typ": "secevent+jwt", "jwk": provider.foreign_key("mine") });
    let own_key_url =
        json!({ "alg": "RS256", "kid": "mine", "typ": "secevent+jwt", "jku": "https://evil.example" });
    check_tokens(
        &transmitter,
        [
            ("alg none without a signature", Reason::Algorithm, by(Signer::Nobody, named("none", "p256"))),
            ("alg None", Reason::Algorithm, by(Signer::Nobody, named("None", "p256"))),
            (
                "alg none with a signature",
                Reason::Algorithm,
                by(Signer::Own(Algorithm::ES256), named("none", "p256")),
            ),
            (
                "HMAC with the key set",
                Reason::Algorithm,
                by(Signer::Hmac(secret.as_bytes()), named("HS256", "rsa")),
            ),
            (
                "HMAC signature as RS256",
                Reason::BadSignature,
                by(Signer::Hmac(secret.as_bytes()), named("RS256", "rsa")),
            ),
            ("RS384", Reason::Algorithm, transmitter.token(Algorithm::RS384, &claims())),
            ("RS512", Reason::Algorithm, transmitter.token(Algorithm::RS512, &claims())),
            ("PS384", Reason::Algorithm, transmitter.token(Algorithm::PS384, &claims())),
            ("PS512", Reason::Algorithm, transmitter.token(Algorithm::PS512, &claims())),
            (
                "PS256 signature as RS256",
                Reason::BadSignature,
                by(Signer::Own(Algorithm::PS256), named("RS256", "rsa")),
            ),
            (
                "RS256 signature as PS256",
                Reason::BadSignature,
                by(Signer::Own(Algorithm::RS256), named("PS256", "rsa")),
            ),
            (
                "RS256 signature as ES256",
                Reason::BadSignature,
                by(Signer::Own(Algorithm::RS256), named("ES256", "p256")),
            ),
            ("a key of somebody else", Reason::BadSignature, by(Signer::Foreign, named("RS256", "rsa"))),
            ("a key in the header", Reason::BadSignature, by(Signer::Foreign, own_key)),
            ("the address of a key in the header", Reason::UnknownKey, by(Signer::Foreign, own_key_url)),
            ("no signature", Reason::BadSignature, format!("{signed}.")),
            ("a signature of zeros", Reason::BadSignature, signed_as(&[0; 64])),
            ("a shortened signature", Reason::BadSignature, signed_as(&[1; 63])),
            (
                "other claims",
                Reason::BadSignature,
                [header, &encoded(another.as_bytes()), signature].join("."),
            ),
            (
                "another header",
                Reason::BadSignature,
                [&encoded(other_header.as_bytes()), &encoded(payload.as_bytes()), signature].join("."),
            ),
            ("the signature of another token", Reason::BadSignature, {
                let other = transmitter.token(Algorithm::ES256, &with("jti", "another-token"));
                format!("{signed}.{}", other.rsplit_once('.').unwrap().1)
            }),
        ],
    );
    // Two keys that fit, and a header that names neither.
    let keys = json!({ "keys": [provider.keys()[0], provider.foreign_key("another")] }).to_string();
    let keys = KeySet::parse(&keys).unwrap();
    let token = by(Signer::Own(Algorithm::RS256), json!({ "alg": "RS256", "typ": "secevent+jwt" }));
    let refused =
        verify(&token, &keys, &Expected { issuer: ISSUER, audience: AUDIENCE, now: now() }).unwrap_err();
    assert_eq!(refused.reason, Reason::AmbiguousKey);
    assert!(refused.may_be_new_key());
}

#[test]
fn payloads_that_parsers_read_differently_are_refused() {
    let transmitter = Transmitter::new();
    let header = json!({ "alg": "ES256", "kid": "p256", "typ": "secevent+jwt" });
    let valid = claims().to_string();
    let sign = |payload: &[u8]| transmitter.sign(Algorithm::ES256, &header, payload);
    let replaced = |from: &str, to: &str| {
        let changed = valid.replacen(from, to, 1);
        assert_ne!(changed, valid);
        sign(changed.as_bytes())
    };
    let deep = with("x", (0..8).fold(json!(1), |inner, _| json!([inner])));
    check_tokens(
        &transmitter,
        [
            ("empty payload", Reason::ClaimsNotJson, sign(b"")),
            ("array", Reason::ClaimsNotJson, sign(format!("[{valid}]").as_bytes())),
            ("string", Reason::ClaimsNotJson, sign(json!(valid).to_string().as_bytes())),
            ("two objects", Reason::ClaimsNotJson, sign(format!("{valid}{{}}").as_bytes())),
            ("cut off", Reason::ClaimsNotJson, sign(&valid.as_bytes()[..valid.len() - 1])),
            ("byte order mark", Reason::ClaimsNotJson, sign(format!("\u{feff}{valid}").as_bytes())),
            ("not UTF-8", Reason::ClaimsNotJson, sign(&[valid.as_bytes(), b"\xff"].concat())),
            ("iss is repeated", Reason::ClaimsNotJson, replaced("{", r#"{"iss":"https://evil.example","#)),
            (
                "iss is repeated in disguise",
                Reason::ClaimsNotJson,
                replaced("{", r#"{"\u0069ss":"https://evil.example","#),
            ),
            ("user is repeated", Reason::ClaimsNotJson, replaced(r#""session":"#, r#""user":"#)),
            (
                "event is repeated",
                Reason::ClaimsNotJson,
                replaced(r#""events":{"#, &format!(r#""events":{{"{SESSION_REVOKED}":{{}},"#)),
            ),
            ("deeply nested", Reason::ClaimsNotJson, sign(deep.to_string().as_bytes())),
            ("infinite number", Reason::ClaimsNotJson, replaced(r#""iat":"#, r#""x":1e999,"iat":"#)),
            ("control character", Reason::ClaimsNotJson, replaced("a-token", "a\u{1}token")),
            ("lone surrogate", Reason::ClaimsNotJson, replaced("a-token", r"\ud800")),
        ],
    );
}
