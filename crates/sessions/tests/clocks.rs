//! Cookies from servers whose clocks differ.

use kernel::ManualEnv;
use serde_json::{Map, Value, json};
use sessions::{CookieKeys, CookieName, CookieSecret, NotASession, Timestamp};

const NOW: i64 = 1_800_000_000;

fn at(seconds: i64) -> ManualEnv {
    ManualEnv::at(Timestamp::from_unix_millis(seconds * 1000))
}

fn claims(more: &[(&str, Value)]) -> Map<String, Value> {
    let more = more.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    [("sub".to_owned(), json!("usr_1"))].into_iter().chain(more).collect()
}

#[test]
fn cookie_of_a_clock_that_is_a_minute_ahead_is_accepted() {
    let secret = CookieSecret::new("a secret of at least 32 characters".to_owned()).unwrap();
    let keys = CookieKeys::new(&[secret]);
    let name = CookieName::Plain;
    let read = |token: &str, seconds: i64| {
        let read = keys.read(&at(seconds), name, &[(name.as_str(), token)]);
        read.map(|claims| claims.is_some())
    };
    // Issued at a time, read at another, valid for 100 seconds.
    for (issued, now, is_valid) in [
        (NOW, NOW, true),
        (NOW + 59, NOW, true),
        (NOW + 60, NOW, true),
        (NOW + 61, NOW, false),
        (NOW, NOW + 114, true),
        (NOW, NOW + 115, false),
    ] {
        let token = keys.mint(&at(issued), name, claims(&[]), 100).unwrap();
        let expected = if is_valid { Ok(true) } else { Err(NotASession) };
        assert_eq!(read(&token, now), expected, "issued {} s ahead", issued - now);
    }
    for (begins, is_valid) in [(NOW - 1, true), (NOW + 60, true), (NOW + 61, false)] {
        let token = keys.mint(&at(NOW), name, claims(&[("nbf", json!(begins))]), 100).unwrap();
        assert_eq!(read(&token, NOW).is_ok(), is_valid, "begins {} s ahead", begins - NOW);
    }
    let begun = claims(&[("nbf", json!(NOW))]);
    let token = keys.mint(&at(NOW + 61), name, begun, 100).unwrap();
    assert_eq!(read(&token, NOW), Err(NotASession), "begun, but issued 61 s ahead");
}
