//! A service that keeps its keys, purposes and factors in one value, over the types of the crate `http`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests fail by panicking")]

use std::{collections::BTreeSet, net::IpAddr};

use http::{HeaderMap, Response};
use kernel::{Ctx, MasterKeys, SystemEnv};
use serde_json::{Value, json};
use stepup::{Caller, Codes, Error, Invalid, Purpose, Service, http::HEADER};

const SHIP: Purpose = Purpose::new("SHIP", "Ship a release.");
const ERASE: Purpose = Purpose::phishing_resistant("ERASE", "Erase all data.");

/// Accepts each of the codes 000000 to 999999 once, if it ends with 7.
fn service() -> Service {
    let mut used = BTreeSet::new();
    let codes =
        Codes::new(move |_, user, code| code.ends_with('7') && used.insert((user.clone(), code.to_owned())));
    Service::new(&MasterKeys::random(&SystemEnv::default()), &[SHIP, ERASE], codes)
}

fn ada() -> (Ctx, Caller) {
    let ip: IpAddr = "192.0.2.7".parse().unwrap();
    (Ctx::system(1.into(), "test"), Caller::new(42, "ses_ada", ip))
}

async fn answered(service: &mut Service, operation: &str, body: &Value) -> Result<Value, Error> {
    let (ctx, caller) = ada();
    service.answer(&ctx, &caller, operation, body.to_string().as_bytes()).await
}

/// Returns a step-up token for shipping.
async fn token(service: &mut Service, code: &str) -> Result<String, Error> {
    let asked = answered(service, "challenge-options", &json!({ "purpose": "SHIP" })).await?;
    let attempt = json!({ "challengeId": asked["challengeId"], "factor": "TOTP", "code": code });
    let issued = answered(service, "verify", &attempt).await?;
    assert_eq!(issued["purpose"], "SHIP");
    Ok(issued["token"].as_str().unwrap().to_owned())
}

fn headers(tokens: &[&str]) -> HeaderMap {
    tokens.iter().map(|token| (HEADER.parse().unwrap(), token.parse().unwrap())).collect()
}

/// Returns status and body of the response for a client.
fn refused(error: Error) -> (u16, Value) {
    let response = Response::<String>::from(error);
    assert_eq!(response.headers()["content-type"], "application/json");
    (response.status().as_u16(), serde_json::from_str(response.body()).unwrap())
}

#[tokio::test]
async fn token_of_a_request_is_consumed_once() {
    let (mut service, (ctx, caller)) = (service(), ada());
    let token = token(&mut service, "000007").await.unwrap();
    let sent = headers(&[&token]);

    let (status, body) =
        refused(service.consume_request(&ctx, &caller, &SHIP, &headers(&[])).await.unwrap_err());
    assert_eq!((status, &body["code"], &body["purpose"]), (401, &json!("STEP_UP_REQUIRED"), &json!("SHIP")));
    for (purpose, tokens, reason) in [
        (&ERASE, vec![token.as_str()], "PURPOSE_MISMATCH"),
        (&SHIP, vec!["nonsense"], "MALFORMED"),
        // Of two tokens, neither counts.
        (&SHIP, vec![token.as_str(), token.as_str()], "MALFORMED"),
    ] {
        let refusal = service.consume_request(&ctx, &caller, purpose, &headers(&tokens)).await.unwrap_err();
        let (status, body) = refused(refusal);
        assert_eq!(
            (status, &body["code"], &body["reason"]),
            (401, &json!("STEP_UP_INVALID"), &json!(reason))
        );
    }

    let consumed = service.consume_request(&ctx, &caller, &SHIP, &sent).await.unwrap();
    assert_eq!(consumed.claims().user, caller.user);
    let again = service.consume_request(&ctx, &caller, &SHIP, &sent).await;
    assert!(matches!(again, Err(Error::Invalid(Invalid::AlreadyUsed))));
}

#[tokio::test]
async fn function_of_the_service_remembers_used_codes() {
    let mut service = service();
    assert!(token(&mut service, "000017").await.is_ok());
    assert!(matches!(token(&mut service, "000017").await, Err(Error::FactorInvalid)));
    assert!(token(&mut service, "000027").await.is_ok());
}

#[tokio::test]
async fn refused_requests_say_what_is_wrong() {
    let mut service = service();
    for (operation, body, status, code) in [
        ("challenge-options", json!({ "purpose": "PAY" }), 400, "UNKNOWN_PURPOSE"),
        ("challenge-options", json!({}), 400, "INVALID_REQUEST"),
        ("challenge-options", json!({ "purpose": "ERASE" }), 409, "NO_FACTOR_AVAILABLE"),
        ("verify", json!({ "factor": "TOTP", "code": "000007" }), 400, "INVALID_REQUEST"),
        ("tokens", json!({}), 404, "NOT_FOUND"),
    ] {
        let (found, body) = refused(answered(&mut service, operation, &body).await.unwrap_err());
        assert_eq!((found, &body["code"]), (status, &json!(code)), "{operation} {body}");
    }
    let (_, body) =
        refused(answered(&mut service, "challenge-options", &json!({ "purpose": "PAY" })).await.unwrap_err());
    assert_eq!(body["error"], "purpose: must be one of SHIP, ERASE");
}

#[tokio::test]
async fn expired_step_ups_are_purged_through_the_service() {
    let (mut service, (ctx, caller)) = (service(), ada());
    let token = token(&mut service, "000007").await.unwrap();
    service.factors().store().purge_expired(ctx.now.plus_millis(120_000));
    let consumed = service.consume(&ctx, &caller, &SHIP, Some(&token)).await;
    assert!(matches!(consumed, Err(Error::Invalid(Invalid::Revoked))));
}

#[tokio::test]
async fn user_sends_ten_codes_in_five_minutes() {
    let (mut service, (mut ctx, caller)) = (service(), ada());
    let bob = Caller::new(7, "ses_bob", caller.ip);
    let begun = ctx.now;
    assert_eq!(Codes::<stepup::MemoryStore>::WINDOW, 300_000, "milliseconds");
    let mut wrong = async |ctx: &Ctx, caller: &Caller| {
        let asked = service.begin(ctx, caller, &SHIP).await.unwrap();
        let attempt = json!({ "challengeId": asked.id, "factor": "TOTP", "code": "1" }).to_string();
        service.answer(ctx, caller, "verify", attempt.as_bytes()).await.unwrap_err()
    };
    for number in 0..10 {
        ctx.now = begun.plus_millis(number);
        assert!(matches!(wrong(&ctx, &caller).await, Error::FactorInvalid), "{number}");
    }
    let (status, body) = refused(wrong(&ctx, &caller).await);
    assert_eq!((status, &body["code"]), (429, &json!("RATE_LIMITED")));
    assert!(matches!(wrong(&ctx, &bob).await, Error::FactorInvalid), "another user");
    ctx.now = begun.plus_millis(Codes::<stepup::MemoryStore>::WINDOW - 1);
    assert!(matches!(wrong(&ctx, &caller).await, Error::TooManyCodes));
    ctx.now = begun.plus_millis(Codes::<stepup::MemoryStore>::WINDOW);
    assert!(matches!(wrong(&ctx, &caller).await, Error::FactorInvalid), "the first has left the window");
    assert!(matches!(wrong(&ctx, &caller).await, Error::TooManyCodes));
}
