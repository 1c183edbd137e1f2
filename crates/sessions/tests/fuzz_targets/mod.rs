//! The fuzz target: no cookie except the genuine one is a session.

use std::sync::LazyLock;

use kernel::ManualEnv;
use serde_json::json;
use sessions::{CookieKeys, CookieName, CookieSecret};

/// The secret, the clock and the random bytes are fixed, so the genuine cookie is the same in each run.
static FIXED: LazyLock<(CookieKeys, ManualEnv, String)> = LazyLock::new(|| {
    let secret = CookieSecret::new("a secret of more than thirty-two characters".to_owned()).unwrap();
    let keys = CookieKeys::new(&[secret]);
    let env = ManualEnv::at("2026-01-01T00:00:00.000Z".parse().unwrap());
    let claims = json!({ "sid": "ses_01jz6666666666666666666666", "email": "ada@example.com" });
    let token = keys.mint(&env, CookieName::Plain, claims.as_object().unwrap().clone(), 3600).unwrap();
    (keys, env, token)
});

/// Returns the genuine cookie.
pub(crate) fn genuine() -> String {
    format!("{}={}", CookieName::Plain.as_str(), FIXED.2)
}

/// Reads a `Cookie` header. Panics if another token than the genuine one, whole or in chunks, is a session. Returns whether
/// there is a session.
pub(crate) fn cookie(input: &[u8]) -> bool {
    let Ok(header) = std::str::from_utf8(input) else { return false };
    let (keys, env, token) = &*FIXED;
    let cookies: Vec<_> = header.split("; ").filter_map(|pair| pair.split_once('=')).collect();
    let Ok(Some(claims)) = keys.read(env, CookieName::Plain, &cookies) else { return false };
    let values: String = cookies.iter().map(|(_, value)| *value).collect();
    assert!(values.contains(token.as_str()), "{header}");
    assert_eq!(claims.text("email"), Some("ada@example.com"));
    true
}
