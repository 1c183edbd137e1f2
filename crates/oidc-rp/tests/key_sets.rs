//! Key sets of providers: which keys count.

use data_encoding::BASE64URL_NOPAD;
use oidc_rp::{KeySet, conformance::TestProvider};
use serde_json::{Value, json};

#[test]
fn key_sets_have_only_keys_that_verify_signatures() {
    let provider = TestProvider::default();
    let with = |name: &str, value: Value| {
        let mut key = provider.keys().remove(0);
        key[name] = value;
        KeySet::parse(&json!({ "keys": [key] }).to_string())
    };
    let keys = KeySet::parse(&provider.key_set()).unwrap();
    assert_eq!(keys.len(), 4);
    let stored = serde_json::to_string(&keys).unwrap();
    assert_eq!(serde_json::from_str::<KeySet>(&stored).unwrap(), keys);
    assert!(with("key_ops", json!(["verify"])).is_ok());
    assert!(with("n", json!(format!("AAAA{}", provider.keys()[0]["n"].as_str().unwrap()))).is_ok());
    for (name, value) in [
        ("use", json!("enc")),
        ("use", json!(1)),
        ("key_ops", json!(["sign"])),
        ("key_ops", json!("verify")),
        ("kid", json!(1)),
        ("alg", json!("RSA-OAEP")),
        ("kty", json!("oct")),
        ("kty", json!("EC")),
        ("crv", json!("P-256")),
        ("e", json!("Aw")),
        ("e", json!("AQAC")),
        ("e", json!("AQAAAAAAAAAAAQ")),
        ("n", json!("AQAB")),
        ("n", json!("not base64url!")),
        ("n", json!(BASE64URL_NOPAD.encode(&[0xff; 1025]))),
        ("n", json!(BASE64URL_NOPAD.encode(&[&[0x7f][..], &[0xff; 255]].concat()))),
    ] {
        assert!(with(name, value.clone()).is_err(), "{name} {value}");
    }
    for (index, name, value) in [
        (1, "x", json!(BASE64URL_NOPAD.encode(&[1; 31]))),
        (1, "y", json!(BASE64URL_NOPAD.encode(&[1; 33]))),
        (1, "crv", json!("P-521")),
        (2, "crv", json!("P-256")),
        (3, "x", json!(BASE64URL_NOPAD.encode(&[1; 33]))),
        (3, "crv", json!("X25519")),
    ] {
        let mut key = provider.keys().remove(index);
        key[name] = value.clone();
        assert!(KeySet::parse(&json!({ "keys": [key] }).to_string()).is_err(), "{name} {value}");
    }
    let many = json!({ "keys": vec![provider.keys()[0].clone(); 101] }).to_string();
    let large = format!("{}{}", provider.key_set(), " ".repeat(256 * 1024));
    for text in ["", "{}", "[]", r#"{"keys":{}}"#, r#"{"keys":[]}"#, r#"{"keys":[1]}"#, &many, &large] {
        assert!(KeySet::parse(text).is_err());
    }
}
