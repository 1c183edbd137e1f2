//! A corpus of valid and hostile ID tokens, each with the reason for which it is refused.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

mod case;

use data_encoding::BASE64URL_NOPAD;
use oidc_rp::{
    Algorithm, Examined, Reason, Step,
    conformance::{CLIENT, ISSUER, Signer, TestProvider},
};
use ring::digest;
use serde_json::{Value, json};

use case::{ACCESS_TOKEN, CODE, Case, NONCE, seconds};

fn half(algorithm: &'static digest::Algorithm, value: &str) -> Value {
    let hash = digest::digest(algorithm, value.as_bytes());
    BASE64URL_NOPAD.encode(&hash.as_ref()[..hash.as_ref().len() / 2]).into()
}

#[test]
fn valid_tokens_are_accepted() {
    let provider = TestProvider::default();
    let case = || Case::new(&provider);
    let only = |id: &str| provider.keys().into_iter().filter(|key| key["kid"] == id).collect::<Vec<_>>();
    let mut valid: Vec<Case<'_>> = Algorithm::ALL.into_iter().map(|algorithm| case().by(algorithm)).collect();
    let hashes = [
        (Algorithm::RS256, &digest::SHA256),
        (Algorithm::ES384, &digest::SHA384),
        (Algorithm::PS512, &digest::SHA512),
        (Algorithm::EdDSA, &digest::SHA512),
    ];
    valid.extend(hashes.map(|(algorithm, hash)| {
        let bound = case().by(algorithm).claim("at_hash", half(hash, ACCESS_TOKEN));
        bound.claim("c_hash", half(hash, CODE))
    }));
    valid.extend(["jwt", "application/jwt", "Application/JWT"].map(|typ| case().header("typ", typ.into())));
    valid.extend([
        case().header("typ", Value::Null),
        case().by(Algorithm::EdDSA).header("alg", "Ed25519".into()),
        // Headers that could supply a key are ignored.
        case().header("x5t", "a-thumbprint".into()).header("jku", "https://evil.example/keys".into()),
        case().header("jwk", provider.foreign_key("rsa")),
        // Without `kid`, the only key of the kind counts.
        case().header("kid", Value::Null),
        case().header("kid", Value::Null).keys(only("rsa")),
        case().claim("aud", json!([CLIENT])).claim("azp", CLIENT.into()),
        case().claim("exp", json!(1_772_366_700.5)),
        case().claim("exp", seconds(-59).into()),
        case().claim("nbf", seconds(59).into()),
        case().claim("session_expiry", seconds(1).into()),
        case().claim("iat", seconds(59).into()),
        // Entra dates tokens back by five minutes.
        case().claim("iat", seconds(-300).into()).claim("nbf", seconds(-300).into()),
        case().claim("iat", seconds(-630).into()),
        case().claim("acr", Value::Null).claim("sid", json!(null)),
        case().claim("hd", "example.com".into()).requiring("hd", &["other.example", "example.com"]),
        case().keys([provider.keys(), provider.keys()].concat()),
        case().claim("auth_time", Value::Null),
        case().max_age(3600).claim("auth_time", seconds(-3600).into()),
        case().max_age(0).claim("auth_time", seconds(-29).into()),
        case().acr_values(&["urn:one", "urn:two"]).claim("acr", "urn:two".into()),
        case().claim("amr", json!(["pwd", "otp"])).claim("sid", "a-session".into()),
        case().claim("groups", (0..200).map(|n| format!("00000000-0000-0000-0000-{n:012}")).collect()),
        case().claim("address", json!({ "country": "GB", "lines": ["12 St James's Square"] })),
        case().claim("name", "Ada Łöveläce 🦉".into()),
        case().claim("sub", "a".repeat(255).into()),
        // Keys for other purposes are left out of the key set.
        case().keys([provider.keys(), vec![json!({ "kty": "oct", "kid": "rsa", "k": "c2VjcmV0" })]].concat()),
    ]);
    assert!(valid.len() >= 30, "{}", valid.len());
    for case in &valid {
        let examined = case.examine(&case.token());
        assert_eq!(examined.refusal, None, "{} {:?}", case.header, case.claims);
        let claims = examined.into_result().unwrap();
        assert_eq!(claims.get().issuer, ISSUER);
        assert_eq!(claims.get().all, case.claims);
    }
}

