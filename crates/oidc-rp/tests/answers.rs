//! Redirects, token responses and UserInfo: valid ones, and hostile ones with the reason for which they are refused.
#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;

use data_encoding::{BASE64, BASE64URL_NOPAD};
use kernel::{Env, ManualEnv, Secret};
use oidc_rp::{
    Algorithm, Callback, Claims, ClientCredential, CodeExchange, EmailClaim, Expected, KeySet, Prompt,
    ProviderMetadata, Reason, RequestParameters, RequestSecrets, SecretTransport, TokenRequest,
    TokenResponse, UserInfo, Verified, authorization_url,
    conformance::{CLIENT, ISSUER, TestProvider, client_key, expected},
    examine, read_email,
};
use ring::{
    digest::{SHA256, digest},
    signature::{RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents},
};
use serde_json::{Map, Value, json};

fn env() -> ManualEnv {
    ManualEnv::at("2026-03-01T12:00:00.000Z".parse().unwrap())
}

fn provider(has_callback_issuer: bool) -> ProviderMetadata {
    let document = json!({
        "issuer": ISSUER,
        "authorization_endpoint": "https://idp.example/authorize",
        "token_endpoint": "https://idp.example/token",
        "jwks_uri": "https://idp.example/keys",
        "authorization_response_iss_parameter_supported": has_callback_issuer,
    });
    ProviderMetadata::parse(&document.to_string(), ISSUER).unwrap()
}

/// Returns the claims of a valid token with these claims in addition. `null` removes a claim.
/// The issuer of a tenant of Entra ID.
const ENTRA: &str = "https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555/v2.0";

fn signed(more: &Value) -> Verified<Claims> {
    let (provider, now, secret) = (TestProvider::default(), env().now(), Secret::new(String::new()));
    let mut claims: Map<String, Value> = provider.claims("nonce", now);
    for (name, value) in more.as_object().unwrap() {
        claims.insert(name.clone(), value.clone());
    }
    claims.retain(|_, value| !value.is_null());
    let issuer = claims.get("iss").and_then(Value::as_str).unwrap().to_owned();
    let expected = Expected { issuer: &issuer, ..expected("nonce", &secret, now) };
    let keys = KeySet::parse(&provider.key_set()).unwrap();
    examine(&provider.token(Algorithm::EdDSA, &claims), &keys, &expected).into_result().unwrap()
}

fn pairs(form: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(form.as_bytes()).into_owned().collect()
}

