//! Logout tokens: valid ones, and hostile ones with the reason for which they are refused.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use kernel::{Secret, Timestamp};
use oidc_rp::{
    Algorithm, EndedSessions, ExpectedLogout, KeySet, LogoutToken, ProviderMetadata, Reason, Refusal,
    conformance::{CLIENT, ISSUER, Signer, TestProvider},
    end_session_url, examine_logout,
};
use serde_json::{Value, json};

const EVENT: &str = "http://schemas.openid.net/event/backchannel-logout";

fn now() -> Timestamp {
    "2026-03-01T12:00:00.000Z".parse().unwrap()
}

fn seconds(from_now: i64) -> Value {
    (now().unix_millis() / 1000 + from_now).into()
}

/// Returns the claims of a valid token with some members changed; `null` removes one.
fn claims(changes: &Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": CLIENT, "iat": seconds(0), "exp": seconds(120), "jti": "a-token",
        "sub": "248289761001", "sid": "a-session", "events": { EVENT: {} },
    });
    for (name, value) in changes.as_object().unwrap() {
        claims[name] = value.clone();
    }
    claims.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    claims
}

fn examined(provider: &TestProvider, header: &Value, claims: &Value) -> Result<LogoutToken, Refusal> {
    let signer = Signer::Own(Algorithm::ES256);
    let token = provider.sign(signer, header.to_string().as_bytes(), claims.to_string().as_bytes());
    let keys = KeySet::parse(&provider.key_set()).unwrap();
    let expected =
        ExpectedLogout { issuer: ISSUER, client_id: CLIENT, algorithms: &Algorithm::ALL, now: now() };
    examine_logout(&token, &keys, &expected).map(|token| token.get().clone())
}

fn header(typ: &str) -> Value {
    json!({ "alg": "ES256", "kid": "p256", "typ": typ })
}

#[test]
fn logout_tokens_name_a_session_or_a_subject() {
    let provider = TestProvider::default();
    let of = |changes: Value| examined(&provider, &header("logout+jwt"), &claims(&changes)).unwrap();
    let token = of(json!({}));
    assert_eq!((token.id.as_str(), token.expires_at), ("a-token", now().plus_millis(120_000)));
    assert_eq!(token.ended(), Some(EndedSessions::Session("a-session")));
    assert_eq!(token.subject(), Some("248289761001"));
    assert_eq!(of(json!({ "sub": null })).ended(), Some(EndedSessions::Session("a-session")));
    assert_eq!(of(json!({ "sid": null })).ended(), Some(EndedSessions::Subject("248289761001")));
    for changes in [
        json!({ "aud": [CLIENT, "another-client"] }),
        json!({ "events": { EVENT: { "reason": "x" }, "https://idp.example/more": {} } }),
        json!({ "exp": seconds(-59) }),
        json!({ "iat": seconds(59) }),
        json!({ "nbf": seconds(59) }),
    ] {
        of(changes);
    }
    for typ in ["JWT", "LOGOUT+JWT", "application/logout+jwt"] {
        assert!(examined(&provider, &header(typ), &claims(&json!({}))).is_ok(), "{typ}");
    }
    let without_type = json!({ "alg": "ES256", "kid": "p256" });
    assert!(examined(&provider, &without_type, &claims(&json!({}))).is_ok());
}

#[test]
fn hostile_logout_tokens_are_refused() {
    let provider = TestProvider::default();
    for (reason, changes) in [
        (Reason::NotALogout, json!({ "events": null })),
        (Reason::NotALogout, json!({ "events": {} })),
        (Reason::NotALogout, json!({ "events": EVENT })),
        (Reason::NotALogout, json!({ "events": [EVENT] })),
        (Reason::NotALogout, json!({ "events": { EVENT: null } })),
        (Reason::NotALogout, json!({ "events": { EVENT: "x" } })),
        (
            Reason::NotALogout,
            json!({ "events": { "https://schemas.openid.net/secevent/caep/event-type/session-revoked": {} } }),
        ),
        // An ID token of the same provider.
        (Reason::NotALogout, json!({ "nonce": "a-nonce" })),
        (Reason::NotALogout, json!({ "nonce": 1 })),
        (Reason::ClaimMissing, json!({ "sub": null, "sid": null })),
        (Reason::ClaimMissing, json!({ "jti": null })),
        (Reason::ClaimMissing, json!({ "exp": null })),
        (Reason::ClaimMissing, json!({ "iat": null })),
        (Reason::ClaimMissing, json!({ "iss": null })),
        (Reason::ClaimMissing, json!({ "aud": null })),
        (Reason::ClaimMalformed, json!({ "sid": ["a-session"] })),
        (Reason::ClaimMalformed, json!({ "sub": 1 })),
        (Reason::ClaimMalformed, json!({ "jti": "" })),
        (Reason::ClaimMalformed, json!({ "exp": seconds(24 * 3600 + 1) })),
        (Reason::Issuer, json!({ "iss": "https://idp.example/other" })),
        (Reason::Audience, json!({ "aud": "another-client" })),
        (Reason::Audience, json!({ "aud": [] })),
        (Reason::Expired, json!({ "exp": seconds(-60) })),
        (Reason::IssuedAt, json!({ "iat": seconds(61) })),
        (Reason::NotYetValid, json!({ "nbf": seconds(61) })),
        (Reason::ClaimMalformed, json!({ "nbf": "0" })),
    ] {
        let refused = examined(&provider, &header("logout+jwt"), &claims(&changes)).unwrap_err();
        assert_eq!(refused.reason, reason, "{changes}: {refused}");
    }
    for (reason, header) in [
        (Reason::TokenType, header("at+jwt")),
        (Reason::TokenType, header("secevent+jwt")),
        (Reason::Algorithm, json!({ "alg": "none" })),
        (Reason::Algorithm, json!({ "alg": "HS256" })),
        (Reason::UnknownKey, json!({ "alg": "ES256", "kid": "another" })),
        (Reason::BadSignature, json!({ "alg": "RS256", "kid": "rsa" })),
        (Reason::Critical, json!({ "alg": "ES256", "kid": "p256", "crit": ["exp"] })),
    ] {
        assert_eq!(examined(&provider, &header, &claims(&json!({}))).unwrap_err().reason, reason, "{header}");
    }
}

#[test]
fn sessions_at_the_provider_are_ended_by_a_redirect() {
    let metadata = |end_session: Value| {
        let document = json!({
            "issuer": ISSUER, "authorization_endpoint": "https://idp.example/authorize",
            "token_endpoint": "https://idp.example/token", "jwks_uri": "https://idp.example/keys",
            "end_session_endpoint": end_session,
        });
        ProviderMetadata::parse(&document.to_string(), ISSUER).unwrap()
    };
    let url = |metadata: &ProviderMetadata| {
        let hint = Secret::new("an.id.token".to_owned());
        end_session_url(metadata, CLIENT, "https://gatehouse.example/signed-out", Some(&hint)).unwrap()
    };
    assert_eq!(url(&metadata(Value::Null)), None);
    assert_eq!(
        url(&metadata("https://idp.example/logout?a=b".into())).unwrap(),
        "https://idp.example/logout?a=b&client_id=gatehouse-client&post_logout_redirect_uri=\
         https%3A%2F%2Fgatehouse.example%2Fsigned-out&id_token_hint=an.id.token"
    );
}