/// Checks that exactly the steps before the failed one have passed.
fn assert_passed(examined: &Examined) {
    let failed = examined.refusal.as_ref().unwrap().step();
    let before: Vec<_> =
        Step::ALL.iter().copied().filter(|step| *step >= Step::Structure && *step < failed).collect();
    assert_eq!(examined.passed, before, "{:?}", examined.refusal);
}

/// Compares each token's reason with the expected one.
fn refused<'p>(cases: impl IntoIterator<Item = (Reason, Case<'p>)>) -> usize {
    let check = |(reason, case): (Reason, Case<'_>)| {
        let examined = case.examine(&case.token());
        assert_passed(&examined);
        let found = examined.refusal;
        let shown = || format!("{} {:?}: {found:?}", case.header, case.claims);
        assert_eq!(found.as_ref().map(|refusal| refusal.reason), Some(reason), "{}", shown());
    };
    cases.into_iter().map(check).count()
}

#[test]
fn tokens_with_other_claims_are_refused() {
    let provider = TestProvider::default();
    let with = |name: &str, value: Value| Case::new(&provider).claim(name, value);
    let mut count = 0;
    for name in ["iss", "sub", "aud", "exp", "iat"] {
        count += refused([(Reason::ClaimMissing, with(name, Value::Null))]);
    }
    for (name, values) in [
        ("iss", vec![json!(1), json!([ISSUER]), json!("")]),
        (
            "sub",
            vec![
                json!(248_289_761_001_u64),
                json!(""),
                json!("a".repeat(256)),
                json!("ä"),
                json!("a\u{0}b"),
                json!(["a"]),
            ],
        ),
        (
            "aud",
            vec![json!(1), json!({ "a": CLIENT }), json!([CLIENT, 1]), json!(""), json!(vec![CLIENT; 21])],
        ),
        ("exp", vec![json!("1772366700"), json!(-1), json!(1e300), json!([1_772_366_700]), json!(true)]),
        ("iat", vec![json!("now"), json!(253_402_300_800_u64)]),
        ("nbf", vec![json!("0")]),
        ("session_expiry", vec![json!("0"), json!(-1)]),
        ("auth_time", vec![json!("2026-03-01")]),
        ("nonce", vec![json!(1), json!([NONCE])]),
        ("azp", vec![json!([CLIENT])]),
        ("acr", vec![json!(1)]),
        ("amr", vec![json!([1])]),
        ("at_hash", vec![json!(1)]),
        ("sid", vec![json!("a\nb")]),
        // A logout token or a security event is not an ID token.
        ("events", vec![json!({ "http://schemas.openid.net/event/backchannel-logout": {} })]),
    ] {
        count += refused(values.into_iter().map(|value| (Reason::ClaimMalformed, with(name, value))));
    }
    for issuer in [
        "https://idp.example/tenant/",
        "https://idp.example/other",
        "https://IDP.example/tenant",
        "http://idp.example/tenant",
        "https://idp.example/tenant#",
        "https://idp.example.evil.example/tenant",
    ] {
        count += refused([(Reason::Issuer, with("iss", issuer.into()))]);
    }
    count += refused([
        (Reason::Audience, with("aud", "another-client".into())),
        (Reason::Audience, with("aud", CLIENT.to_uppercase().into())),
        (Reason::Audience, with("aud", json!([CLIENT, "another-client"]))),
        (Reason::Audience, with("aud", json!(["another-client", CLIENT])).claim("azp", CLIENT.into())),
        (Reason::Audience, with("aud", json!([]))),
        (Reason::Audience, with("aud", json!([CLIENT, CLIENT]))),
        (Reason::AuthorizedParty, with("azp", "another-client".into())),
        (Reason::RequiredClaim, with("hd", Value::Null).requiring("hd", &["example.com"])),
        (Reason::RequiredClaim, with("hd", "evil.example".into()).requiring("hd", &["example.com"])),
        (Reason::RequiredClaim, with("hd", json!(["example.com"])).requiring("hd", &["example.com"])),
        (Reason::Expired, with("exp", seconds(-60).into())),
        (Reason::Expired, with("exp", 0.into())),
        (Reason::NotYetValid, with("nbf", seconds(61).into())),
        (Reason::SessionOver, with("session_expiry", seconds(0).into())),
        (Reason::IssuedAt, with("iat", seconds(61).into())),
        (Reason::IssuedAt, with("iat", seconds(-631).into())),
        (Reason::IssuedAt, with("iat", 0.into())),
        (Reason::Nonce, with("nonce", Value::Null)),
        (Reason::Nonce, with("nonce", "a-nonce-of-another-request".into())),
        (Reason::Nonce, with("nonce", NONCE.to_uppercase().into())),
        (Reason::Nonce, with("nonce", format!("{NONCE} ").into())),
        (Reason::Hash, with("at_hash", half(&digest::SHA256, "another-token"))),
        (Reason::Hash, with("at_hash", half(&digest::SHA512, ACCESS_TOKEN))),
        (Reason::Hash, with("c_hash", half(&digest::SHA256, "another-code"))),
        (Reason::Hash, with("c_hash", half(&digest::SHA256, ACCESS_TOKEN))),
        (Reason::AuthTime, with("auth_time", Value::Null).max_age(3600)),
        (Reason::AuthTime, with("auth_time", seconds(-3661).into()).max_age(3600)),
        (Reason::AuthTime, with("auth_time", seconds(-91).into()).max_age(0)),
        (Reason::AuthTime, with("auth_time", seconds(61).into())),
        (Reason::Acr, with("acr", Value::Null).acr_values(&["urn:one"])),
        (Reason::Acr, with("acr", "urn:two".into()).acr_values(&["urn:one"])),
        (Reason::Acr, with("acr", "URN:ONE".into()).acr_values(&["urn:one"])),
    ]);
    assert!(count >= 65, "{count}");
}