#[test]
fn requests_carry_state_nonce_and_challenge_of_their_browser() {
    let env = env();
    let secrets = RequestSecrets::random(&env);
    let (scopes, acr) = (["email".to_owned(), "groups".to_owned()], ["urn:mfa".to_owned()]);
    let parameters = RequestParameters {
        authorization_endpoint: "https://idp.example/authorize?tenant=a",
        client_id: CLIENT,
        redirect_uri: "https://gatehouse.example/api/oidc/callback",
        scopes: &scopes,
        prompt: Some(Prompt::Login),
        max_age: Some(0),
        acr_values: &acr,
        login_hint: Some("ada+x@example.com"),
    };
    let url = authorization_url(&parameters, &secrets).unwrap();
    let (base, query) = url.split_once('?').unwrap();
    assert_eq!(base, "https://idp.example/authorize");
    let found = pairs(query);
    let challenge = digest(&SHA256, secrets.code_verifier().expose().as_bytes());
    let expected = [
        ("tenant", "a"),
        ("response_type", "code"),
        ("client_id", CLIENT),
        ("redirect_uri", "https://gatehouse.example/api/oidc/callback"),
        ("scope", "openid email groups"),
        ("state", &secrets.state),
        ("nonce", &secrets.nonce()),
        ("code_challenge", &BASE64URL_NOPAD.encode(challenge.as_ref())),
        ("code_challenge_method", "S256"),
        ("prompt", "login"),
        ("max_age", "0"),
        ("acr_values", "urn:mfa"),
        ("login_hint", "ada+x@example.com"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(found, BTreeMap::from(expected));

    let again = RequestSecrets::from_parts(secrets.state.clone(), secrets.browser.clone());
    assert_eq!(again.nonce(), secrets.nonce());
    let verifier = secrets.code_verifier();
    assert!((43..=128).contains(&verifier.expose().len()), "RFC 7636, section 4.1");
    let other_state = RequestSecrets::from_parts("another".into(), secrets.browser.clone());
    let other_browser = RequestSecrets::from_parts(secrets.state.clone(), Secret::new("another".into()));
    for other in [other_state, other_browser, RequestSecrets::random(&env)] {
        assert!(
            other.nonce() != secrets.nonce() && !other.code_verifier().matches(verifier.expose().as_bytes())
        );
    }
    assert!(!url.contains(verifier.expose()) && !url.contains(secrets.browser.expose().as_str()));
}

#[test]
fn redirects_have_each_parameter_once() {
    let callback = |query: &str| Callback::parse(query);
    let code = |query: &str, announced: bool| callback(query).unwrap().into_code(&provider(announced));
    let good = "state=s%2B1&code=c%20d&session_state=x&iss=https%3A%2F%2Fidp.example%2Ftenant";
    assert_eq!(callback(good).unwrap().state, "s+1");
    assert_eq!(code(good, true).unwrap().expose(), "c d");
    assert_eq!(code("code=c&state=s", false).unwrap().expose(), "c");
    for (query, reason) in [
        ("code=c&state=s", Reason::CallbackIssuerMissing),
        ("code=c&state=s&iss=", Reason::CallbackIssuerMissing),
        ("code=c&state=s&iss=https://idp.example/tenant/", Reason::CallbackIssuer),
        // Even an error counts only from the right provider.
        ("error=access_denied&state=s&iss=https://evil.example", Reason::CallbackIssuer),
    ] {
        assert_eq!(code(query, true).err().unwrap().reason, reason, "{query}");
    }
    let long = format!("state=s&code={}", "c".repeat(4097));
    for (query, reason) in [
        ("", Reason::ParameterMissing),
        ("code=c", Reason::ParameterMissing),
        ("state=&code=c", Reason::ParameterMissing),
        ("state=s&state=s&code=c", Reason::ParameterRepeated),
        ("state=s&code=c&code=d", Reason::ParameterRepeated),
        ("state=s&code=c&iss=a&iss=b", Reason::ParameterRepeated),
        ("state=s&code=c&%69ss=a&iss=a", Reason::ParameterRepeated),
        ("state=s&error=a&error=b", Reason::ParameterRepeated),
        ("state=s&code=c&id_token=e.y.J", Reason::TokenInAddress),
        ("state=s&access_token=a", Reason::TokenInAddress),
        ("state=s&response=e.y.J", Reason::TokenInAddress),
        (long.as_str(), Reason::ParameterTooLong),
    ] {
        assert_eq!(callback(query).err().map(|refusal| refusal.reason), Some(reason), "{query}");
    }
    for (query, reason) in [
        ("state=s", Reason::ParameterMissing),
        ("state=s&code=", Reason::ParameterMissing),
        ("state=s&error=access_denied&error_description=No%0Anever", Reason::ProviderError),
        // A code beside an error does not count.
        ("state=s&error=access_denied&code=c", Reason::ProviderError),
    ] {
        assert_eq!(code(query, false).err().unwrap().reason, reason, "{query}");
    }
    let refusal =
        code("state=s&error=access_denied&error_description=No%0Anever%E2%80%AE", false).err().unwrap();
    assert_eq!(refusal.detail, "the provider reports access_denied: No\u{fffd}never\u{fffd}");
}

#[test]
fn token_requests_authenticate_the_client_as_configured() {
    let (code, code_verifier) = (Secret::new("c+d".to_owned()), Secret::new("v".repeat(43)));
    let exchange = CodeExchange {
        client_id: "client:1",
        assertion_audience: ISSUER,
        redirect_uri: "https://gatehouse.example/callback",
        code: &code,
        code_verifier: &code_verifier,
    };
    let (env, secret, key) = (env(), Secret::new("a secret/é".to_owned()), client_key());
    let request = |credential: &ClientCredential<'_>| TokenRequest::new(&env, exchange, credential).unwrap();
    let header = request(&ClientCredential::Secret(&secret, SecretTransport::Header));
    let form = pairs(header.body.expose());
    assert_eq!(form.get("grant_type").unwrap(), "authorization_code");
    assert_eq!(form.get("code").unwrap(), "c+d");
    assert_eq!(form.get("code_verifier").unwrap(), code_verifier.expose());
    assert!(!form.contains_key("client_secret") && !form.contains_key("client_id"));
    let basic = header.authorization.unwrap();
    let pair = BASE64.decode(basic.expose().strip_prefix("Basic ").unwrap().as_bytes()).unwrap();
    assert_eq!(String::from_utf8(pair).unwrap(), "client%3A1:a+secret%2F%C3%A9");

    let body = request(&ClientCredential::Secret(&secret, SecretTransport::Body));
    let form = pairs(body.body.expose());
    assert!(body.authorization.is_none());
    assert_eq!((form["client_id"].as_str(), form["client_secret"].as_str()), ("client:1", "a secret/é"));

    let signed = request(&ClientCredential::Key(&key));
    let form = pairs(signed.body.expose());
    let assertion = &form["client_assertion"];
    assert_eq!(form["client_assertion_type"], "urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    KeySet::parse(&json!({ "keys": [key.jwk()] }).to_string()).unwrap();
    let part = |number| {
        let part = assertion.split('.').nth(number).unwrap();
        serde_json::from_slice::<Value>(&BASE64URL_NOPAD.decode(part.as_bytes()).unwrap()).unwrap()
    };
    assert_eq!(part(0), json!({ "alg": "RS256", "typ": "JWT", "kid": "client" }));
    let claims = part(1);
    assert_eq!(
        (&claims["iss"], &claims["sub"], &claims["aud"]),
        (&"client:1".into(), &"client:1".into(), &ISSUER.into())
    );
    let issued = env.now().unix_millis() / 1000;
    assert_eq!((claims["iat"].as_i64(), claims["exp"].as_i64()), (Some(issued), Some(issued + 60)));
    assert_eq!(
        (form["client_id"].as_str(), form["redirect_uri"].as_str()),
        ("client:1", exchange.redirect_uri)
    );
    let (signed, signature) = assertion.rsplit_once('.').unwrap();
    let number = |name: &str| BASE64URL_NOPAD.decode(key.jwk()[name].as_str().unwrap().as_bytes()).unwrap();
    RsaPublicKeyComponents { n: number("n"), e: number("e") }
        .verify(
            &RSA_PKCS1_2048_8192_SHA256,
            signed.as_bytes(),
            &BASE64URL_NOPAD.decode(signature.as_bytes()).unwrap(),
        )
        .unwrap();
    let certified = client_key().with_certificate(&[7; 32]).assertion(&env, "client:1", ISSUER).unwrap();
    let header = BASE64URL_NOPAD.decode(certified.split('.').next().unwrap().as_bytes()).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    assert_eq!(header["x5t#S256"], BASE64URL_NOPAD.encode(&[7; 32]));
    let other = request(&ClientCredential::Key(&key));
    assert_ne!(pairs(other.body.expose())["client_assertion"], *assertion, "each has its own jti");
}

#[test]
fn token_responses_are_complete_or_refused() {
    let good = json!({ "id_token": "e.y.J", "access_token": "a", "token_type": "bearer", "expires_in": 60, "scope": null });
    let parsed = TokenResponse::parse(200, good.to_string().as_bytes()).unwrap();
    assert_eq!((parsed.id_token.expose().as_str(), parsed.access_token.expose().as_str()), ("e.y.J", "a"));
    let with = |name: &str, value: Value| {
        let mut changed = good.clone();
        changed[name] = value;
        changed.to_string()
    };
    let large = " ".repeat(256 * 1024 + 1);
    for (status, body, reason) in [
        (200, with("id_token", Value::Null), Reason::NoIdToken),
        (200, with("id_token", json!(["e.y.J"])), Reason::NoIdToken),
        (200, with("access_token", json!("")), Reason::TokenResponse),
        (200, with("access_token", json!(1)), Reason::TokenResponse),
        (200, with("token_type", json!("mac")), Reason::TokenResponse),
        (200, with("token_type", Value::Null), Reason::TokenResponse),
        (200, good.to_string().replacen('{', r#"{"id_token":"x","#, 1), Reason::TokenResponse),
        (200, "<html>".to_owned(), Reason::TokenResponse),
        (200, "[]".to_owned(), Reason::TokenResponse),
        (200, large, Reason::TokenResponse),
        (201, good.to_string(), Reason::TokenRefused),
        (302, String::new(), Reason::TokenRefused),
        (400, json!({ "error": "invalid_grant" }).to_string(), Reason::TokenRefused),
        (
            401,
            json!({ "error": "invalid_client", "error_description": "a\u{7}b" }).to_string(),
            Reason::TokenRefused,
        ),
        (500, "oops".to_owned(), Reason::TokenRefused),
    ] {
        let refusal = TokenResponse::parse(status, body.as_bytes()).err().unwrap();
        assert_eq!(refusal.reason, reason, "{status} {refusal}");
        assert!(!refusal.detail.contains("e.y.J") && !refusal.detail.contains('\u{7}'), "{refusal}");
    }
}

#[test]
fn user_info_must_be_about_the_same_user() {
    let json_type = "application/json; charset=utf-8";
    let claims = signed(&json!({ "sub": "1", "email": null }));
    let good = br#"{"sub":"1","email":"ada@example.com","email_verified":true}"#;
    let parsed = UserInfo::parse(200, json_type, good, &claims).unwrap();
    let email = read_email(&claims, Some(&parsed), EmailClaim::default(), ["example.com"]).unwrap();
    assert_eq!(email.as_str(), "ada@example.com");
    for (status, media_type, body, reason) in [
        (401, json_type, &good[..], Reason::UserInfoEndpoint),
        (302, json_type, good, Reason::UserInfoEndpoint),
        (200, "application/jwt", b"e.y.J", Reason::UserInfoMalformed),
        (200, "text/html", good, Reason::UserInfoMalformed),
        (200, "", good, Reason::UserInfoMalformed),
        (200, json_type, b"[]", Reason::UserInfoMalformed),
        (200, json_type, br#"{"sub":"1","sub":"1"}"#, Reason::UserInfoMalformed),
        (200, json_type, br#"{"sub":"2","email":"ada@example.com"}"#, Reason::UserInfoSubject),
        (200, json_type, br#"{"sub":1}"#, Reason::UserInfoSubject),
        (200, json_type, br#"{"email":"ada@example.com"}"#, Reason::UserInfoSubject),
    ] {
        assert_eq!(UserInfo::parse(status, media_type, body, &claims).err().unwrap().reason, reason);
    }
}

#[test]
fn addresses_are_single_verified_and_in_a_domain_of_the_connection() {
    let read = |claims: &Value, claim: EmailClaim<'_>| {
        read_email(&signed(claims), None, claim, ["example.com"]).map_err(|refusal| refusal.reason)
    };
    let (plain, trusted) = (EmailClaim::default(), EmailClaim { is_trusted: true, ..EmailClaim::default() });
    let upn = |is_trusted| EmailClaim { name: "upn", is_trusted };
    let unverified = |value: Value| json!({ "email": value, "email_verified": null });
    for (claims, claim) in [
        (json!({ "email": "ada@EXAMPLE.com", "email_verified": true }), plain),
        (json!({ "email": "ada@example.com", "email_verified": "true" }), plain),
        (json!({ "iss": ENTRA, "email_verified": null, "xms_edov": 1 }), plain),
        (unverified("ada@example.com".into()), trusted),
        (json!({ "upn": "ada@example.com", "email": "eve@other.example" }), upn(true)),
        (json!({ "upn": "ada@example.com", "email_verified": false }), upn(true)),
    ] {
        assert!(read(&claims, claim).is_ok(), "{claims}");
    }
    let email = |value: Value| json!({ "email": value });
    for (claims, claim, reason) in [
        (json!({ "email": null, "mail": "ada@example.com" }), plain, Reason::NoEmail),
        (email("".into()), plain, Reason::NoEmail),
        (email(1.into()), plain, Reason::BadEmail),
        (email(json!(["ada@example.com"])), plain, Reason::BadEmail),
        (email(json!({ "value": "ada@example.com" })), plain, Reason::BadEmail),
        (email("ada".into()), plain, Reason::BadEmail),
        (email("ada@example.com\n".into()), plain, Reason::BadEmail),
        (unverified("ada@example.com".into()), plain, Reason::EmailNotVerified),
        (json!({ "email_verified": false }), plain, Reason::EmailNotVerified),
        (json!({ "email_verified": "false" }), plain, Reason::EmailNotVerified),
        (json!({ "email_verified": 0 }), plain, Reason::EmailNotVerified),
        (json!({ "email_verified": [true] }), plain, Reason::EmailNotVerified),
        (json!({ "email_verified": null, "xms_edov": true }), plain, Reason::EmailNotVerified),
        (json!({ "iss": ENTRA, "email_verified": null, "xms_edov": 0 }), plain, Reason::EmailNotVerified),
        // A user can often change other claims, and `email_verified` says nothing about them.
        (json!({ "upn": "ada@example.com", "email_verified": true }), upn(false), Reason::EmailNotVerified),
        (email("ada@other.example".into()), plain, Reason::ForeignDomain),
        (email("ada@a.example.com".into()), plain, Reason::ForeignDomain),
        (email("ada@evilexample.com".into()), plain, Reason::ForeignDomain),
        (email("ada@example.com.evil.example".into()), plain, Reason::ForeignDomain),
        (email("ada@other.example".into()), trusted, Reason::ForeignDomain),
    ] {
        assert_eq!(read(&claims, claim), Err(reason), "{claims}");
    }
}
