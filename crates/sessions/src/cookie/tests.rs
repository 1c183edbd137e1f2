//! Compares cookies with test vectors from `@auth/core`, both accepted and refused ones.

use data_encoding::HEXLOWER;
use kernel::ManualEnv;
use proptest::prelude::*;

use super::*;

fn vectors() -> Value {
    serde_json::from_str(include_str!("authjs.json")).unwrap()
}

fn env() -> ManualEnv {
    ManualEnv::at(Timestamp::from_unix_millis(vectors()["fixedTime"].as_i64().unwrap() * 1000))
}

fn name_of(case: &Value) -> CookieName {
    CookieName::ALL.into_iter().find(|name| case["cookie_name"] == name.as_str()).unwrap()
}

fn keys_of(case: &Value) -> CookieKeys {
    let secrets = match &case["secret"] {
        Value::String(one) => vec![one.clone()],
        many => many.as_array().unwrap().iter().map(|one| one.as_str().unwrap().to_owned()).collect(),
    };
    CookieKeys::new(&secrets.into_iter().map(|one| CookieSecret::new(one).unwrap()).collect::<Vec<_>>())
}

fn claims_of(case: &Value, name: &str) -> Map<String, Value> {
    case[name].as_object().unwrap().clone()
}

#[test]
fn tokens_are_minted_byte_for_byte() {
    for case in vectors()["vectors"].as_array().unwrap() {
        let (name, keys) = (name_of(case), keys_of(case));
        let key = &keys.of(name)[0];
        assert_eq!(case["kid"], key.kid.as_str());
        let iv = HEXLOWER.decode(case["iv_hex"].as_str().unwrap().as_bytes()).unwrap();
        let token = keys.seal(
            name,
            claims_of(case, "claims_in"),
            env().now(),
            case["max_age"].as_i64().unwrap(),
            iv.try_into().unwrap(),
            case["payload"]["jti"].as_str().unwrap(),
        );
        let token = token.unwrap();
        assert_eq!(case["token"], token.as_str(), "{}", case["id"]);
        let cookies = case["cookies"].as_array().unwrap();
        let expected: Vec<_> = cookies
            .iter()
            .map(|cookie| {
                (cookie["name"].as_str().unwrap().to_owned(), cookie["value"].as_str().unwrap().to_owned())
            })
            .collect();
        assert_eq!(chunks(name, &token), expected, "{}", case["id"]);

        let mut sent: Vec<_> = expected.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        sent.reverse();
        for preferred in CookieName::ALL {
            let read = keys.read(&env(), preferred, &sent).unwrap().unwrap();
            assert_eq!(*read.members(), claims_of(case, "payload"), "{}", case["id"]);
        }
    }
}

#[test]
fn tokens_that_authjs_refuses_are_refused() {
    for case in vectors()["reject"].as_array().unwrap() {
        let (name, token) = (name_of(case), case["token"].as_str().unwrap());
        let read = keys_of(case).open(&env(), name, token);
        assert_eq!(read, Err(NotASession), "{}", case["id"]);
    }
}

#[test]
fn only_safe_variants_are_accepted() {
    let taken = ["no-kid-cbc", "expired-10s-within-15s-tolerance"];
    for case in vectors()["variants"].as_array().unwrap() {
        let (name, token) = (name_of(case), case["token"].as_str().unwrap());
        let read = keys_of(case).open(&env(), name, token);
        let id = case["id"].as_str().unwrap();
        assert_eq!(read.is_ok(), taken.contains(&id), "{id}");
        if let Ok(read) = read {
            assert_eq!(*read.members(), claims_of(case, "payload"));
        }
    }
}

fn usual() -> (CookieKeys, String) {
    let keys =
        CookieKeys::new(&[CookieSecret::new("a secret of at least 32 characters".to_owned()).unwrap()]);
    let claims = Map::from_iter([("sid".to_owned(), "ses_1".into())]);
    let token = keys.mint(&env(), CookieName::Plain, claims, 60).unwrap();
    (keys, token)
}

#[test]
fn preferred_name_decides_and_older_secrets_still_decrypt() {
    let (keys, token) = usual();
    let both =
        |secure| vec![("authjs.session-token", token.as_str()), ("__Secure-authjs.session-token", secure)];
    assert!(keys.read(&env(), CookieName::Plain, &both("nonsense")).unwrap().is_some());
    assert_eq!(keys.read(&env(), CookieName::Secure, &both("nonsense")), Err(NotASession));
    assert_eq!(keys.read(&env(), CookieName::Plain, &[("other", "x")]), Ok(None));
    // The key depends on the name.
    let swapped = [("__Secure-authjs.session-token", token.as_str())];
    assert_eq!(keys.read(&env(), CookieName::Plain, &swapped), Err(NotASession));

    let secrets = ["a newer secret of 32 characters or more", "a secret of at least 32 characters"];
    let rotated = CookieKeys::new(&secrets.map(|secret| CookieSecret::new(secret.to_owned()).unwrap()));
    let cookies = [("authjs.session-token", token.as_str())];
    assert!(rotated.read(&env(), CookieName::Plain, &cookies).unwrap().is_some());
    let newer = rotated.mint(&env(), CookieName::Plain, Map::new(), 60).unwrap();
    assert_eq!(keys.read(&env(), CookieName::Plain, &[("authjs.session-token", &newer)]), Err(NotASession));
}

#[test]
fn tokens_have_a_random_uuid() {
    let (keys, token) = usual();
    let read = keys.open(&env(), CookieName::Plain, &token).unwrap();
    let id = read.members()["jti"].as_str().unwrap();
    let parts: Vec<_> = id.split('-').collect();
    assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
    // RFC 9562: the version is 4 and the variant 10 in binary, all other bits are random.
    assert_eq!(uuid([0; 16]), "00000000-0000-4000-8000-000000000000");
    assert_eq!(uuid([255; 16]), "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

proptest! {
    #[test]
    fn no_other_text_opens(text in "[A-Za-z0-9_.-]{0,400}") {
        prop_assert_eq!(usual().0.open(&env(), CookieName::Plain, &text), Err(NotASession));
    }

    #[test]
    fn no_changed_token_opens(at in any::<prop::sample::Index>(), with in "[A-Za-z0-9_.-]") {
        let (keys, token) = usual();
        let at = at.index(token.len());
        let mut bent = token.clone();
        bent.replace_range(at..=at, &with);
        prop_assume!(bent != token);
        prop_assert_eq!(keys.open(&env(), CookieName::Plain, &bent), Err(NotASession));
        prop_assert_eq!(keys.open(&env(), CookieName::Plain, &token[..at]), Err(NotASession));
    }
}