#[test]
fn tokens_with_other_signatures_are_refused() {
    let provider = TestProvider::default();
    let case = || Case::new(&provider);
    let alg = |name: &str| case().header("alg", name.into());
    let key_set: &'static str = provider.key_set().leak();
    let modulus: &'static str = provider.keys()[0]["n"].as_str().unwrap().to_owned().leak();
    let mut count = 0;
    for name in ["none", "None", "NONE", "nOnE", "", " none", "RS256 ", "rs256", "RSA", "HS256", "dir"] {
        count += refused([(Reason::Algorithm, alg(name).signer(Signer::Nobody))]);
    }
    for secret in [key_set, modulus, "", CLIENT] {
        // Algorithm confusion: HMAC with something public as its key.
        let signer = Signer::Hmac(secret.as_bytes());
        count += refused([
            (Reason::Algorithm, alg("HS256").signer(signer)),
            (Reason::BadSignature, case().signer(signer)),
        ]);
    }
    let ours = |algorithm| Signer::Own(algorithm);
    let foreign = || vec![provider.foreign_key("rsa")];
    let of_algorithm = |name: &str| {
        let mut keys = provider.keys();
        keys[0]["alg"] = name.into();
        keys
    };
    let twice = || [provider.keys(), vec![provider.foreign_key("other")]].concat();
    count += refused([
        (Reason::Algorithm, case().allowing(&[Algorithm::ES256])),
        (Reason::Algorithm, case().by(Algorithm::RS384).allowing(&[Algorithm::RS256])),
        (Reason::Algorithm, alg("ES512")),
        (Reason::Algorithm, alg("ES256K")),
        (Reason::BadSignature, case().signer(Signer::Nobody)),
        (Reason::BadSignature, case().signer(Signer::Foreign)),
        (Reason::BadSignature, case().signer(Signer::Foreign).header("jwk", provider.foreign_key("rsa"))),
        (
            Reason::BadSignature,
            case().signer(Signer::Foreign).header("jku", "https://evil.example/keys".into()),
        ),
        (
            Reason::BadSignature,
            case().signer(Signer::Foreign).header("x5u", "https://evil.example/chain".into()),
        ),
        (Reason::BadSignature, case().signer(Signer::Foreign).header("x5c", json!(["MIIB"]))),
        // The key set was swapped for another with the same key ID.
        (Reason::BadSignature, case().keys(foreign())),
        (Reason::BadSignature, alg("PS256")),
        (Reason::BadSignature, alg("RS512")),
        (Reason::BadSignature, case().by(Algorithm::PS256).signer(ours(Algorithm::RS256))),
        (Reason::BadSignature, case().by(Algorithm::ES256).signer(ours(Algorithm::ES384))),
        (Reason::BadSignature, case().by(Algorithm::EdDSA).signer(ours(Algorithm::ES256))),
        (Reason::UnknownKey, alg("ES256")),
        (Reason::UnknownKey, case().header("kid", "p256".into())),
        (Reason::UnknownKey, case().header("kid", "RSA".into())),
        (Reason::UnknownKey, case().header("kid", "".into())),
        (Reason::UnknownKey, case().header("kid", "../../../../dev/null".into()).signer(Signer::Hmac(b""))),
        (Reason::UnknownKey, case().header("kid", "' UNION SELECT 'secret' --".into())),
        (Reason::UnknownKey, case().header("kid", "https://evil.example/key".into())),
        (Reason::UnknownKey, case().header("kid", "rsa\u{0}".into())),
        (Reason::UnknownKey, case().keys(of_algorithm("RS512"))),
        (Reason::UnknownKey, case().keys(of_algorithm("RSA-OAEP"))),
        (Reason::UnknownKey, case().header("kid", Value::Null).keys(of_algorithm("PS256"))),
        (Reason::AmbiguousKey, case().header("kid", Value::Null).keys(twice())),
        (Reason::AmbiguousKey, case().keys([provider.keys(), foreign()].concat())),
        (Reason::Header, case().header("kid", json!(1))),
        (Reason::Header, case().header("kid", json!(["rsa"]))),
        (Reason::Header, case().header("kid", "a".repeat(257).into())),
        (Reason::Header, case().header("alg", json!(["RS256"]))),
        (Reason::Header, case().header("alg", Value::Null)),
        (Reason::Header, case().header("typ", json!(1))),
        (Reason::Critical, case().header("crit", json!(["exp"]))),
        (Reason::Critical, case().header("crit", json!([]))),
        (Reason::Critical, case().header("b64", false.into())),
        (Reason::NotSigned, case().header("enc", "A256GCM".into())),
        (Reason::NotSigned, case().header("zip", "DEF".into())),
        (Reason::NotSigned, case().header("cty", "JWT".into())),
        (Reason::TokenType, case().header("typ", "at+jwt".into())),
        (Reason::TokenType, case().header("typ", "logout+jwt".into())),
        (Reason::TokenType, case().header("typ", "secevent+jwt".into())),
        (Reason::TokenType, case().header("typ", "".into())),
    ]);
    assert!(count >= 60, "{count}");
}

#[test]
fn malformed_tokens_are_refused() {
    let provider = TestProvider::default();
    let case = Case::new(&provider);
    let token = case.token();
    let parts: Vec<_> = token.split('.').collect();
    let [header, payload, signature] = parts[..] else { unreachable!() };
    let signed =
        |header: &[u8], payload: &[u8]| provider.sign(Signer::Own(Algorithm::RS256), header, payload);
    let plain = br#"{"alg":"RS256","kid":"rsa"}"#;
    let claims = Value::Object(case.claims.clone()).to_string();
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
    let repeated = claims.replacen('{', r#"{"sub":"another","#, 1);
    let escaped = claims.replacen('{', r#"{"\u0073ub":"another","#, 1);
    let changed = BASE64URL_NOPAD.encode(claims.replace("ada@", "eve@").as_bytes());
    let other_header = BASE64URL_NOPAD.encode(br#"{"alg":"RS256","kid":"rsa","x":1}"#);
    let bytes = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
    let cut = BASE64URL_NOPAD.encode(&bytes[1..]);
    let hostile = [
        (Reason::NotSigned, String::new()),
        (Reason::NotSigned, "a.b".to_owned()),
        (Reason::NotSigned, format!("{header}.{payload}")),
        (Reason::NotSigned, format!("{token}.")),
        (Reason::NotSigned, format!("{header}.{payload}.{signature}.{signature}.{signature}")),
        (
            Reason::NotSigned,
            json!({ "payload": payload, "signatures": [{ "signature": signature }] }).to_string(),
        ),
        (Reason::HeaderNotJson, format!(".{payload}.{signature}")),
        (Reason::NotBase64, format!("{header}=.{payload}.{signature}")),
        (Reason::NotBase64, format!("{header}.{payload}.{signature}==")),
        (Reason::NotBase64, format!(" {token}")),
        (Reason::NotBase64, format!("{token}\n")),
        (
            Reason::NotBase64,
            format!("{header}.{payload}.{}", signature.replacen(|c: char| c.is_alphabetic(), "+", 1)),
        ),
        (Reason::BadSignature, format!("{header}.{payload}.")),
        (Reason::BadSignature, format!("{header}.{payload}.{cut}")),
        (Reason::BadSignature, format!("{header}.{payload}.{signature}AAAA")),
        (Reason::BadSignature, format!("{header}..{signature}")),
        (Reason::BadSignature, format!("{header}.{changed}.{signature}")),
        (Reason::BadSignature, format!("{other_header}.{payload}.{signature}")),
        (Reason::HeaderNotJson, signed(b"[]", claims.as_bytes())),
        (Reason::HeaderNotJson, signed(br#"{"alg":"none","alg":"RS256"}"#, claims.as_bytes())),
        (Reason::HeaderNotJson, signed(b"{\"alg\":\"RS256\",\"kid\":\"\xff\"}", claims.as_bytes())),
        (Reason::HeaderNotJson, signed(deep.as_bytes(), claims.as_bytes())),
        (Reason::ClaimsNotJson, signed(plain, b"")),
        (Reason::ClaimsNotJson, signed(plain, b"null")),
        (Reason::ClaimsNotJson, signed(plain, b"\"text\"")),
        (Reason::ClaimsNotJson, signed(plain, &claims.as_bytes()[..claims.len() - 1])),
        (Reason::ClaimsNotJson, signed(plain, format!("{claims}{claims}").as_bytes())),
        (Reason::ClaimsNotJson, signed(plain, repeated.as_bytes())),
        (Reason::ClaimsNotJson, signed(plain, escaped.as_bytes())),
        (Reason::ClaimsNotJson, signed(plain, deep.as_bytes())),
        (Reason::ClaimsNotJson, signed(plain, b"{\"sub\":\"\xff\"}")),
        (Reason::TooLarge, signed(plain, format!(r#"{{"a":"{}"}}"#, "a".repeat(64 * 1024)).as_bytes())),
    ];
    for (reason, token) in &hostile {
        let examined = case.examine(token);
        assert_passed(&examined);
        let refusal = examined.refusal;
        assert_eq!(refusal.as_ref().map(|refusal| refusal.reason), Some(*reason), "{token}: {refusal:?}");
    }
    // The order of the two numbers of an ECDSA signature, zeros, and the DER form.
    let ecdsa = Case::new(&provider).by(Algorithm::ES256);
    let token = ecdsa.token();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let bytes = BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap();
    let (r, s) = bytes.split_at(32);
    let der = [&[0x30, 68, 2, 32], r, &[2, 32], s].concat();
    for forged in [[s, r].concat(), vec![0; 64], [r, &[0; 32]].concat(), der, bytes[..63].to_vec()] {
        let token = format!("{signed}.{}", BASE64URL_NOPAD.encode(&forged));
        assert_eq!(ecdsa.examine(&token).refusal.unwrap().reason, Reason::BadSignature);
    }
}
